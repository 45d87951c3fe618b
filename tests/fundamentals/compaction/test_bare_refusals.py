"""A bad request without a word why: an overflow when the context is nearly full, else what it says it is."""

from __future__ import annotations

from typing import Any

from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesServer

LINE = "This is line {}, and it talks about the weather."
"""Shorter than what lies between nearly full and too full: it is not jumped over."""
# Where marks of time would take a tenth of the room, what is said next would be compacted for before it is asked.
SILENT = {
    "compact_ahead": False,
    "tell_time": False,
    "warning": 0.99,
    "critical": 1.0,
    "emergency_context_limit": 1_200,
}


def facts(room: Room) -> dict[str, Any]:
    """What a bottom line shows; it comes a moment after the answer."""
    return room.facts.get("1", {})


async def asks_and_sees(room: Room, line: str) -> None:
    """Return when the bottom line shows how full it is after the answer."""
    before = facts(room).get("total")
    await room.asks(line)
    await room.until(lambda: facts(room).get("total") != before)


async def test_a_bare_400_in_a_full_context_compacts_and_asks_again(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents=SILENT):
        number = 0
        while facts(room).get("share", 0) < 0.91:
            await asks_and_sees(room, LINE.format(number))
            number += 1
        model.fail(400, "invalid_request_error", "", when=lambda request: not request.is_summary)
        assert (await room.asks("hm")).startswith("Noted")
        assert any("Compacted:" in notice for notice in room.notices())


async def test_a_bare_400_in_a_small_context_is_told(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(agents=SILENT):
        model.fail(400, "invalid_request_error", "")
        assert "I cannot answer just now" in await room.asks("hello")
        assert not room.notices()
