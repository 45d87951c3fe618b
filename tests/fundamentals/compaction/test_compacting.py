"""How a conversation is kept small enough, and what a person sees of that."""

from __future__ import annotations

import os

import pytest

from bot.history import EntryKind, as_request
from bot.messages import Address, text_of
from bot.store import runs
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, Reply

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
LINES = 200 if "LONG" in os.environ else 100


def is_summary(request: MessagesRequest) -> bool:
    return request.is_summary


async def talk(room: Room, count: int) -> None:
    for number in range(count):
        await room.asks(LINE.format(number))


async def until_compacted(room: Room, times: int) -> None:
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices()) >= times)


async def latest_run(house: House) -> runs.Run:
    async with house.resources.database.read() as tx:
        run = await runs.latest(tx, Address("room", "1").agent_id)
    assert run
    return run


async def until_replied_or_told(room: Room, replies: int) -> None:
    await room.until(lambda: len(room.replies()) == replies or room.notices())


async def test_a_long_conversation_is_compacted_and_nothing_that_matters_is_forgotten(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house():
        await room.asks("Remember: the launch code is ZEBRA-4417.")
        await talk(room, 58)
        assert await room.asks("What is the launch code?") == "The launch code is ZEBRA-4417."
        assert not model.refused
        await room.until(lambda: not any("Compacting" in text for text in room.notices()))  # ahead, after that answer
        finished = [text for text in room.notices() if "Compacted:" in text]
        assert len(finished) >= 3
        assert len(finished) == len(room.notices()), "one status message each, edited"


async def test_ahead_of_time_compaction_never_makes_a_person_wait(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    """Every summary is held back until the person has had two more answers; all come nevertheless."""
    model.hang(is_summary)
    compactions = answers_meanwhile = 0
    async with house():
        for number in range(LINES):
            await room.asks(LINE.format(number))
            if any("Compacting" in notice for notice in room.notices()):
                await model.wait_for(lambda server: server.running)
                answers_meanwhile += 1
            if answers_meanwhile == 3:
                answers_meanwhile = 0
                compactions += 1
                model.release()
                await until_compacted(room, compactions)
                model.hang(is_summary)
        model.release()
    assert compactions >= LINES // 40
    assert not model.refused


async def test_what_is_said_while_a_compaction_is_under_way_stands_on_both_sides_of_its_figures(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(is_summary)
    async with house() as running:
        number = 0
        while not any("Compacting" in notice for notice in room.notices()):
            await room.asks(LINE.format(number))
            number += 1
        await model.wait_for(lambda server: server.running)
        begun = await latest_run(running)
        await room.asks(" ".join(LINE.format(other) for other in range(8)))
        model.release()
        await until_compacted(room, 1)
        ended = await latest_run(running)
    assert ended.meter_after
    before, after = ended.meter_before.total, ended.meter_after.total
    assert before > begun.meter_before.total + 8 * 20
    assert f"{before:,} → {after:,}" in room.notices()[0]


async def test_without_ahead_the_person_is_told_and_then_answered_from_the_compacted_context(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(is_summary)
    async with house(agents={"compact_ahead": False}):
        number = 0
        while not any("Compacting" in text for text in room.notices()):
            await room.says(LINE.format(number))
            number += 1
            await until_replied_or_told(room, number)
        assert room.is_typing()
        assert len(room.replies()) == number - 1
        model.release()
        await room.until(lambda: len(room.replies()) == number)
        first = text_of(model.requests[-1].request.messages[0]["content"])
        assert first.startswith("Session context compacted.")
        assert LINE.format(number - 1) in first
        await room.until(lambda: not room.is_typing())


async def test_after_a_compaction_the_page_is_marker_summary_and_the_latest_message(
    house: OpenHouse, room: Room
) -> None:
    async with house(agents={"compact_ahead": False}) as running:
        await talk(room, 8)
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        await room.says("And now?")
        await room.until(lambda: len(room.replies()) == 9)
        kinds = [entry.kind for entry in (await running.history()).visible]
        assert kinds[:2] == [EntryKind.MARKER, EntryKind.SUMMARY]
        assert kinds[-2:] == [EntryKind.SAID, EntryKind.REPLY]


async def test_the_focus_of_a_compaction_reaches_the_model(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house():
        await talk(room, 10)
        await room.commands("/compact keep the API decisions")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        asked = [record.request for record in model.requests if record.request.is_summary]
        assert "keep the API decisions" in asked[0].last_user_text


@pytest.mark.parametrize("said", ["", "No summary.", "There is nothing to summarize."])
async def test_a_summary_that_says_nothing_changes_nothing(
    house: OpenHouse, room: Room, model: MessagesServer, said: str
) -> None:
    brain = model.brain
    model.brain = lambda request: Reply(said) if request.is_summary else brain(request)
    async with house() as running:
        await talk(room, 10)
        before = (await running.history()).view()
        await room.commands("/compact")
        await room.until(lambda: "unchanged" in room.notices()[-1])
        assert (await running.history()).view() == before


async def test_undo_gives_back_the_exact_earlier_page_also_after_a_restart(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        await talk(room, 10)
        before = (await running.history()).view()
        await room.commands("/compact")
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        assert (await running.history()).view() != before
    async with house() as running:
        await room.commands("/undo")
        assert (await running.history()).view() == before


async def test_after_an_undo_nothing_compacts_by_itself_before_it_is_critical(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False, "emergency_context_limit": 2_400}) as running:
        while not room.notices():
            await room.asks(LINE.format(0))
        await room.commands("/undo")
        told = len(room.notices())
        while len(room.notices()) == told:
            await room.asks(LINE.format(1))
        async with running.resources.database.read() as tx:
            second = await runs.latest(tx, Address("room", "1").agent_id)
        assert second
        assert second.meter_before.level == "critical"


async def test_new_starts_afresh_and_undo_brings_everything_back(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        await room.asks("My dog is Rex.")
        before = as_request((await running.history()).visible)
        await room.commands("/new")
        assert await room.asks("What is my dog?") == "I do not know the dog."
        await room.commands("/undo")
        assert (await running.history()).view()[: len(before)] == before
        assert await room.asks("What is my dog?") == "The dog is Rex."


async def test_a_pause_of_an_undo_ends_where_new_starts_afresh(house: OpenHouse, room: Room) -> None:
    async with house(agents={"compact_ahead": False}):
        await talk(room, 6)
        await room.commands("/compact")
        await until_compacted(room, 1)
        await room.commands("/undo")
        assert "paused by /undo until the level is critical or the next /compact" in await room.commands("/context")
        await room.commands("/new")
        assert "paused" not in await room.commands("/context")
    async with house(agents={"compact_ahead": False}):
        assert "paused" not in await room.commands("/context")


async def test_the_undo_button_of_an_earlier_compaction_takes_back_nothing(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        for compactions in (1, 2):
            await talk(room, 6)
            await room.commands("/compact")
            await until_compacted(room, compactions)
        before = await running.history()
        first, second = [message.commands[0] for message in room.shown["1"].values() if message.commands]
        assert "not the last" in await room.commands(first)
        assert (await running.history()).layers == before.layers
        assert "Took the last compaction back" in await room.commands(second)
        assert (await running.history()).layers == before.layers[:1]


async def test_what_was_taken_back_says_so_in_its_status_and_has_no_button_any_more(
    house: OpenHouse, room: Room
) -> None:
    async with house():
        await talk(room, 6)
        await room.commands("/compact")
        await until_compacted(room, 1)
        (status,) = [message for message in room.shown["1"].values() if message.commands]
        assert "Took the last compaction back" in await room.commands(status.commands[0])
        await room.until(lambda: not [message for message in room.shown["1"].values() if message.commands])
        assert any("Compacted: " in text and "taken back" in text for text in room.notices())


async def test_a_compaction_that_would_make_the_context_larger_changes_nothing(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    brain = model.brain
    model.brain = lambda request: Reply("A long summary. " * 200) if request.is_summary else brain(request)
    async with house() as running:
        await talk(room, 10)
        before = (await running.history()).view()
        await room.commands("/compact")
        await room.until(lambda: "smaller" in room.notices()[-1])
        assert (await running.history()).view() == before
