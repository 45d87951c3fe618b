"""A conversation is read from the provider's prompt cache: from turn to turn, for summaries, and after compactions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesRequest, MessagesServer, RememberingBrain, Reply, ToolCall
from tests.servers.messages.wire import Usage, tokens_of_content, tokens_of_tools

pytestmark = pytest.mark.one_wire("the cache marks of the Messages API")

PROMPT = "You are a patient librarian, and know where everything is. " * 80
"""Long enough to be cached by itself."""
STORY = "In this chapter the ship sails on, and nobody on board knows where to. " * 12
TURNS = 60


@pytest.fixture
def model(model: MessagesServer) -> MessagesServer:
    model.window = 20_000
    return model


def head_tokens(request: MessagesRequest) -> int:
    return tokens_of_content(request.body["system"]) + tokens_of_tools(request.tools)


async def test_most_of_a_long_conversation_is_read_from_the_cache_compactions_and_their_summaries_included(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(system_prompt=PROMPT):
        for number in range(TURNS):
            await room.asks(f"Chapter {number}. {STORY}")
        await room.until(lambda: not any("Compacting" in notice for notice in room.notices()))
    assert sum(notice.startswith("🗜 Compacted") for notice in room.notices()) >= 2
    assert model.refused == []
    assert model.cache_read_tokens > 0.85 * model.input_tokens_total

    summaries = [record.usage for record in model.requests if record.request.is_summary]
    assert summaries
    assert all(usage.cache_read_input_tokens > 0.9 * usage.prompt_tokens for usage in summaries)

    talk = [record for record in model.requests if not record.request.is_summary]
    compacted = [two for one, two in pairwise(talk) if two.request.tokens < one.request.tokens]
    assert compacted
    for record in compacted:
        assert record.usage.cache_read_input_tokens >= head_tokens(record.request)


async def test_many_tool_calls_at_once_do_not_lose_the_cache(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    def looks_often(request: MessagesRequest) -> Reply:
        if "Look" in request.last_user_text:
            return Reply("", [ToolCall("list_files", {"path": "."})] * 15)
        return RememberingBrain()(request)

    model.brain = looks_often
    async with house(system_prompt=PROMPT):
        await room.asks(f"Hello. {STORY}")
        await room.asks("Look around.")
    before, after = (record.usage for record in model.completed[-2:])
    assert after.cache_read_input_tokens == before.prompt_tokens


async def test_what_a_pause_of_five_minutes_costs_is_one_writing_and_no_more(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    now = 0.0
    model.cache.clock = lambda: now
    async with house(system_prompt=PROMPT):
        await room.asks(f"Hello. {STORY}")
        now += 301
        await room.asks("I am back.")
        await room.asks("Where were we?")
    usages: list[Usage] = [record.usage for record in model.completed]
    assert [usage.cache_read_input_tokens for usage in usages] == [0, 0, usages[1].prompt_tokens]
