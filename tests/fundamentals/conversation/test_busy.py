"""What becomes of messages that come while an answer is being written, and of those that are changed."""

from __future__ import annotations

from sqlalchemy import text

from bot.bus import topics
from bot.history import EntryKind
from bot.messages import Address, Inbound, text_of
from bot.store import inbox
from bot.store.inbox import EDITED
from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply, ToolCall, remembering_brain
from tests.servers.messages.wire import blocks_of


async def test_a_message_that_has_to_wait_is_marked_until_it_is_taken(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house():
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("two", ref="second")
        await room.until(lambda: room.reactions.get("second") == ["👀"])
        model.release()
        await room.until(lambda: len(room.replies()) == 2)
        await room.until(lambda: room.reactions["second"] == ["👀", ""])


async def test_with_interrupt_a_new_message_stops_the_answer_and_is_answered(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house(agents={"when_busy": "interrupt"}):
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("no, two")
        await room.until(room.replies)
        said = str(model.requests[-1].request.messages)
        assert "one" in said
        assert "no, two" in said
        await model.wait_for(lambda s: s.running == 0)


def looks_first(request: MessagesRequest) -> Reply:
    """It lists the files before it answers."""
    if any(block["type"] == "tool_result" for message in request.messages for block in blocks_of(message["content"])):
        return remembering_brain(request)
    return Reply("I look.", [ToolCall("list_files", {})])


async def test_with_steer_what_is_said_meanwhile_joins_the_answer_after_a_tool(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = looks_first
    model.hang(times=1)
    async with house(agents={"when_busy": "steer"}):
        await room.says("What is the colour?", ref="first")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("The colour is blue.", ref="second")
        await room.says("/context")
        await room.says("What is the colour?", ref="third")
        await room.until(lambda: room.reactions.get("third") == ["👀"])
        model.release()
        await room.until(room.replies)
        assert room.replies() == ["The colour is blue."]
        assert (room.reactions["second"], room.reactions["third"]) == (["👀", ""], ["👀", ""])
        await room.says("Thanks.")
        await room.until(lambda: len(room.replies()) == 2)
    assert len(model.requests) == 3
    assert not model.refused


async def test_with_steer_and_no_tool_what_is_said_meanwhile_is_answered_next(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house(agents={"when_busy": "steer"}):
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("two", ref="second")
        await room.until(lambda: room.reactions.get("second") == ["👀"])
        model.release()
        await room.until(lambda: len(room.replies()) == 2)
        await room.until(lambda: room.reactions["second"] == ["👀", ""])


async def test_an_answer_names_what_it_answers(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.says("hello", ref="77")
        await room.until(room.replies)
        await room.says("/status", ref="78")
        await room.until(room.notices)
        assert {message.answers for message in room.shown["1"].values()} == {"77", "78"}


async def test_a_message_that_is_changed_before_it_is_read_counts_as_changed(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house():
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("tow", key="message:1:7")
        await room.says("two", key="edit:1:7:1", edits="message:1:7")
        model.release()
        await room.until(lambda: len(room.replies()) == 2)
    said = str(model.requests[-1].request.messages)
    assert "two" in said
    assert "tow" not in said
    assert EDITED not in said


async def test_a_message_that_is_changed_after_it_was_answered_is_answered_anew(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.says("tow", key="message:1:7")
        await room.until(room.replies)
        await room.says("two", key="edit:1:7:1", edits="message:1:7")
        await room.until(lambda: len(room.replies()) == 2)
        await room.says("two", key="edit:1:7:2", edits="message:1:7")  # only a link's preview came
        await room.asks("three")
        assert len(room.replies()) == 3
    assert f"{EDITED}\\ntwo" in str(model.requests[-1].request.messages)


async def test_a_command_about_the_past_waits_for_the_files_of_the_past(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    room.hold_files()
    async with house():
        await room.asks("My dog is Rex.")
        await room.says("look", files={"notes.txt": b"hello"})
        await room.says("/new")
        assert "tokens" in await room.commands("/context")
        room.let_files_go()
        await room.until(lambda: len(room.replies()) == 2)
        await room.until(lambda: any("Busy" in notice for notice in room.notices()))
        assert "fresh start" in await room.commands("/new")
        await room.asks("What is my dog?")
    assert "notes.txt" not in str(model.requests[-1].request.messages)


async def test_who_reads_an_answer_is_not_told_that_it_is_still_being_written(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False}):
        for number in range(20):
            await room.asks(f"question {number}")
            assert await room.commands("/undo") == "There is nothing to undo."


async def test_an_edit_at_the_moment_when_a_message_is_taken_is_not_lost(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as opened:
        database = opened.resources.database
        await room.says("meet at 5", key="message:1:7")
        await room.until(room.replies)
        async with database.write() as tx:
            await tx.execute(text("UPDATE inbox SET state = 'waiting', turn_id = NULL"))  # no agent may see it so
            [taken] = await inbox.waiting(tx, Address("room", "1").agent_id)
            texts = await inbox.take(tx, [taken.id], "a turn")
        assert texts == {taken.id: "meet at 5"}
        await room.says("meet at 6", key="edit:1:7:1", edits="message:1:7")
        await room.until(lambda: len(room.replies()) == 2)
    assert "meet at 6" in str(model.requests[-1].request.messages)


async def test_what_stands_behind_an_abort_waits_behind_what_stands_before_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house() as running:
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        async with running.resources.database.write() as tx:
            for order, words in enumerate(("two", "/abort", "three"), 10):
                inbound = Inbound(Address("room", "1"), f"message:1:{order}", "message", order, "ada", words)
                await inbox.add(tx, inbound, now=running.resources.database.clock())
        running.resources.bus.ring(topics.inbox(Address("room", "1").agent_id))
        await room.until(room.replies)
        said = [text_of(entry.blocks) for entry in (await running.history()).visible if entry.kind == EntryKind.SAID]
        assert said == ["one", "two", "three"]
