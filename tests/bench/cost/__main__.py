"""The command: hold the conversation, then replay it under other policies, and print what each costs as Markdown.

`python -m tests.bench.cost` takes a quarter of an hour; `--turns 100 --window 20000` shows in a minute that it works.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import structlog

from bot.compaction import STRATEGIES
from tests.bench.cost.bill import Bill
from tests.bench.cost.pauses import HABITS
from tests.bench.cost.policies import policies
from tests.bench.cost.replay import Replay
from tests.bench.cost.running import LIFE, Course, course_of
from tests.bench.cost.talk import talk
from tests.bench.sawtooth.conversation import Line

DEFAULT = "reset"
FLOOR = 0.85
"""Of the input tokens of the default strategy: what is to be read from the cache in a conversation of full length."""
MOST_LOST = 0.5
"""Points of the input tokens, which are read from the cache without marks of time, and with them are not."""
TURNS, WINDOW = 1_000, 200_000


def main() -> None:
    """Exit 0 when the default strategy reads its share from the cache and nothing was refused, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cost", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--window", type=int, default=WINDOW, help="tokens")
    parser.add_argument("--strategies", nargs="*", default=[DEFAULT], choices=list(STRATEGIES))
    parser.add_argument("--no-policies", action="store_true", help="the program alone")
    parser.add_argument("--no-marks", action="store_true", help="also without marks of time, and what these cost")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    lines = talk(chosen.turns)
    courses = []
    _row("program, by strategy", "habit", "cache", *_COLUMNS, "of it for summaries", "compactions", "right answers")
    for name in chosen.strategies:
        courses.append(_held(name, lines, chosen.window))
        _tell(courses[-1])
    lost = 0.0
    if chosen.no_marks:
        unmarked = _held(chosen.strategies[0], lines, chosen.window, tells_time=False)
        _tell(unmarked, without=", no marks of time")
        lost = _lost(courses[0], unmarked)
    if not chosen.no_policies:
        _compare(courses[0])
    broken = [text for course in courses for text in course.refused]
    whole = chosen.turns >= TURNS and chosen.window >= WINDOW
    low = [one for one in courses if whole and one.strategy == DEFAULT and one.served.share < FLOOR]
    if broken or low or lost >= MOST_LOST:
        shares = [f"{course.served.share:.1%}" for course in low]
        sys.exit(f"refused: {broken}; share of the cache: {shares}; points that marks of time lose: {lost:.2f}")


_COLUMNS = ("requests", "input tokens", "read from cache", "written", "neither", "dollars")


def _held(name: str, lines: Sequence[Line], window: int, *, tells_time: bool = True) -> Course:
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        return asyncio.run(course_of(name, lines, Path(folder), window=window, tells_time=tells_time))


def _lost(marked: Course, unmarked: Course) -> float:
    """What marks of time cost: a line for each account; returns the most points that one reads less from the cache."""
    _row("marks of time", "habit", "cache", "input tokens", "points read from cache", "dollars")
    lost = 0.0
    for account, ledger in marked.ledgers.items():
        with_marks, without = ledger.all, unmarked.ledgers[account].all
        points = 100 * (with_marks.share - without.share)
        habit, life, last = account
        if not last:
            more = with_marks.charge.total / without.charge.total - 1
            _row("", habit, life, f"{more:+.2%}", f"{points:+.2f}", f"{with_marks.dollars - without.dollars:+.2f}")
            lost = max(lost, -points)
    return lost


def _tell(course: Course, without: str = "") -> None:
    right, name = "{} of {}".format(*course.right), f"`{course.strategy}`{without}"
    for (habit, life, last), ledger in course.ledgers.items():
        marks = ", only the last mark" if last else ""
        summaries = f"{ledger.summaries.dollars:.2f} ({ledger.summaries.share:.0%} read)"
        _row(
            f"`{course.strategy}`{without}{marks}",
            habit,
            life,
            *_cells(ledger.all),
            summaries,
            course.compactions,
            right,
        )
    _row(
        f"{name}, as served",
        HABITS[0].name,
        LIFE,
        *_cells(course.served),
        "",
        course.compactions,
        right,
    )


def _compare(course: Course) -> None:
    _row("policy", "habit", "cache", *_COLUMNS, "overflows", "largest page", "right answers")
    asked = course.right[1]
    for policy in policies(course.window, course.compacts_at):
        replay = Replay(policy, course).run()
        for (habit, life), ledger in replay.ledgers.items():
            ends = replay.compactions, f"{replay.largest:,}", f"{replay.right} of {asked}"
            _row(policy.name, habit, life, *_cells(ledger.all), *ends)


def _cells(bill: Bill) -> Iterable[str]:
    charge = bill.charge
    written = charge.written_5m + charge.written_1h
    shares = (f"{part / max(1, charge.total):.1%}" for part in (charge.read, written, charge.plain))
    return (f"{bill.requests:,}", f"{charge.total:,}", *shares, f"{bill.dollars:.2f}")


def _row(*cells: object) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
