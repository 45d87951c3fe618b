"""The command: hold the conversation with every strategy, draw the pictures and print the table.

Settings of strategies count, so that options can be tried: `STRATEGY__TIERED__KEEP_LAST=9 python -m … tiered`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path

import structlog

from bot.compaction import STRATEGIES
from tests.bench.sawtooth.conversation import Asks, conversation
from tests.bench.sawtooth.picture import picture
from tests.bench.sawtooth.running import Course, course_of

COLUMNS = (
    "strategy",
    "compactions",
    "ahead",
    "auto",
    "recovery",
    "tokens freed",
    "recent facts",
    "old facts",
    "files",
    "requests",
    "for summaries",
    "input tokens",
    "from cache",
)


def main() -> None:
    """Exit 0 when all was held, 1 when a request was refused or a turn got no answer."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sawtooth", description=__doc__)
    parser.add_argument("strategy", nargs="*", default=list(STRATEGIES), help="as in AGENTS__STRATEGY; default: all")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="where the pictures go")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    chosen.out.mkdir(parents=True, exist_ok=True)
    print_row(COLUMNS)
    print_row(("---", *("--:" for _ in COLUMNS[1:])))
    broken = []
    for name in chosen.strategy:
        with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
            course = asyncio.run(course_of(name, conversation(), Path(folder)))
        (chosen.out / f"strategy-{course.strategy}.svg").write_text(picture(course), encoding="utf-8")
        print_row(row(course))
        if course.refused or not all(turn.is_answered for turn in course.turns):
            broken.append(course.strategy)
    if broken:
        sys.exit(f"refused requests or turns without an answer: {', '.join(broken)}")


def row(course: Course) -> tuple[str, ...]:
    """A line of the table; answers as those that were right of those that were asked."""
    triggers = Counter(one.trigger for one in course.done)
    answers = []
    for asks in (Asks.NEAR, Asks.FAR, Asks.FILE):
        turns = course.asked(asks)
        answers.append(f"{sum(turn.is_right for turn in turns)} of {len(turns)}")
    return (
        f"`{course.strategy}`",
        str(len(course.done)),
        *(str(triggers[name]) for name in ("ahead", "auto", "recovery")),
        f"{sum(one.freed for one in course.done):,}",
        *answers,
        str(course.requests),
        str(course.summaries),
        f"{course.input_tokens:,}",
        f"{course.cached_tokens / course.input_tokens:.0%}",
    )


def print_row(cells: tuple[str, ...]) -> None:
    """As Markdown."""
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
