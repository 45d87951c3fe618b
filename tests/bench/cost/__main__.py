"""The command: hold the conversation, and again so that it is compacted before the cache expires; then replay it under
other policies, and print what each costs as Markdown.

`python -m tests.bench.cost` takes half an hour; `--turns 100 --window 20000` shows in two minutes that it works.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev

import structlog

from bot.compaction import STRATEGIES
from bot.model.cache_marks import Life
from tests.bench.cost.bill import LIVES, Bill, Ledger
from tests.bench.cost.pauses import HABITS, SEED, STEADY
from tests.bench.cost.policies import policies
from tests.bench.cost.replay import Replay
from tests.bench.cost.running import LIFE, Course, Quiet, course_of
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
    parser.add_argument("--seeds", type=int, default=1, help="of pauses, for --no-marks: each has its conversation")
    pausing = [habit.name for habit in HABITS if habit is not STEADY]
    parser.add_argument("--habits", nargs="*", default=pausing, choices=pausing, help="with AGENTS__COMPACT_QUIET")
    parser.add_argument("--lives", nargs="*", default=list(LIVES), choices=LIVES, help="of the cache, with the same")
    parser.add_argument("--quiet-alone", action="store_true", help="nothing without AGENTS__COMPACT_QUIET")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    lines = talk(chosen.turns)
    courses = []
    ends = ("of it for summaries", "compactions", "before the cache expired", "for nothing", "right answers")
    _row("program, by strategy", "habit", "cache", *_COLUMNS, *ends)
    quiet = [Quiet(habit, life) for habit in HABITS if habit.name in chosen.habits for life in chosen.lives]
    wanted: list[Quiet | None] = [*([] if chosen.quiet_alone else [None]), *quiet]
    for name in chosen.strategies:
        for one in wanted:
            courses.append(_held(name, lines, chosen.window, quiet=one))
            _tell(courses[-1], " + quiet" if one else "")
    lost = 0.0
    if chosen.no_marks and not chosen.quiet_alone:
        seeds = range(SEED, SEED + max(1, chosen.seeds))
        unmarked = _held(chosen.strategies[0], lines, chosen.window, tells_time=False, seeds=seeds)
        _tell(unmarked, ", no marks of time")
        others = [_held(chosen.strategies[0], lines, chosen.window, seeds=(seed,)) for seed in seeds[1:]]
        courses += others
        lost = _lost([courses[0], *others], unmarked)
    if not (chosen.no_policies or chosen.quiet_alone):
        _compare(courses[0])
    broken = [text for course in courses for text in course.refused]
    whole = chosen.turns >= TURNS and chosen.window >= WINDOW
    low = [] if chosen.quiet_alone else [one for one in courses[:1] if whole and one.served.share < FLOOR]
    low = [one for one in low if one.strategy == DEFAULT]
    if broken or low or lost >= MOST_LOST:
        shares = [f"{course.served.share:.1%}" for course in low]
        sys.exit(f"refused: {broken}; share of the cache: {shares}; points that marks of time lose: {lost:.2f}")


_COLUMNS = ("requests", "input tokens", "read from cache", "written", "neither", "dollars")


def _held(
    name: str,
    lines: Sequence[Line],
    window: int,
    *,
    tells_time: bool = True,
    quiet: Quiet | None = None,
    seeds: Sequence[int] = (SEED,),
) -> Course:
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        course = course_of(name, lines, Path(folder), window=window, tells_time=tells_time, quiet=quiet, seeds=seeds)
        return asyncio.run(course)


def _lost(marked: Sequence[Course], unmarked: Course) -> float:
    """What marks of time cost: a line for each account, and for several seeds the mean and the spread; returns the most
    points that a habit reads less from the cache, in the mean of its seeds."""
    _row("marks of time", "cache", "input tokens", "points read from cache", "dollars", "compactions")
    points: dict[tuple[str, Life], list[float]] = {}
    for course in marked:
        for (name, life, last), ledger in course.ledgers.items():
            if last:
                continue
            with_marks, without = ledger.all, unmarked.ledgers[name, life, False].all
            lost = 100 * (without.share - with_marks.share)
            points.setdefault((name.split()[0], life), []).append(lost)
            more = with_marks.charge.total / without.charge.total - 1
            dollars, compacted = with_marks.dollars - without.dollars, (unmarked.compactions, course.compactions)
            _row(name, life, f"{more:+.2%}", f"{-lost:+.2f}", f"{dollars:+.2f}", "{} → {}".format(*compacted))
        for (name, life, _), ledger in course.bare.items():
            told = course.ledgers[name, life, False].all.share
            _row(f"{name}, the same requests", life, "", f"{100 * (told - ledger.all.share):+.2f}", "", "")
    for (habit, life), all_lost in points.items():
        if len(all_lost) > 1:
            spread = f"{-max(all_lost):+.2f} to {-min(all_lost):+.2f}, deviation {stdev(all_lost):.2f}"
            _row(f"{habit}, mean of {len(all_lost)}", life, "", f"{-mean(all_lost):+.2f}", "", spread)
    return max(mean(all_lost) for all_lost in points.values())


def _tell(course: Course, how: str) -> None:
    right = "{} of {}".format(*course.right)
    ends = (course.compactions, course.quiet, course.for_nothing, right)
    for (habit, life, last), ledger in course.ledgers.items():
        marks = ", only the last mark" if last else ""
        _row(f"`{course.strategy}`{how}{marks}", habit, life, *_cells(ledger.all), _summaries(ledger), *ends)
    known = {(habit, life) for habit, life, _ in course.ledgers}
    habit, life = next(iter(known)) if len(known) == 1 else (HABITS[0].name, LIFE)
    _row(f"`{course.strategy}`{how}, as served", habit, life, *_cells(course.served), "", *ends)


def _summaries(ledger: Ledger) -> str:
    return f"{ledger.summaries.dollars:.2f} ({ledger.summaries.share:.0%} read)"


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
