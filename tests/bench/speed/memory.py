"""Resident memory of the program's process.

- **empty**: after a first turn, so that what is imported on demand is in, and has been put aside.
- **active**: after so many agents have each had one turn, and none was put aside yet; less the empty process.
- **idle**: after so many agents have each had one short turn, and all were put aside (after `IDLE_SECONDS`, which is
  shortened here, see `program.py`); less the empty process. What the allocator keeps for itself counts.
"""

from __future__ import annotations

import asyncio
import itertools
import sys

from tests.bench.speed.capacity import AT_ONCE
from tests.bench.speed.figures import Figure
from tests.bench.speed.load import FIRST_CHAT, one_by_one, say, until_answered
from tests.bench.speed.rig import Rig

IDLE_SECONDS = 3.0
ENVIRONMENT = {"IDLE_SECONDS": str(IDLE_SECONDS)}
COMMAND = (sys.executable, "-m", "tests.bench.speed.program")
_SWEEPS_SECONDS = 12.0
"""Longer than the program takes to look at who is idle, twice."""


async def idle(rig: Rig, case: str, *, agents: int) -> list[Figure]:
    """A rig of COMMAND and ENVIRONMENT."""
    empty = await _empty(rig)
    await _one_turn_each(rig, agents)
    await asyncio.sleep(IDLE_SECONDS + _SWEEPS_SECONDS)
    more = rig.resident() - empty
    return [
        Figure("memory", case, "empty", empty, "MB"),
        Figure("memory", case, f"{agents:,} idle agents, over empty", more, "MB"),
        Figure("memory", case, "an idle agent", more / agents * 1e3, "KB"),
    ]


async def active(rig: Rig, case: str, *, agents: int) -> list[Figure]:
    """A rig as it is by default: nobody is put aside within two minutes."""
    empty = await _empty(rig)
    await _one_turn_each(rig, agents)
    more = rig.resident() - empty
    return [
        Figure("memory", case, f"{agents:,} active agents, over empty", more, "MB"),
        Figure("memory", case, "an active agent", more / agents * 1e3, "KB"),
    ]


async def _empty(rig: Rig) -> float:
    await one_by_one(rig, [FIRST_CHAT - 1])
    await asyncio.sleep(IDLE_SECONDS + _SWEEPS_SECONDS)
    return rig.resident()


async def _one_turn_each(rig: Rig, agents: int) -> None:
    """As fast as it goes."""
    chats = iter(range(FIRST_CHAT, FIRST_CHAT + agents))
    written: list[int] = []
    before = answered = (await rig.platform.ask("/bench/status"))["answered"]
    while len(written) < agents:
        room = AT_ONCE - (len(written) - (answered - before))
        written += [await say(rig, chat) for chat in itertools.islice(chats, room)]
        await asyncio.sleep(0.02)
        answered = (await rig.platform.ask("/bench/status"))["answered"]
    await until_answered(rig, written)
