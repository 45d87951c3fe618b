"""kill -9 at random moments. `make chaos` is the long form; a failure names the seed that it can be run again with:
`CHAOS_SEED=… CHAOS_ROUNDS=… pytest tests/chaos`.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.chaos.checker import faults
from tests.chaos.harness import APART, TOGETHER, House, open_house
from tests.chaos.strikes import MOMENTS, Storm, Target

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "1"))
"""Kills of each kind: so many in a turn, in a tool call and in a compaction."""
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
WORKER_COSTS = 15.0
"""Seconds that a worker killed in a compaction may cost."""

pytestmark = pytest.mark.timeout(120 + 120 * ROUNDS)


async def storm(data_dir: Path, processes: Mapping[str, tuple[str, ...]], target: Target) -> Storm:
    """Strike in every kind of moment, and see that nothing is missing, doubled or broken."""
    seed = f"{SEED} {target}"
    async with open_house(data_dir, processes) as house:
        found = Storm(house, random.Random(seed))
        plan = list(MOMENTS) * ROUNDS
        found.chance.shuffle(plan)
        try:
            for moment in plan:
                await found.strike(target, moment)
            await house.settled()
        except (TimeoutError, AssertionError) as error:
            pytest.fail(f"CHAOS_SEED={SEED}, after {len(found.costs)} kills: {error}")
        await assert_whole(house)
        codes = await house.end()
        assert codes == dict.fromkeys(processes, 0), f"CHAOS_SEED={SEED}: {house.describe()}"
    _report(target, found)
    return found


async def assert_whole(house: House) -> None:
    """Nothing is wrong."""
    wrong = await faults(house.data_dir, house.said, house.seen, house.model)
    assert not wrong, "\n".join([f"CHAOS_SEED={SEED} in {house.data_dir}", *wrong])


async def test_a_process_that_is_killed_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    await storm(tmp_path, TOGETHER, "process")


async def test_a_worker_that_is_killed_costs_seconds(tmp_path: Path) -> None:
    found = await storm(tmp_path, APART, "worker")
    assert all(cost < WORKER_COSTS for _, _, cost in found.costs), f"CHAOS_SEED={SEED}: {found.costs}"


async def test_a_valkey_that_is_killed_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    await storm(tmp_path, APART, "valkey")


async def test_a_redis_that_is_wiped_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    await storm(tmp_path, TOGETHER, "wipe")


@pytest.mark.skipif(ROUNDS < 2, reason="a part of the long form: make chaos")
@pytest.mark.parametrize("role", ["gateway", "agents"])
async def test_one_role_of_a_fleet_that_is_killed_loses_nothing_and_repeats_nothing(
    tmp_path: Path, role: Target
) -> None:
    await storm(tmp_path, APART, role)


def _report(target: Target, found: Storm) -> None:
    for moment in MOMENTS:
        costs = sorted(cost for _, when, cost in found.costs if when == moment)
        if costs:
            middle = costs[len(costs) // 2]
            sys.stdout.write(
                f"{target} in a {moment}: {ROUNDS} kills, well again after {middle:.1f} s (at most {costs[-1]:.1f} s)\n"
            )
