"""The command: play scripted conversations and count what became of the rules that were pinned in them.

    python -m tests.bench.rules                      300 scenarios, 20 compactions each, by every strategy
    python -m tests.bench.rules --scenarios 12 --compactions 5

Each strategy gets its share of the scenarios, and as many are compacted by all strategies in turn. Ends with 1 where
any rule is lost.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import structlog

from tests.bench.rules.playing import Played, opened, play, strategies
from tests.bench.rules.scenarios import LANGUAGES, scenario


async def measured(scenarios: int, compactions: int) -> dict[str, Played]:
    """By how they were compacted."""
    there = strategies()
    ways = {**{name: [one] for name, one in there.items()}, "all in turn": list(there.values())}
    found: dict[str, Played] = defaultdict(Played)
    with tempfile.TemporaryDirectory(prefix="palimpsest-rules-") as folder:
        async with opened(Path(folder)) as services:
            for number in range(scenarios):
                name = list(ways)[number // len(LANGUAGES) % len(ways)]
                found[name].add(await play(services, scenario(number, compactions), ways[name]))
                lost = sum(len(one.lost) + len(one.revived) for one in found.values())
                sys.stderr.write(f"\r{number + 1} of {scenarios} scenarios, {lost} lost")
    return found


def main() -> int:
    """Print a table; 1 where a rule was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rules", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=300)
    parser.add_argument("--compactions", type=int, default=20, help="of each, one after the other")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found = asyncio.run(measured(given.scenarios, given.compactions))
    lines = [
        f"{'compacted by':22} {'compactions':>11} {'rules':>6} {'requests':>8} {'held':>7} {'behind':>7} {'lost':>5}"
    ]
    lines += [
        f"{name:22} {one.compactions:11,} {one.rules:6,} {one.requests:8,} {one.held:7,} {one.behind_system:7,} "
        f"{len(one.lost):5,}"
        for name, one in found.items()
    ]
    wrong = [line for one in found.values() for line in (*one.lost, *one.revived)]
    rules = sum(one.rules for one in found.values())
    lines += ["", f"{rules:,} rules pinned, {len(wrong)} lost or back after they were let go", *wrong[:20]]
    sys.stdout.write("\n".join([*lines, ""]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
