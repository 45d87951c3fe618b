"""A conversation that went quiet is compacted just before its prompt cache expires, and nobody notices before they come
back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.app.main import inner_roles
from bot.app.resources import open_resources
from bot.compaction.quiet import LEAD_SECONDS
from bot.messages import Address
from bot.store.runs import RunState
from bot.store.schema import agents
from tests.conftest import MakeSettings, OpenHouse
from tests.house import House, Room, open_house, runs_at_rest, settings_for
from tests.servers.messages.server import MessagesServer

pytestmark = pytest.mark.one_wire("the cache marks of the Messages API")

HERE = Address("room", "1").agent_id
STORY = "In this chapter the ship sails on, and nobody on board knows where to. " * 400
"""More than a quarter of the window."""
ON: dict[str, Any] = {"agents": {"compact_quiet": True}, "prompt_cache": "1h"}


@pytest.fixture
def model(model: MessagesServer) -> MessagesServer:
    model.window = 20_000
    return model


class Time:
    """The book's and the provider's, which a test puts forward."""

    def __init__(self, running: House, model: MessagesServer, ahead: float = 0.0) -> None:
        self._running = running
        real, self.ahead = running.resources.database.clock, ahead
        running.resources.database.clock = model.cache.clock = lambda: real() + self.ahead

    def forward(self, seconds: float) -> None:
        self.ahead += seconds
        self._running.resources.bus._bells.strike_all()  # as after a connection that was lost: all look again

    async def to_the_quiet_moment(self, more: float = 0.5) -> None:
        at = await quiet_at(self._running)
        assert at
        self.forward(at + more - self._running.resources.database.clock())


def until_morning(now: float) -> float:
    """Seconds from now to six o'clock, UTC: a day's budget holds for long from there on."""
    return (6 * 3_600 - now) % 86_400


async def quiet_at(running: House) -> float | None:
    async with running.resources.database.read() as tx:
        return (await tx.execute(select(agents.c.quiet_at).where(agents.c.id == HERE))).scalar_one_or_none()


async def test_who_comes_back_after_a_pause_is_answered_on_a_small_page_and_was_not_disturbed(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(**ON) as running:
        time = Time(running, model)
        await room.asks(f"Please note: the library door code is 4711-22. {STORY}")
        await room.asks("And so?")
        asked = len(model.requests)
        await time.to_the_quiet_moment()
        (run,) = await runs_at_rest(running, HERE)
        assert (run.state, run.trigger, run.occasion) == (RunState.DONE, "ahead", "quiet")
        assert "ahead (before the prompt cache expired)" in await running.trace()
        (summary,) = model.requests[asked:]
        assert summary.usage.cache_read_input_tokens > 0.8 * summary.usage.prompt_tokens
        assert room.notices() == []
        time.forward(7_200)
        assert "4711-22" in await room.asks("What is the library door code?")
        assert len(model.requests) == asked + 2
        assert model.requests[-1].usage.prompt_tokens < summary.usage.prompt_tokens / 2
        await room.until(lambda: [notice.startswith("🗜 Compacted:") for notice in room.notices()] == [True])


async def test_who_comes_back_in_time_moves_the_moment(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(**ON) as running:
        time = Time(running, model)
        await room.asks(STORY)
        first = await quiet_at(running)
        assert first
        time.forward(1_800)
        await room.asks("And so?")
        second = await quiet_at(running)
        assert second
        assert second > first + 1_700
        time.forward(1_800)
        assert await runs_at_rest(running, HERE) == []
    assert len(model.requests) == 2


@pytest.mark.parametrize(("late", "compactions_made"), [(1.0, 1), (LEAD_SECONDS + 1, 0)])
async def test_the_moment_outlives_a_restart_and_is_left_once_the_cache_has_expired(
    house: OpenHouse, room: Room, model: MessagesServer, late: float, compactions_made: int
) -> None:
    async with house(**ON) as running:
        await room.asks(STORY)
        await room.asks("And so?")
        at = await quiet_at(running)
        assert at
        ahead = at - running.resources.database.clock()
    async with house(**ON) as again:
        time = Time(again, model)
        time.forward(ahead + late)
        assert len(await runs_at_rest(again, HERE)) == compactions_made


async def test_of_two_hosts_one_compacts(
    house: OpenHouse, room: Room, model: MessagesServer, settings: MakeSettings
) -> None:
    async with house(**ON) as running, AsyncExitStack() as stack:
        other = await stack.enter_async_context(open_resources(settings(**ON), clear_leases=False))
        task = asyncio.create_task(inner_roles(other, ("agents",))[0])
        time = Time(running, model)
        other.database.clock = running.resources.database.clock
        await room.asks(STORY)
        await room.asks("And so?")
        await time.to_the_quiet_moment()
        other.bus._bells.strike_all()
        assert [run.occasion for run in await runs_at_rest(running, HERE)] == ["quiet"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"agents": {"compact_quiet": False}}, id="off"),
        pytest.param({"agents": {"compact_quiet": True, "compact_ahead": False}}, id="nothing ahead"),
        pytest.param({"agents": {"compact_quiet": True, "compact_quiet_from": 0.9}}, id="too short"),
        pytest.param({"agents": {"compact_quiet": True, "strategy": "segmented"}}, id="never below its level"),
        pytest.param({"model": "a-model-without-a-price"}, id="no price"),
    ],
)
async def test_there_is_no_moment_where_it_is_not_to_be(house: OpenHouse, room: Room, changes: dict[str, Any]) -> None:
    async with house(**{**ON, **changes}) as running:
        await room.asks(STORY)
        assert await quiet_at(running) is None


async def test_there_is_none_at_a_provider_without_marks(room: Room, model: MessagesServer, tmp_path: Path) -> None:
    async with open_house(settings_for(model, tmp_path / "data", "chat", **ON), room) as running:
        await room.asks(STORY)
        assert await quiet_at(running) is None


async def test_an_undo_holds_it_back(house: OpenHouse, room: Room) -> None:
    async with house(**ON) as running:
        await room.asks(STORY)
        await room.says("/compact")
        await room.until(lambda: any("Compacted:" in notice for notice in room.notices()))
        await room.commands("/undo")
        await room.asks("And so?")
        assert await quiet_at(running) is None


async def test_nothing_is_compacted_for_whom_nothing_is_left_to_spend(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(**ON, budget={"person_day": "10k tokens"}) as running:
        time = Time(running, model, until_morning(running.resources.database.clock()))
        await room.asks(f"Please note: the library door code is 4711-22. {STORY}")
        await room.asks("And so?")
        asked = len(model.requests)
        await time.to_the_quiet_moment()
        assert await runs_at_rest(running, HERE) == []
        assert len(model.requests) == asked
