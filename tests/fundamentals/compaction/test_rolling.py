"""The running summary: written ahead of need, so that the compaction has nothing left to ask. FEATURES E7."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from bot.bus import topics
from bot.messages import Address
from bot.store import runs
from bot.store.runs import Run, RunState
from bot.store.schema import compactions
from tests.conftest import OpenHouse
from tests.house import PATIENCE, House, Room
from tests.servers.messages.server import MessagesServer

ROLLING: dict[str, Any] = {"compaction": {"rolling": 0.15}}
LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
FACT = "Please note: the {} door code is {}."


async def all_runs(house: House) -> list[Run]:
    """All of this conversation, the oldest first."""
    async with house.resources.database.read() as tx:
        rows = await tx.execute(select(compactions).order_by(compactions.c.started_at))
        return [runs.run_of(row) for row in rows.mappings()]


async def folds(house: House, state: RunState = RunState.DONE) -> list[Run]:
    return [run for run in await all_runs(house) if run.trigger == "rolling" and run.state is state]


async def done(house: House) -> list[Run]:
    return [run for run in await all_runs(house) if run.trigger != "rolling" and run.state is RunState.DONE]


def asked_for(model: MessagesServer) -> int:
    return sum(record.request.is_summary for record in model.requests)


async def settled(house: House) -> None:
    """Until no fold is under way."""
    async with (
        house.resources.bus.bell(topics.settled(Address("room", "1").agent_id)) as bell,
        asyncio.timeout(PATIENCE),
    ):
        while [run for run in await all_runs(house) if run.state in runs.OPEN]:
            await bell.wait(0.2)


async def talk_until_compacted(house: House, room: Room) -> None:
    for number in range(60):
        await room.asks(LINE.format(number))
        await settled(house)
        if room.notices():
            break
    await room.until(lambda: "Compacted:" in room.notices()[-1])


@pytest.mark.parametrize("strategy", ["reset", "segmented"])
async def test_a_compaction_finds_its_summary_written_and_asks_nothing(
    house: OpenHouse, room: Room, model: MessagesServer, strategy: str
) -> None:
    async with house(agents={"strategy": strategy}, **ROLLING) as running:
        await room.asks(FACT.format("library", "4711-22"))
        await talk_until_compacted(running, room)
        written = await folds(running)
        assert written
        assert len(room.notices()) == 1, "a fold says nothing"
        (one,) = await done(running)
        assert (one.asked, one.jobs) == ((), 0)
        assert one.result
        assert one.result.summary == written[-1].result.summary  # type: ignore[union-attr]
        assert "by the running summary: no model was asked" in room.notices()[-1]
        assert "4711-22" in await room.asks("What is the library door code?")


async def test_each_fold_is_asked_for_what_is_new_beside_the_earlier_summary_and_costs_are_its_own(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    often = {"compaction": {"rolling": 0.1}}  # who talks quickly leaves no moment for some of them
    async with house(**often) as running:
        await talk_until_compacted(running, room)
        first, second, *_ = await folds(running)
        assert first.result
        assert second.plan["running"] == first.result.summary
        assert not set(first.plan["summarise"]) & set(second.plan["summarise"])
        assert set(second.plan["folded"]) == {*first.plan["folded"], *second.plan["summarise"]}
        assert all(run.result and run.result.usage and run.result.usage.output > 0 for run in (first, second))
        assert all(f"rolling {run.state.value}" in str(run.record) for run in (first, second))
        (one,) = await done(running)
        assert one.result
        assert not one.result.usage


async def test_after_an_undo_the_summary_is_still_there(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(**ROLLING) as running:
        await talk_until_compacted(running, room)
        (one,) = await done(running)
        before = asked_for(model)
        await room.commands("/undo")
        history = await running.history()
        assert history.stack == one.stack
        assert history.visible[0].seq == 1
        while len(await done(running)) < 2:  # it pauses until critical
            await room.asks(LINE.format("again"))
        again = (await done(running))[-1]
        assert again.plan["folded"][: len(one.plan["folded"])] == one.plan["folded"]
        assert asked_for(model) - before <= 1, "at most for what was said since"


async def folds_for_ever(house: House, room: Room, model: MessagesServer) -> None:
    """Something is said until a fold is under way, whose summary the model does not write."""
    model.hang(lambda request: request.is_summary)
    number = 0
    while not await all_runs(house):
        await room.asks(LINE.format(number := number + 1))


async def test_an_abort_stops_a_fold_and_nothing_else_changes(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(**ROLLING) as running:
        await folds_for_ever(running, room, model)
        before = (await running.history()).view()
        await room.commands("/abort")
        model.release()
        await settled(running)
        (one,) = await all_runs(running)
        assert (one.trigger, one.state) == ("rolling", RunState.ABORTED)
        assert (await running.history()).view() == before


async def test_whoever_asks_for_a_compaction_does_not_wait_for_a_fold(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(**ROLLING) as running:
        await folds_for_ever(running, room, model)
        await room.commands("/compact")
        model.release()
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        states = [(run.trigger, run.state) for run in await all_runs(running)]
        assert states == [("rolling", RunState.ABORTED), ("manual", RunState.DONE)]


async def test_unless_it_is_set_nothing_is_folded(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        await talk_until_compacted(running, room)
        assert {run.trigger for run in await all_runs(running)} == {"ahead"}
