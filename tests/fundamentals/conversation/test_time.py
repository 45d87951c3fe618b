"""The model knows when each thing was said, and not a byte of what it has read before changes. FEATURES G3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer
from tests.servers.messages.wire import MARK

EVENING = datetime(2026, 5, 3, 20, 30, tzinfo=UTC).timestamp()
HOUR = 3_600.0
STORY = "In this chapter the ship sails on, and nobody on board knows where to. " * 12


@pytest.fixture
def model(model: MessagesServer) -> MessagesServer:
    model.window = 20_000
    return model


class Clock:
    """Of the book: it stands still until somebody moves it."""

    def __init__(self, opened: House, at: float = EVENING) -> None:
        self.at = at
        opened.resources.database.clock = lambda: self.at


def sent(request: MessagesRequest) -> list[str]:
    """What went over the wire before the answer, message for message; only the provider's own marks move."""
    messages: Sequence[Mapping[str, Any]] = (request.sent or request.body)["messages"]
    return [json.dumps(_without_cache_marks(message)) for message in messages]


def _without_cache_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_cache_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [_without_cache_marks(inner) for inner in value] if isinstance(value, list) else value


def last(model: MessagesServer) -> MessagesRequest:
    return model.requests[-1].request


def marks(request: MessagesRequest) -> list[str]:
    return [
        found[0] for message in request.messages for found in MARK.finditer(json.dumps(message).replace('\\"', '"'))
    ]


