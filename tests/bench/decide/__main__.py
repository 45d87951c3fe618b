"""The command: time the estimate, the page and every strategy's plan, beside langchain on the same history.

Best of several repetitions, in milliseconds, and as a multiple of langchain's ``count_tokens_approximately``. Entries
are built before, because the program has them in memory. langchain is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from bot.compaction import STRATEGIES, PlanContext
from bot.compaction.facts.fact import Fact
from bot.compaction.facts.life import found_in, refreshed
from bot.compaction.manual.given import Given
from bot.estimate import Meter, Part, estimate_tokens
from bot.history import Entry, EntryKind, History
from bot.history.measure import measure
from bot.messages import Message, text_block
from tests.bench.decide.conversation import agent_history, characters
from tests.bench.decide.langchain import REFERENCE, counted, translated, trimmed

Row: TypeAlias = tuple[str, float]
"""What was done, and how many seconds it took."""


def best(work: Callable[[Any], object], prepare: Callable[[], Any], repetitions: int) -> float:
    """Seconds of the fastest repetition; ``prepare`` makes what ``work`` is given, and is not timed."""
    fastest = float("inf")
    for _ in range(repetitions):
        given = prepare()
        gc.collect()
        began = time.perf_counter()
        work(given)
        fastest = min(fastest, time.perf_counter() - began)
    return fastest


def estimates(messages: list[Message], repetitions: int) -> Iterator[Row]:
    """The first call on texts never seen, and a second one on the same list with one more message."""
    seeds = iter(range(2, 2 + repetitions))
    yield (
        "estimate_tokens, texts never seen",
        best(estimate_tokens, lambda: agent_history(len(messages), seed=next(seeds)), repetitions),
    )
    estimate_tokens(messages)
    number = iter(range(repetitions))
    longer = best(
        estimate_tokens, lambda: [*messages, {"role": "user", "content": f"One more: {next(number)}"}], repetitions
    )
    yield "estimate_tokens, one more message", longer
    short = [{"role": "user", "content": f"Short message {at}."} for at in range(len(messages))]
    estimate_tokens(short)
    yield (
        "estimate_tokens, one more short message",
        best(estimate_tokens, lambda: [*short, {"role": "user", "content": f"Another: {id(object())}"}], repetitions),
    )


def decisions(history: History, repetitions: int) -> Iterator[Row]:
    """Reading the page, and every strategy's plan on it, at 95 % of the limit."""

    def anew() -> History:
        return History(history.entries, history.layers)

    yield "History.visible", best(lambda page: page.visible, anew, repetitions)
    yield "History.view", best(lambda page: page.view(), anew, repetitions)
    view = history.visible
    total = sum(entry.tokens for entry in view)
    meter = Meter.of([Part("conversation", total)], limit=round(total / 0.95))
    for name, strategy in STRATEGIES.items():
        yield (
            f"plan: {name}",
            best(partial(strategy.plan, meter=meter, context=PlanContext()), lambda: view, repetitions),
        )


def meters(history: History, repetitions: int) -> Iterator[Row]:
    """The program's meter: of a history that was just loaded, and after one more message."""

    def anew() -> History:
        return History(history.entries, history.layers)

    def counted() -> History:
        page = anew()
        measure(page, (), limit=1)
        return page

    last = history.entries[-1]
    following = replace(last, seq=last.seq + 1, blocks=(text_block("One more message."),), tokens=8)
    yield "meter: a history just loaded", best(lambda page: measure(page, (), limit=1), anew, repetitions)
    yield (
        "meter: the next message",
        best(lambda page: measure(page.appended(following), (), limit=1), counted, repetitions),
    )


def refreshes(history: History) -> Iterator[Row]:
    """What each turn adds to the facts of `memory`, on average over the later half of the turns: of whole turns with
    their tools, and of what was said in them alone."""
    turns = list(_turns(history.entries))
    yield "facts: a turn's refresh", _refresh_seconds(turns)
    yield "facts: a turn's refresh, without tools", _refresh_seconds([[turn[0], turn[-1]] for turn in turns])


def _turns(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """From each message of a person to the next."""
    turn: list[Entry] = []
    for entry in entries:
        if entry.kind is EntryKind.SAID and turn:
            yield turn
            turn = []
        turn.append(entry)
    yield turn


def _refresh_seconds(turns: Sequence[Sequence[Entry]]) -> float:
    known: tuple[Fact, ...] = ()
    numbers, took = count(1), list[float]()
    for turn in turns:
        began = time.perf_counter()
        life = refreshed(known, found_in(turn))
        took.append(time.perf_counter() - began)
        known = tuple(item if item.number else replace(item, number=next(numbers)) for item in life.facts)
    return statistics.mean(took[len(took) // 2 :])


def others(messages: list[Message], repetitions: int) -> Iterator[Row]:
    """What langchain does with the same history; nothing where it is not installed."""
    try:
        theirs = translated(messages)
    except ImportError:
        say("langchain-core is not installed: nothing to compare with")
        return
    yield REFERENCE, best(counted, lambda: theirs, repetitions)
    half = counted(theirs) // 2
    yield "langchain-core: trim_messages to a half", best(partial(trimmed, to=half), lambda: theirs, repetitions)


def say(text: str) -> None:
    """Print it at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(rows: list[Row]) -> str:
    """Milliseconds, and how many times what langchain's estimate takes."""
    reference = dict(rows).get(REFERENCE)
    lines = [f"{'':44} {'ms':>9} {'ratio':>7}"]
    for name, seconds in rows:
        ratio = f"{seconds / reference:7.2f}" if reference else f"{'-':>7}"
        lines.append(f"{name:44} {1000 * seconds:9.2f} {ratio}")
    return "\n".join(lines)


def main() -> None:
    """Print one table for each length."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.decide", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--repetitions", type=int, default=5)
    chosen = parser.parse_args()
    for number in chosen.messages:
        messages = agent_history(number)
        history = History(Given.of(messages).entries)
        say(f"\n{number:,} messages, {characters(messages):,} characters, best of {chosen.repetitions}")
        rows = [
            *others(messages, chosen.repetitions),
            *estimates(messages, chosen.repetitions),
            *meters(history, chosen.repetitions),
            *decisions(history, chosen.repetitions),
            *refreshes(history),
        ]
        say(table(rows))


if __name__ == "__main__":
    main()
