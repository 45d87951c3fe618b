"""How often what answers a question is among the first that recall finds, beside a textbook BM25.

A corpus is one conversation, message by message; a question knows which of them answer it. Nothing of this knows where
the conversations are from. From other code: ``await hits(corpus, questions, k)``. As a command, for conversations in
files of JSON lines, ``{"texts": ["…"], "questions": [{"text": "…", "answers": [0]}]}``, one conversation a line:

    python -m tests.bench.recall.relevance FILE [FILE …] [--k 5]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.history import Entry, EntryKind
from bot.messages import AgentId, text_block
from bot.store import Database, histories
from bot.store.search import recall

_WORD = re.compile(r"\w+")
_ALONE = AgentId("bench-relevance")
_AT_ONCE = 500


@dataclass(frozen=True)
class Question:
    """``answers``: places of messages in the corpus, from 0; any of them will do."""

    text: str
    answers: Collection[int]


@dataclass(frozen=True)
class Hits:
    """Of so many questions those whose answer was among the first."""

    questions: int = 0
    ours: int = 0
    plain: int = 0

    def __add__(self, other: Hits) -> Hits:
        """Of both."""
        return Hits(self.questions + other.questions, self.ours + other.ours, self.plain + other.plain)


class PlainBm25:
    """As textbooks have it: words in lower case and nothing else, lengths by their average."""

    def __init__(self, corpus: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        words = [_WORD.findall(text.lower()) for text in corpus]
        average = sum(map(len, words)) / max(1, len(words))
        self._k1, self._norms = k1, [k1 * (1 - b + b * len(own) / average) for own in words]
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        for at, own in enumerate(words):
            for word, times in Counter(own).items():
                self._postings[word][at] = times

    def best(self, query: str, k: int) -> list[int]:
        """Places in the corpus; among equals the newest."""
        scores: Counter[int] = Counter()
        for word in _WORD.findall(query.lower()):
            holding = self._postings.get(word, {})
            rarity = math.log(1 + (len(self._norms) - len(holding) + 0.5) / (len(holding) + 0.5))
            for at, times in holding.items():
                scores[at] += rarity * times * (self._k1 + 1) / (times + self._norms[at])  # type: ignore[assignment]
        return sorted(scores, key=lambda at: (scores[at], at), reverse=True)[:k]


async def fill(database: Database, corpus: Sequence[str]) -> None:
    """Write a conversation into a book."""
    for first in range(0, len(corpus), _AT_ONCE):
        some = enumerate(corpus[first : first + _AT_ONCE], start=first + 1)
        said = [Entry(seq, "user", (text_block(text),), EntryKind.SAID) for seq, text in some]
        async with database.write() as tx:
            await histories.append(tx, _ALONE, said, now=1.0)


async def best(database: Database, query: str, k: int) -> list[int]:
    """Places in the corpus that recall finds, the best first."""
    async with database.read() as tx:
        found = await recall.search(tx, _ALONE, query, audience=recall.MODEL, most=k)
    return [item.seq - 1 for item in found]


async def hits(corpus: Sequence[str], questions: Sequence[Question], k: int = 5) -> Hits:
    """Of recall on SQLite, and of the textbook."""
    plain, ours = PlainBm25(corpus), list[list[int]]()
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-", ignore_cleanup_errors=True) as name:
        database = Database.in_folder(Path(name))
        await database.open()
        try:
            await fill(database, corpus)
            ours = [await best(database, question.text, k) for question in questions]
        finally:
            await database.close()
    return Hits(
        len(questions),
        sum(not set(found).isdisjoint(question.answers) for found, question in zip(ours, questions, strict=True)),
        sum(not set(plain.best(question.text, k)).isdisjoint(question.answers) for question in questions),
    )


async def main(arguments: argparse.Namespace) -> None:
    """A line for each file."""
    for path in arguments.files:
        total = Hits()
        for line in path.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            total += await hits(told["texts"], [Question(**one) for one in told["questions"]], arguments.k)
        shares = [
            f"{name} {100 * count / max(1, total.questions):.1f} %"
            for name, count in (("recall", total.ours), ("plain BM25", total.plain))
        ]
        sys.stdout.write(f"{path.name}: {total.questions} questions, hit@{arguments.k} {', '.join(shares)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recall.relevance", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--k", type=int, default=5)
    asyncio.run(main(parser.parse_args()))
    sys.exit(0)
