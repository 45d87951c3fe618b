"""A message that breaks the program is tried three times and then put aside: told, kept, and in nobody's way."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bot.agent.assembly import Assembly
from bot.agent.compacting.compactor import BROKEN, Outcome, Request
from bot.agent.quarantine import AFRESH, STRANDED
from bot.agent.turns.ending import MOST_TRIES, ONE_BY_ONE, PUT_ASIDE
from bot.app.main import inner_roles, services_of
from bot.compaction import Plan
from bot.messages import Address, Inbound
from bot.runtime.tasks import stop
from bot.store import Database, agents, inbox
from bot.store.archive.withdrawing import withdraw
from bot.store.operators import parked
from bot.store.operators.parked import Parked
from tests.conftest import OpenHouse
from tests.fundamentals.faults.mortal_host import DIED
from tests.house import House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall, remembering_brain
from tests.servers.messages.wire import blocks_of

ROOT = Path(__file__).parents[3]
HERE = Address("room", "1")


class Breaks:
    """Breaks the model on every page that has this word in it; ``times``: that often."""

    def __init__(self, house: House, word: str, *, times: int | None = None) -> None:
        self.broken = 0
        self._again = asyncio.Condition()
        self._word = word
        self._times = times
        self._ask = house.resources.chain.first.model.ask
        house.resources.chain.first.model.ask = self  # type: ignore[method-assign]  # to break it

    async def __call__(self, head: Any, messages: Any, *rest: Any, **more: Any) -> Any:
        if self._word in str(messages) and self.broken != self._times:
            async with self._again:
                self.broken += 1
                self._again.notify_all()
            raise ZeroDivisionError("a defect")
        return await self._ask(head, messages, *rest, **more)

    async def until(self, broken: int) -> None:
        """Wait until it has broken so often."""
        async with self._again:
            await self._again.wait_for(lambda: self.broken >= broken)


async def put_aside(house: House) -> list[Parked]:
    async with house.resources.database.read() as tx:
        return await parked.listed(tx)


async def states(database: Database) -> list[str]:
    async with database.read() as tx:
        return [row[0] for row in await tx.execute(text("SELECT state FROM inbox ORDER BY id"))]


async def test_a_message_that_breaks_its_turn_is_tried_three_times_put_aside_and_told(
    house: OpenHouse, room: Room
) -> None:
    async with house() as h:
        breaks = Breaks(h, "POISON")
        assert await room.asks("POISON") == PUT_ASIDE
        assert breaks.broken == 3
        [one] = await put_aside(h)
        assert (one.text, one.agent_id, one.reason) == ("POISON", HERE.agent_id, "ZeroDivisionError: a defect")
        async with h.resources.database.read() as tx:
            assert await inbox.unanswered(tx, HERE) == 0


async def test_the_conversation_goes_on_without_what_was_put_aside(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        breaks = Breaks(h, "POISON")
        await room.asks("The colour is blue.")
        await room.asks("POISON")
        assert await room.asks("What is the colour?") == "The colour is blue."
        assert breaks.broken == 3
        shown = str((await h.history()).view())
        assert "POISON" not in shown
        assert "was put aside" in shown


async def test_what_was_put_aside_stays_out_of_view_after_an_undo_and_a_restart(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        Breaks(h, "POISON")
        await room.asks("The colour is blue.")
        await room.asks("POISON")
        assert await room.commands("/undo") == "There is nothing to undo."
        await room.commands("/new")
        assert "earlier conversation is back" in (await room.commands("/undo"))
    async with house() as h:
        breaks = Breaks(h, "POISON")
        assert await room.asks("What is the colour?") == "The colour is blue."
        assert breaks.broken == 0


async def test_a_defect_that_passes_is_not_seen(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        breaks = Breaks(h, "POISON", times=2)
        assert (await room.asks("POISON")).startswith("Noted")
        assert breaks.broken == 2
        assert await put_aside(h) == []


async def test_abort_ends_the_tries_of_a_message(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        breaks = Breaks(h, "POISON")
        await room.says("POISON")
        await breaks.until(2)
        assert "Stopped" in await room.commands("/abort")
        assert breaks.broken == 2
        assert await put_aside(h) == []


async def test_of_messages_that_were_taken_together_only_the_one_to_blame_is_put_aside(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house() as h:
        Breaks(h, "POISON")
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("The colour is blue.")
        await room.says("POISON")
        await room.says("What is the colour?")
        model.release()
        await room.until(lambda: len(room.replies()) == 5)
        said = room.replies()
        assert said[1] == ONE_BY_ONE
        assert said[3:] == [PUT_ASIDE, "The colour is blue."]
        assert [one.text for one in await put_aside(h)] == ["POISON"]


async def test_a_turn_that_was_cut_off_three_times_without_coming_further_is_put_aside(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=None)
    async with house() as h:
        await room.says("hello")
        await model.wait_for(lambda s: s.running == 1)
    async with house(("gateway", "worker")) as h:
        await _tries(h, 3)
    model.release()
    async with house() as h:
        await room.until(room.replies)
        assert room.replies() == [PUT_ASIDE]
        assert [one.text for one in await put_aside(h)] == ["hello"]
        assert (await room.asks("and now?")).startswith("Noted")


async def test_a_host_that_is_asked_to_end_costs_a_turn_no_try(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=None)
    for _ in range(4):
        async with house() as h:
            if not model.requests:
                await room.says("hello")
            await model.wait_for(lambda s: s.running == 1)
            assert await _tries(h) == 1
    model.release()
    async with house():
        await room.until(room.replies)
        assert room.replies()[0].startswith("Noted")


def looks_first(request: MessagesRequest) -> Reply:
    if any(block["type"] == "tool_result" for message in request.messages for block in blocks_of(message["content"])):
        return remembering_brain(request)
    return Reply("I look.", [ToolCall("list_files", {})])


async def test_a_turn_that_came_further_has_three_tries_again(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = looks_first
    model.hang(lambda request: "tool_result" in str(request.messages))
    async with house() as h:
        await room.says("hello")
        await model.wait_for(lambda s: len(s.requests) == 2)
        assert await _tries(h) == 0
        model.release()
        await room.until(room.replies)


async def test_a_command_that_breaks_is_put_aside_and_others_are_answered(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        await room.asks("The colour is blue.")
        async with h.resources.database.write() as tx:
            await tx.execute(text("UPDATE entries SET blocks = '17'"))  # which nobody can read aloud
        await room.says("/recall 1")
        assert "Model:" in await room.commands("/status")
        await room.until(lambda: PUT_ASIDE in room.notices())
        [one] = await put_aside(h)
        assert (one.text, one.reason[:9]) == ("/recall 1", "TypeError")
        assert (await room.asks("And now?")).startswith("Noted")


@pytest.mark.parametrize("words", ["hello", "/context"])
async def test_an_agent_that_cannot_be_set_up_puts_aside_what_waits_and_new_starts_afresh(
    house: OpenHouse, room: Room, words: str
) -> None:
    async with house() as h:
        await room.asks("The colour is blue.")
        async with h.resources.database.write() as tx:
            await tx.execute(text("UPDATE entries SET blocks = '17'"))  # which no history can be made of
            await tx.execute(text("UPDATE agents SET starts = 9"))
    async with house() as h:
        await room.says(words)
        await room.until(lambda: STRANDED in room.notices())
        assert [one.text for one in await put_aside(h)] == [text for text in [words] if not text.startswith("/")]
        await room.says("/new")
        await room.until(lambda: AFRESH in room.notices())
        assert (await room.asks("What is the colour?")) == "I do not know the colour."


async def test_a_deletion_that_an_agent_cannot_mark_is_put_aside_without_a_word(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        await room.asks("The colour is blue.")
        async with h.resources.database.write() as tx:
            key = str((await tx.execute(text("SELECT key FROM entries WHERE key <> ''"))).scalar_one())
            await tx.execute(text("UPDATE entries SET blocks = '17'"))  # which no history can be made of
            await tx.execute(text("UPDATE agents SET starts = 9"))
            await withdraw(tx, Inbound(HERE, f"delete:{key}", "delete", 1, person="", text="", edits=key), now=1.0)
    async with house() as h:
        await room.says("/new")
        await room.until(lambda: AFRESH in room.notices())
        assert [one.kind for one in await put_aside(h)] == ["delete"]
        assert STRANDED not in room.notices()


async def _tries(house: House, tries: int | None = None) -> int:
    async with house.resources.database.write() as tx:
        if tries is not None:
            await tx.execute(text("UPDATE turns SET tries = :tries"), {"tries": tries})
        return int((await tx.execute(text("SELECT tries FROM turns"))).scalar_one())


@pytest.mark.rest  # three processes, one after the other
@pytest.mark.parametrize("book", ["embedded"], indirect=True)
async def test_a_message_that_kills_the_process_three_times_is_put_aside_by_the_fourth(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(("gateway", "worker")) as h:
        await room.says("POISON")
        for _ in range(MOST_TRIES):
            host = await _mortal_host(h, model)
            assert await host.wait() == DIED
        [work] = inner_roles(h.resources, ("agents",))
        fourth = asyncio.create_task(work)
        await room.until(room.replies)
        assert room.replies() == [PUT_ASIDE]
        assert (await room.asks("hello")).startswith("Noted")
        await stop(fourth)
        [one] = await put_aside(h)
        assert (one.text, one.reason) == ("POISON", "the program ended 3 times while it was at it")


async def _mortal_host(house: House, model: MessagesServer) -> asyncio.subprocess.Process:
    words = [str(house.resources.settings.data_dir), model.url, "POISON"]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fundamentals.faults.mortal_host",
        *words,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


async def test_a_compaction_that_breaks_costs_the_compaction_and_no_agent(house: OpenHouse, room: Room) -> None:
    async def breaks(*_: object) -> Plan:
        raise ZeroDivisionError("a defect")

    async with house(("gateway", "worker")) as h, asyncio.TaskGroup() as tasks:
        await room.says("hello")
        async with h.resources.database.write() as tx:
            row = await agents.claim(tx, HERE.agent_id)
        assert row
        agent = Assembly(services_of(h.resources), row)
        await agent.context.load()
        compactor = agent.compactor(tasks)
        compactor._planner.plan = breaks  # type: ignore[assignment,method-assign]  # to break it
        compactor.start(Request("manual"))
        assert await compactor.join() is Outcome.NOTHING
        assert (compactor.problem, compactor.running) == (BROKEN, False)
        assert not await compactor.planned()
