"""kill -9 at random moments. `make chaos` is the long form; a failure names the seed that it can be run again with:
`CHAOS_SEED=… CHAOS_ROUNDS=… pytest tests/chaos`.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.chaos.checker import faults
from tests.chaos.harness import APART, TOGETHER, House, open_house
from tests.chaos.strikes import MOMENTS, Moment, Storm, Target

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "1"))
"""Kills of each kind: so many in a turn, in a tool call and in a compaction."""
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
WORKER_COSTS = 15.0
"""Seconds that a worker killed in a compaction may cost."""

SHORT: Mapping[str, tuple[Mapping[str, tuple[str, ...]], tuple[Target, ...]]] = {
    "process": (TOGETHER, ("process",)),
    "parts": (APART, ("worker", "valkey", "wipe")),
}
LONG: Mapping[str, tuple[Mapping[str, tuple[str, ...]], tuple[Target, ...]]] = {
    "process": (TOGETHER, ("process",)),
    "gateway": (APART, ("gateway",)),
    "agents": (APART, ("agents",)),
    "worker": (APART, ("worker",)),
    "valkey": (APART, ("valkey",)),
    "silence": (TOGETHER, ("silence",)),
    "wipe": (TOGETHER, ("wipe",)),
}

ONLY_LONG: frozenset[tuple[Target, Moment]] = frozenset({("worker", "turn"), ("worker", "tool call")})
"""A worker has no part in these, and it takes seconds to start again."""

pytestmark = pytest.mark.timeout(120 + 120 * ROUNDS)


@pytest.mark.parametrize("kind", SHORT if ROUNDS == 1 else LONG)
async def test_whatever_is_killed_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path, kind: str) -> None:
    processes, targets = (SHORT if ROUNDS == 1 else LONG)[kind]
    async with open_house(tmp_path, processes) as house:
        storm = Storm(house, random.Random(f"{SEED} {kind}"))
        plan = [kill for kill in product(targets, MOMENTS) if ROUNDS > 1 or kill not in ONLY_LONG] * ROUNDS
        storm.chance.shuffle(plan)
        try:
            for target, moment in plan:
                await storm.strike(target, moment)
            await house.settled()
        except (OSError, AssertionError) as error:  # a time-out is an OSError
            pytest.fail(f"CHAOS_SEED={SEED}, after {len(storm.costs)} kills: {error}")
        await assert_whole(house)
        codes = await house.end()
        assert codes == dict.fromkeys(processes, 0), f"CHAOS_SEED={SEED}: {house.describe()}"
    report(storm, targets)
    slow = [cost for cost in storm.costs if cost[0] == "worker" and cost[2] > WORKER_COSTS]
    assert not slow, f"CHAOS_SEED={SEED}"


async def assert_whole(house: House) -> None:
    """Nothing is wrong."""
    wrong = await faults(house.data_dir, house.said, house.seen, house.model)
    assert not wrong, "\n".join([f"CHAOS_SEED={SEED} in {house.data_dir}", *wrong])


def report(storm: Storm, targets: Sequence[Target]) -> None:
    """What the kills cost; pytest shows it with -s."""
    for target, moment in product(targets, MOMENTS):
        costs = sorted(cost for *kind, cost in storm.costs if kind == [target, moment])
        if costs:
            middle = costs[len(costs) // 2]
            sys.stdout.write(
                f"{target} in a {moment}: {ROUNDS} kills ({storm.hits[target, moment]} in the midst of it), "
                f"well again after {middle:.1f} s (at most {costs[-1]:.1f} s)\n"
            )
