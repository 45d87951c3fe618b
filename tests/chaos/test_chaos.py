"""Blows of every kind. `make chaos` is the long form; a failure names the seed that it can be run again with:
`make chaos SEED=… RUNS=1`, and for the kills at chosen moments `CHAOS_SEED=… CHAOS_ROUNDS=… pytest tests/chaos`.
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
from tests.chaos.harness import House, open_house
from tests.chaos.plan import PROGRAMS, HouseKind, short_plan
from tests.chaos.short import run
from tests.chaos.strikes import MOMENTS, Storm, Target

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "0"))
"""Kills of each kind: so many in a turn, in a tool call and in a compaction."""
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
SEEDS = (3, 4, 5)
"""One for each kind of house; without LONG=1 a random one runs."""
WORKER_COSTS = 15.0
"""Seconds that a worker killed in a compaction may cost."""

KILLS: Mapping[str, tuple[HouseKind, tuple[Target, ...]]] = {
    "process": ("embedded", ("process",)),
    "gateway": ("apart", ("gateway",)),
    "agents": ("apart", ("agents",)),
    "worker": ("apart", ("worker",)),
    "valkey": ("apart", ("valkey",)),
    "silence": ("embedded", ("silence",)),
    "wipe": ("embedded", ("wipe",)),
}

pytestmark = pytest.mark.timeout(300 + 120 * ROUNDS)


@pytest.mark.parametrize(
    "seed",
    [*(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS), SEED],
    ids=[*map(str, SEEDS), "random"],
)
async def test_whatever_is_killed_nothing_is_lost_and_nothing_happens_twice(seed: int) -> None:
    result = await run(short_plan(seed))
    sys.stdout.write(f"{result.line}\n")
    assert not result.faults, "\n".join([str(result.plan), *result.faults, f"logs: {result.folder}"])


@pytest.mark.skipif(not ROUNDS, reason="only with CHAOS_ROUNDS: the seeded runs are the short form")
@pytest.mark.parametrize("kind", KILLS)
async def test_a_kill_at_any_moment_costs_seconds_and_nothing_else(tmp_path: Path, kind: str) -> None:
    house_kind, targets = KILLS[kind]
    async with open_house(tmp_path, house_kind, people=1, group=False) as house:
        storm = Storm(house, random.Random(f"{SEED} {kind}"))
        plan = [*product(targets, MOMENTS)] * ROUNDS
        storm.chance.shuffle(plan)
        try:
            for target, moment in plan:
                await storm.strike(target, moment)
            await house.settled()
        except (OSError, AssertionError) as error:  # a time-out is an OSError
            pytest.fail(f"CHAOS_SEED={SEED}, after {len(storm.costs)} kills: {error}")
        await assert_whole(house)
        codes = await house.end()
        assert codes == dict.fromkeys(PROGRAMS[house_kind], 0), f"CHAOS_SEED={SEED}: {house.describe()}"
    report(storm, targets)
    slow = [cost for cost in storm.costs if cost[0] == "worker" and cost[2] > WORKER_COSTS]
    assert not slow, f"CHAOS_SEED={SEED}"


async def assert_whole(house: House) -> None:
    """Nothing is wrong."""
    wrong = await faults(house)
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
