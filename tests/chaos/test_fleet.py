"""Three agents hosts, two gateways and two workers on PostgreSQL, and one of them is killed again and again.

`FLEET=1000 pytest tests/chaos/test_fleet.py -s` is the long form: so many messages, five in each chat, and a kill every
fifteen seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.blows import Blows
from tests.chaos.checker import faults
from tests.chaos.harness import House, open_house
from tests.chaos.leftovers import processes
from tests.chaos.plan import Strike

MESSAGES = int(os.environ.get("FLEET", "60"))
IS_LONG = "FLEET" in os.environ
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
EACH = 5
CHATS = MESSAGES // EACH
KILL_SECONDS = 15.0 if IS_LONG else 4.0
A_SECOND = 5.0
"""So many messages come in."""

pytestmark = [pytest.mark.rest, pytest.mark.timeout(300 + MESSAGES)]


async def test_every_message_is_in_one_committed_turn_while_hosts_die(tmp_path: Path) -> None:
    chance = random.Random(f"fleet {SEED}")
    async with open_house(tmp_path, "fleet", people=CHATS, group=False, chance=chance, delta_delay=0.01) as house:
        blows = Blows(house, chance)
        all_said = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_kill_until(all_said, blows, chance))
            for chat in _shuffled(chance):
                house.people.says(chat)
                await asyncio.sleep(chance.uniform(0, 2 / A_SECOND))
            all_said.set()
        await blows.mend()
        took = await house.settled(120 + MESSAGES)
        wrong = await faults(house)
        assert not wrong, "\n".join([f"CHAOS_SEED={SEED} in {house.data_dir}", *wrong])
        assert await house.ledger.count("SELECT count(*) FROM turns WHERE state = 'done'") >= CHATS
        report = await _report(house, len(blows.took), took)
        codes = await house.end()
        assert codes == dict.fromkeys(house.programs, 0), house.describe()
        assert not processes(house)
    sys.stdout.write(report)


def _shuffled(chance: random.Random) -> list[int]:
    chats = [chat for chat in range(CHATS) for _ in range(EACH)]
    chance.shuffle(chats)
    return chats


async def _kill_until(over: asyncio.Event, blows: Blows, chance: random.Random) -> None:
    while not over.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                await over.wait()
        if not over.is_set():
            await blows.strike(Strike("kill", chance.choice(blows.programs), chance.uniform(0, 1)))


async def _report(house: House, kills: int, settling: float) -> str:
    slowest = (
        await house.ledger.rows(
            "SELECT max(t.ended_at - i.received_at) AS slowest, min(i.received_at) AS first, max(t.ended_at) AS last "
            "FROM inbox i JOIN turns t ON t.id = i.turn_id"
        )
    )[0]
    logs = [line for file in house.data_dir.glob("agents-*.log") for line in file.read_text().splitlines()]
    resumed = sum(json.loads(line)["event"] == "turn_resumed" for line in logs if line.startswith("{"))
    turns = await house.ledger.count("SELECT count(*) FROM turns")
    return (
        f"CHAOS_SEED={SEED}: {MESSAGES} messages in {CHATS} chats, {turns} turns in "
        f"{slowest['last'] - slowest['first']:.0f} s; {kills} kills, {resumed} turns resumed; slowest answer "
        f"{slowest['slowest']:.1f} s after it was stored; all was settled {settling:.1f} s after the last message\n"
    )