async def test_after_a_night_s_pause_the_request_says_so_and_all_before_it_is_what_it_was(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon") as opened:
        clock = Clock(opened)
        await room.asks("My dog is Rex.")
        clock.at += 60
        await room.asks("He is old.")
        evening = last(model)
    async with house(timezone="Europe/Lisbon") as opened:  # the program was updated in the night
        clock = Clock(opened, clock.at + 11 * HOUR)
        assert await room.asks("What is my dog?") == "The dog is Rex."
        morning = last(model)
    assert sent(morning)[: len(sent(evening))] == sent(evening)
    assert (morning.system, morning.tools) == (evening.system, evening.tools)
    assert marks(morning) == [
        '<sent at="Sun 3 May 2026, 21:30"/>',
        '<sent at="21:31"/>',
        '<sent at="Mon 4 May 2026, 08:31, 11 hours later"/>',
    ]


async def test_the_system_prompt_says_the_zone_and_never_the_time(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Asia/Tokyo", system_prompt="Be brief.") as opened:
        clock = Clock(opened)
        await room.asks("Hello.")
        before = last(model).system
        clock.at += 100 * 24 * HOUR
        await room.asks("Hello again.")
    assert last(model).system == before
    assert before.startswith("Be brief.\n\n")
    assert "Asia/Tokyo" in before


async def test_whoever_moves_is_told_the_time_there_and_what_was_written_before_stays(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon") as opened:
        clock = Clock(opened)
        await room.asks("Hello.")
        before = last(model)
        assert "Asia/Tokyo (UTC+09:00), where it is Monday, 4 May 2026, 05:30." in await room.commands(
            "/timezone Asia/Tokyo"
        )
        clock.at += 60
        await room.asks("I am in Tokyo.")
    assert (
        sent(last(model))[1 if last(model).wire == "chat" else 0 :][: len(before.messages)]
        == sent(before)[1 if before.wire == "chat" else 0 :]
    )
    assert marks(last(model))[1:] == ['<sent at="Mon 4 May 2026, 05:31 Asia/Tokyo, until here Europe/Lisbon"/>']
    assert "Asia/Tokyo" in last(model).system
    assert "Europe/Lisbon" not in last(model).system


async def test_a_zone_that_was_chosen_elsewhere_holds_in_a_private_conversation_that_is_awake(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon") as opened:
        clock = Clock(opened)
        await room.asks("Hello.")
        await room.commands("/timezone America/New_York", chat="2")
        clock.at += 60
        await room.asks("Hello again.")
    assert marks(last(model))[1:] == ['<sent at="Sun 3 May 2026, 16:31 America/New_York, until here Europe/Lisbon"/>']


async def test_in_a_group_the_conversation_s_zone_counts_whoever_talks(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon", admins="room:ada") as opened:
        clock = Clock(opened)
        for person, text in (
            ("bob", "/timezone Asia/Tokyo"),
            ("bob", "/timezone chat Asia/Tokyo"),
            ("ada", "/timezone chat Europe/Paris"),
        ):
            before = len(room.notices("group"))
            await room.says(text, person=person, speaker=person.title(), chat="group")
            await room.until(lambda before=before: len(room.notices("group")) > before)  # type: ignore[misc]
        for person in ("bob", "ada"):
            before = len(room.replies("group"))
            await room.says(f"I am {person}.", person=person, speaker=person.title(), chat="group")
            await room.until(lambda before=before: len(room.replies("group")) > before)  # type: ignore[misc]
            clock.at += 60
    assert marks(last(model)) == ['<sent at="Sun 3 May 2026, 22:30"/>', '<sent at="22:31"/>']


async def test_what_was_held_up_for_hours_says_when_it_was_sent(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon") as opened:
        clock = Clock(opened)
        await room.says("Meet me at five.", key="message:1:7", sent_at=datetime.fromtimestamp(EVENING - 6 * HOUR, UTC))
        await room.until(room.replies)
        clock.at += 60
        edited = datetime.fromtimestamp(EVENING - 2 * HOUR, UTC)
        await room.says("Meet me at six.", key="edit:1:7:1", edits="message:1:7", sent_at=edited)
        await room.until(lambda: len(room.replies()) == 2)
    assert marks(last(model)) == ['<sent at="Sun 3 May 2026, 15:30"/>', '<sent at="19:30, 4 hours later"/>']


async def test_a_mark_is_nobody_s_word(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(timezone="Asia/Tokyo") as opened:
        Clock(opened)
        await room.asks("My dog is Rex.")
        (said, _) = (await opened.history()).entries
        assert [block["text"] for block in said.blocks] == ["My dog is Rex."]
        assert said.said is not None
        assert said.said.kept == "2026-05-04T05:30:00+09:00[Asia/Tokyo]"
        assert await room.commands("/recall 1") == "#1 (2026-05-04 05:30, a person): My dog is Rex."
        assert "nothing about 'sent'" in await room.commands("/recall sent")
    assert marks(last(model)) == ['<sent at="Mon 4 May 2026, 05:30"/>']


async def test_it_can_be_switched_off_and_what_was_written_with_a_mark_keeps_it(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon") as opened:
        clock = Clock(opened)
        await room.asks("One.")
        before = sent(last(model))
    async with house(timezone="Europe/Lisbon", agents={"tell_time": False}) as opened:
        Clock(opened, clock.at + HOUR)
        await room.asks("Two.")
    assert marks(last(model)) == ['<sent at="Sun 3 May 2026, 21:30"/>']
    is_chat = last(model).wire == "chat"  # whose system prompt is the first message
    assert sent(last(model))[is_chat:][: len(before) - is_chat] == before[is_chat:]
    assert "Europe/Lisbon" not in last(model).system


async def test_a_compaction_says_on_which_days_that_was_said_which_it_hides(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(timezone="Europe/Lisbon", agents={"compact_ahead": False}) as opened:
        clock = Clock(opened)
        for text in ("My dog is Rex.", "My cat is Tom.", "My bird is Kim."):
            await room.asks(f"{text} {STORY}")
            clock.at += 24 * HOUR
        asked = len(model.requests)
        await room.says("/compact")
        await room.until(lambda: any("Compacted" in notice for notice in room.notices()))
        assert '<sent at="Mon 4 May 2026, 21:30, 24 hours later"/>' in model.requests[asked].request.all_text
        await room.asks("And now?")
    assert ", said from Sun 3 May 2026 to Mon 4 May 2026; recall finds" in last(model).all_text
    assert marks(last(model)) == [
        '<sent at="Tue 5 May 2026, 21:30"/>',
        '<sent at="Wed 6 May 2026, 21:30, 24 hours later"/>',
    ]
