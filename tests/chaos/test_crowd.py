"""Many people at once, and connections that break: nobody is forgotten, nobody is answered twice.

`CROWD=500 pytest tests/chaos/test_crowd.py` is the long form: so many messages, five in each chat.
`DROPS=50` breaks the connection so often.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bot.app.platforms import platforms
from bot.app.resources import Resources
from tests.chaos.brain import ANSWERED, AnsweringBrain
from tests.chaos.platforms import PLATFORMS, Platform, open_platform
from tests.dialogs.program import at_rest, running
from tests.house import settings_for
from tests.servers.messages.server import MessagesServer

MESSAGES = int(os.environ.get("CROWD", "100"))
DROPS = int(os.environ.get("DROPS", "10"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
EACH = 5
PEOPLE = MESSAGES // EACH

pytestmark = [pytest.mark.rest, pytest.mark.timeout(120 + MESSAGES)]


@asynccontextmanager
async def program(platform: Platform, folder: Path, book: Mapping[str, Any]) -> AsyncIterator[Resources]:
    """The whole program on this platform, and a model that answers every numbered message by its number."""
    async with MessagesServer(brain=AnsweringBrain()) as model:
        settings = settings_for(model, folder, **platform.settings, **book)
        async with running(settings, platforms(settings), lease=platform.name) as resources:
            await platform.ready()
            yield resources


@pytest.mark.parametrize(
    "flood_control",
    [pytest.param(None, marks=pytest.mark.long), 1.0],
    ids=["without flood control", "with flood control"],
)
@pytest.mark.parametrize("mode", PLATFORMS)
async def test_a_crowd_that_writes_at_once_is_answered_in_order_and_each_once(
    tmp_path: Path, mode: str, free_port: int, flood_control: float | None
) -> None:
    async with open_platform(mode, free_port) as platform:
        async with program(platform, tmp_path, {}) as resources:
            if flood_control:
                platform.slow_down(flood_control)
            for number in range(EACH):
                await asyncio.gather(*(platform.says(who, f"«{who * EACH + number}»") for who in range(PEOPLE)))
            await everything_is_answered(platform, resources, MESSAGES)
        for who in range(PEOPLE):
            numbers = [int(n) for reply in platform.texts(who) for n in ANSWERED.findall(reply)]
            assert numbers == [who * EACH + number for number in range(EACH)]


# discord.py leaves a connection that breaks in the middle of its opening to the garbage collector.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning")
@pytest.mark.parametrize("mode", PLATFORMS)
async def test_a_connection_that_breaks_loses_nothing_and_doubles_nothing(
    tmp_path: Path, mode: str, free_port: int
) -> None:
    chance = random.Random(f"{SEED} {mode}")
    async with open_platform(mode, free_port) as platform:
        async with program(platform, tmp_path, {}) as resources:
            for number in range(DROPS):
                await platform.says(0, f"«{number}»")
                await asyncio.sleep(chance.uniform(0, 0.3))
                broken = platform.break_connection(chance)()
                if inspect.isawaitable(broken):
                    await broken
                await platform.until(partial(is_answered, platform, number), 60)
            await everything_is_answered(platform, resources, DROPS)
        numbers = Counter(int(n) for reply in platform.texts(0) for n in ANSWERED.findall(reply))
        assert numbers == Counter(range(DROPS)), f"CHAOS_SEED={SEED}: {platform.texts(0)}"


def is_answered(platform: Platform, number: int) -> bool:
    """Whether the first person reads the answer to this message."""
    return any(f"⟦{number}⟧" in reply for reply in platform.texts(0))


async def everything_is_answered(platform: Platform, resources: Resources, count: int) -> None:
    """Every inbound is in one committed turn, and each turn has one final reply, which people see."""
    async with asyncio.timeout(60 + count):
        while True:
            await at_rest(resources)
            async with resources.database.read() as tx:
                inbound = (await tx.execute(text("SELECT state, turn_id FROM inbox"))).all()
            if len(inbound) == count:
                break
            await asyncio.sleep(0.1)
    async with resources.database.read() as tx:
        turns = (await tx.execute(text("SELECT id, state, slot FROM turns"))).all()
        replies = (await tx.execute(text("SELECT id, state FROM outbox WHERE kind = 'reply'"))).all()
    assert {row.state for row in inbound} == {"done"}
    assert {row.turn_id for row in inbound} == {row.id for row in turns}
    assert {row.state for row in turns} == {"done"}
    assert sorted(row.slot for row in turns) == sorted(row.id for row in replies)
