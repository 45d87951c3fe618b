"""What a person stops: a compaction that an answer waits for, and then the answer. FEATURES D5."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import update

from bot.agent.commands.texts import STOPPED
from bot.compaction.notices import ON_ALL, STAYS, STOP_COMPACTING, STOP_THE_ANSWER, WAS_ON_ALL
from bot.messages import Address, Inbound
from bot.store import inbox, schema
from bot.store.traces.requests import CUT_OFF
from connectors.memory import Shown
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
ASKED = f"What is the launch code? {LINE.format(99) * 5}"
WAITS: dict[str, Any] = {"agents": {"compact_ahead": False}}
ABORTED = "🗜 Compaction aborted: nothing was changed."


def is_summary(request: MessagesRequest) -> bool:
    return request.is_summary


def summaries(model: MessagesServer) -> int:
    return sum(record.request.is_summary for record in model.requests)


def is_answering(model: MessagesServer) -> bool:
    """Whether an answer is on its way, and nothing else."""
    last = model.requests[-1]
    return model.running == 1 and last.outcome == "running" and not last.request.is_summary


def status(room: Room) -> Shown:
    """The message about the only compaction."""
    (message,) = (message for message in room.shown["1"].values() if message.text.startswith("🗜"))
    return message


async def until_replied_or_told(room: Room, replies: int) -> None:
    await room.until(lambda: len(room.replies()) == replies or room.notices())


@asynccontextmanager
async def waiting(house: OpenHouse, room: Room, model: MessagesServer, **more: Any) -> AsyncIterator[House]:
    """A house where an answer waits for a summary that does not come."""
    async with house(**{**WAITS, **more}) as running:
        await room.asks("Remember: the launch code is ZEBRA-4417.")
        model.hang(is_summary)
        number = 0
        while not any(notice.startswith("🗜") for notice in room.notices()):
            await room.says(f"{ASKED} {number}")
            number += 1
            await until_replied_or_told(room, number + 1)
        await model.wait_for(lambda server: server.running == 1)
        yield running


async def test_who_stops_an_automatic_compaction_is_answered_on_the_whole_conversation(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with waiting(house, room, model) as running:
        answered, entries = len(room.replies()), len((await running.history()).entries)
        assert status(room).commands == (STOP_COMPACTING.command,)
        await room.says("/abort")
        await model.wait_for(lambda server: server.hangups == 1)
        await room.until(lambda: len(room.replies()) == answered + 1)
        assert room.replies()[-1] == "The launch code is ZEBRA-4417."
        assert "ZEBRA-4417" in str(model.requests[-1].request.messages[0])
        history = await running.history()
        assert (history.layers, len(history.entries)) == ((), entries + 1)
        await room.until(lambda: status(room).text == f"{ABORTED} {WAS_ON_ALL}")
        assert status(room).commands == ()
        assert len(room.notices()) == 1, "and nothing else is said of it"
        assert summaries(model) == 1
        text = await running.trace()
        assert (text.count("### Request 1"), text.count(CUT_OFF), "ZEBRA-4417" in text) == (1, 1, True)


async def test_a_second_abort_ends_the_answer(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with waiting(house, room, model):
        answered = len(room.replies())
        model.hang(lambda request: not request.is_summary)
        await room.says("/abort")
        await room.until(lambda: status(room).text == f"{ABORTED} {ON_ALL}")
        assert status(room).commands == (STOP_THE_ANSWER.command,)
        await model.wait_for(is_answering)
        await room.says("/abort")
        await room.until(lambda: status(room).text == f"{ABORTED} {STAYS}")
        assert (status(room).commands, len(room.replies()), len(room.notices())) == ((), answered, 1)
        model.clear_faults()
        assert "ZEBRA-4417" in await room.asks("What is the launch code?")
        assert ASKED in model.requests[-1].request.all_text


async def test_a_button_that_stops_the_compaction_stops_no_answer_when_it_comes_late(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with waiting(house, room, model):
        model.hang(lambda request: not request.is_summary)
        await room.says(STOP_COMPACTING.command)
        await room.until(lambda: ON_ALL in status(room).text)
        assert await room.commands(STOP_COMPACTING.command) == "The compaction is over already."
        model.release()
        await room.until(lambda: WAS_ON_ALL in status(room).text)


async def ends_after_the_abort(house: OpenHouse, room: Room, model: MessagesServer) -> int:
    """The program ends while the message whose compaction was stopped is answered; returns the replies before."""
    async with waiting(house, room, model) as running:
        answered = len(room.replies())
        model.hang(lambda request: not request.is_summary)
        await room.says("/abort")
        await room.until(lambda: ON_ALL in status(room).text)
        await model.wait_for(is_answering)
        await running.end()
    model.clear_faults()
    return answered


async def test_a_restart_after_the_abort_answers_on_the_whole_conversation_and_compacts_nothing(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    answered = await ends_after_the_abort(house, room, model)
    async with house(**WAITS):
        await room.until(lambda: len(room.replies()) == answered + 1)
        await room.until(lambda: WAS_ON_ALL in status(room).text)
        assert summaries(model) == 1
        await room.asks("And now?")
        assert summaries(model) == 1, "the two messages after an aborted compaction are answered without one"


async def test_an_abort_that_came_while_nothing_ran_stops_the_compaction_and_not_the_answer_that_will_wait_for_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with waiting(house, room, model) as running:
        answered, resources = len(room.replies()), running.resources
        await running.end()
        async with resources.database.write() as tx:
            abort = Inbound(Address("room", "1"), "message:1:abort", "message", 999, "ada", "/abort", ref="999")
            await inbox.add(tx, abort, now=resources.database.clock())
        asked = summaries(model)
    async with house(**WAITS):
        await room.until(lambda: len(room.replies()) == answered + 1)
        assert room.replies()[-1] == "The launch code is ZEBRA-4417."
        await room.until(lambda: status(room).text == f"{ABORTED} {WAS_ON_ALL}")
        assert len(room.notices()) == 1, "and nothing else is said of it"
        assert summaries(model) <= asked + 1, "a worker may have begun with it again, and nobody else"


def refuses_what_is_whole(model: MessagesServer) -> None:
    """The server takes nothing but a context that was compacted."""
    model.fail(
        400,
        "invalid_request_error",
        "prompt is too long: 5000 tokens > 3000 maximum",
        when=lambda request: not request.is_summary and "Session context compacted." not in request.all_text,
        times=None,
    )


def cannot_be_sent(room: Room) -> bool:
    return "does not fit into the model" in room.replies()[-1]


async def test_where_the_provider_refuses_the_whole_conversation_that_is_said_and_the_next_message_compacts_first(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(**WAITS):
        await room.asks("Remember: the launch code is ZEBRA-4417.")
        for number in range(4):
            await room.asks(LINE.format(number))
        refuses_what_is_whole(model)
        model.hang(is_summary)
        await room.says(ASKED)
        await model.wait_for(lambda server: server.running == 1)
        await room.until(lambda: any(notice.startswith("🗜") for notice in room.notices()))
        await room.says(status(room).commands[0])
        await room.until(lambda: cannot_be_sent(room))
        await room.until(lambda: status(room).text.startswith(ABORTED))
        assert status(room).commands == ()
        model.release()
        assert (await room.asks(f"{ASKED} Once more.")).startswith("The launch code is ZEBRA-4417.")
        assert ASKED in model.requests[-1].request.all_text


async def test_a_whole_conversation_that_is_refused_after_the_abort_and_a_restart_is_not_compacted_for_the_same_message(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    answered = await ends_after_the_abort(house, room, model)
    refuses_what_is_whole(model)
    async with house(**WAITS):
        await room.until(lambda: len(room.replies()) == answered + 1 and cannot_be_sent(room))
        await room.until(lambda: status(room).commands == ())
        assert summaries(model) == 1


async def test_beside_an_answer_that_does_not_wait_for_it_abort_stops_both_and_a_button_only_what_it_says(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(is_summary)
    async with house():
        number = 0
        while not any("Compacting" in notice for notice in room.notices()):
            await room.asks(LINE.format(number))
            number += 1
        model.hang(lambda request: not request.is_summary)
        await room.says("And now?")
        await model.wait_for(lambda server: server.running == 2)
        await room.says(STOP_THE_ANSWER.command)
        await model.wait_for(lambda server: server.running == 1)
        await room.until(lambda: f"Stopped. {STAYS}" in room.notices())
        assert "Compacting" in status(room).text
        await room.says("And now?")
        await model.wait_for(lambda server: server.running == 2)
        await room.says("/abort")
        await model.wait_for(lambda server: server.running == 0)
        await room.until(lambda: status(room).text == f"{ABORTED} {STAYS}")


async def carried_out_again(running: House) -> None:
    """The program ends before it is written down that the command was carried out."""
    resources = running.resources
    await running.end()
    async with resources.database.write() as tx:
        await tx.execute(update(schema.inbox).where(schema.inbox.c.text == "/abort").values(state="waiting"))


@pytest.mark.parametrize("words", [0, 3])
async def test_a_stop_that_is_carried_out_again_after_a_crash_is_said_once(
    house: OpenHouse, room: Room, model: MessagesServer, words: int
) -> None:
    async with house() as running:
        model.hang(after=words)
        await room.says("Tell me a story.")
        await model.wait_for(lambda server: server.running == 1 and server.requests[-1].deltas == words)
        await room.says("/abort")
        said = STOPPED if words == 0 else "(stopped)"
        await room.until(lambda: any(message.text.endswith(said) for message in room.shown.get("1", {}).values()))
        await carried_out_again(running)
    model.clear_faults()
    async with house():
        await room.asks("And now?")
        assert set(room.notices()) == ({STOPPED} if words == 0 else set())


async def test_a_stopped_compaction_is_said_once_too(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(**WAITS) as running:
        for number in range(4):
            await room.asks(f"{ASKED} {number}")
        model.hang(is_summary)
        await room.says("/compact")
        await model.wait_for(lambda server: server.running == 1)
        await room.says("/abort")
        await room.until(lambda: status(room).text == ABORTED)
        await carried_out_again(running)
    model.clear_faults()
    async with house(**WAITS):
        await room.asks("And now?")
        assert len(room.notices()) == 1
