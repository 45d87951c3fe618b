"""What no compaction can help with is named, once, and the conversation goes on. FEATURES P6."""

from __future__ import annotations

import pytest

from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages import MessagesServer

LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."


async def test_a_system_prompt_that_fills_the_window_is_named_with_the_setting_to_change(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(system_prompt="Be careful. " * 2_000):
        told = await room.asks("Hello.")
        assert "The system prompt and the tools alone take about " in told
        assert "SYSTEM_PROMPT" in told
        assert "AGENTS__EMERGENCY_CONTEXT_LIMIT" in told
    assert model.requests == [], "it is not even tried"
    async with house():
        assert (await room.asks("Are you there?")).startswith("Noted (")


@pytest.mark.parametrize("text", ["word " * 4_000, "字" * 4_000, "🙂" * 4_000], ids=["English", "Chinese", "emoji"])
async def test_a_message_that_fills_the_window_is_named_and_the_next_one_is_answered(
    house: OpenHouse, room: Room, model: MessagesServer, text: str
) -> None:
    async with house():
        await room.asks(LINE.format(1))
        assert "Your message alone is too large for the model: about " in await room.asks(text)
        assert (await room.asks(LINE.format(2))).startswith("Noted (")
    assert len(model.requests) <= 4, "no loop"
    assert model.refused == []
