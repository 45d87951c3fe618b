"""Appointments that are due while everything is killed again and again: each is said once, and soon.

`APPOINTMENTS=500 pytest tests/chaos/test_appointments.py -s` is the long form: so many within two minutes, on both
books.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.messages import Address
from bot.store import Database, agents, appointments
from bot.store.appointments import Appointment, State
from tests.chaos.blows import Blows
from tests.chaos.brain import ANSWERED
from tests.chaos.chats import address_of
from tests.chaos.checker import faults
from tests.chaos.harness import House, open_house
from tests.chaos.leftovers import processes
from tests.chaos.people import Said
from tests.chaos.plan import HouseKind, Strike
from tests.chaos.processes import eventually

IS_LONG = "APPOINTMENTS" in os.environ
COUNT = int(os.environ.get("APPOINTMENTS", "40"))
SECONDS, CHATS = (120.0, 25) if IS_LONG else (12.0, 4)
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
AFTERWARDS = 10.0 if IS_LONG else 60.0
"""Seconds after everything is back by which the last one is there; a machine that runs all tests at once takes longer.
"""
_TARGETS: Mapping[HouseKind, Sequence[str]] = {
    "apart": ("gateway", "agents", "valkey"),
    "fleet": ("gateway", "agents", "valkey", "postgres"),
}
_PATIENCE = 120.0
_WAKES = 10
"""One in so many wakes the agent; the others are said."""
_REMINDER = re.compile(r"⏰ number (\d+)\.")

pytestmark = [pytest.mark.rest, pytest.mark.timeout(900 if IS_LONG else 300)]


@dataclass(frozen=True)
class Noted:
    """What somebody wrote long ago: it is in no chat."""

    def edit(self, text: str) -> None:
        """Nobody does."""
        raise NotImplementedError


@pytest.mark.parametrize(
    "kind",
    ["apart", pytest.param("fleet", marks=() if IS_LONG else pytest.mark.long)],
    ids=["SQLite", "PostgreSQL"],
)
async def test_each_is_said_once_while_everything_is_killed(tmp_path: Path, kind: HouseKind) -> None:
    chance = random.Random(f"appointments {SEED}")
    async with open_house(tmp_path, kind, people=CHATS, group=False, chance=chance, delta_delay=0.01) as house:
        blows = Blows(house, chance)
        begins = await _made(house, chance)
        async with asyncio.TaskGroup() as tasks:
            while (left := begins + SECONDS - time.time()) > 0:
                await asyncio.sleep(min(left, chance.uniform(1.0, 6.0)))
                at_once = chance.choice((1, 1, 1, 2, len(_TARGETS[kind])))
                for target in chance.sample(_TARGETS[kind], at_once):
                    tasks.create_task(blows.strike(_kill(house, target, chance)))
        await blows.mend()
        back = time.monotonic()
        await eventually(lambda: len(_came(house)) == COUNT, _PATIENCE, house.describe)
        late = time.monotonic() - back
        await house.settled()
        struck = Counter(strike.target or strike.kind for _, strike in blows.took)
        sys.stdout.write(f"\nCHAOS_SEED={SEED}, {kind}: {COUNT}, the last {late:.1f} s after all was back; {struck}\n")
        assert (twice := {number for number, times in _came(house).items() if times != 1}) == set(), twice
        wrong = await faults(house)
        assert not wrong, "\n".join([f"CHAOS_SEED={SEED} in {house.data_dir}", *wrong])
        assert struck
        assert late < AFTERWARDS
        codes = await house.end()
        assert codes == dict.fromkeys(house.programs, 0), house.describe()
        assert not processes(house)


def _kill(house: House, target: str, chance: random.Random) -> Strike:
    gone = chance.uniform(0.0, 2.0)
    if target in ("valkey", "postgres"):
        return Strike("kill valkey" if target == "valkey" else "kill postgres", "", gone)
    return Strike("kill", chance.choice([name for name in house.programs if name.startswith(target)]), gone)


def _came(house: House) -> Counter[int]:
    """How often people read each: a reminder, or the answer of an agent that was woken."""
    found = Counter[int]()
    for chat in range(CHATS):
        for seen in house.people.sees(chat):
            found.update(int(number) for number in _REMINDER.findall(seen.text))
            found.update(int(number) for number in ANSWERED.findall(seen.text))
    return found


async def _made(house: House, chance: random.Random) -> float:
    """Appointments at random moments of the time in which things are killed; returns when that begins."""
    if house.postgres:
        database = Database(house.postgres.url.replace("+asyncpg", ""))
    else:
        database = Database.in_folder(house.data_dir)
    try:
        begins = time.time()
        async with database.write() as tx:
            for number in range(1, COUNT + 1):
                chat = number % CHATS
                there, due = address_of(house.people.chats[chat]), begins + chance.uniform(0, SECONDS)
                await agents.ensure(tx, there, now=begins)
                wakes = number % _WAKES == 0
                if wakes:
                    house.people.said.append(Said(number, chat, Noted()))
                await appointments.add(tx, there.agent_id, _one(there, due, number, wakes=wakes))
    finally:
        await database.close()
    return begins


def _one(there: Address, due: float, number: int, *, wakes: bool) -> Appointment:
    return Appointment(
        number=0,
        connector=there.connector,
        person=there.chat,
        person_name="",
        kind="wake" if wakes else "say",
        text=f"«{number}»" if wakes else f"number {number}.",
        state=State.SET,
        zone="UTC",
        local="2027-01-01T09:00:00",
        at=due,
        due_at=due,
        next_at=due,
        made_at=due,
        changed_at=due,
    )
