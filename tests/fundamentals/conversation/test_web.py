"""Web search and fetch, which the provider runs: kept as they came, gone on with when it pauses, shown with sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import select

from bot.store.schema import turns
from tests.conftest import OpenHouse
from tests.fundamentals.conversation.test_tools import results
from tests.house import Room
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.server_tools import call, cited, fetched, found
from tests.servers.messages.wire import MessagesRequest, Refused, Reply, ToolCall

pytestmark = pytest.mark.one_wire("tools that Anthropic runs itself")

PAGE = ("About Rex", "https://dogs.example/rex", "The dog is Rex.")


def searches(*, pauses: int = 0) -> Callable[[MessagesRequest], Reply]:
    """A model whose provider searches, in as many pieces."""

    def brain(request: MessagesRequest) -> Reply:
        blocks: Sequence[dict[str, Any]] = request.messages[-1]["content"]
        begun = sum(block["type"] == "server_tool_use" for block in blocks)
        if request.messages[-1]["role"] == "assistant" and begun < pauses + 1:
            goes_on = [found(begun, PAGE), call("web_search", begun + 1, query="more")]
            return Reply(blocks=goes_on, stop_reason="pause_turn")
        if request.messages[-1]["role"] == "assistant":
            return Reply(blocks=[found(begun, PAGE), *ANSWER])
        if pauses:
            begin = [{"type": "text", "text": "I look."}, call("web_search", 1, query="dog")]
            return Reply(blocks=begin, stop_reason="pause_turn")
        return Reply(blocks=[call("web_search", 1, query="dog"), found(1, PAGE), *ANSWER])

    return brain


ANSWER = [cited("It is Rex", "About Rex", "https://dogs.example/rex", "The dog is Rex."), {"type": "text", "text": "."}]
SHOWN = "It is Rex.\n\nSources:\n- [About Rex](<https://dogs.example/rex>)"


async def test_what_the_provider_searched_is_kept_and_goes_back_as_it_came(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = searches()
    async with house(tools={"web": "both"}):
        assert await room.asks("who is the dog?") == SHOWN
        model.brain = lambda request: Reply("Yes.")
        assert await room.asks("sure?") == "Yes."
    assert [tool["name"] for tool in model.requests[-1].request.tools][-2:] == ["web_search", "web_fetch"]
    assert model.requests[-1].request.messages[1]["content"] == [
        call("web_search", 1, query="dog"),
        found(1, PAGE),
        *ANSWER,
    ]
    assert model.refused == []


async def test_a_search_that_the_provider_pauses_is_gone_on_with(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = searches(pauses=2)
    async with house(tools={"web": "search"}) as opened:
        assert await room.asks("who is the dog?") == f"I look.\n\n{SHOWN}"
        model.brain = lambda request: Reply("Yes.")
        await room.asks("sure?")
        async with opened.resources.database.read() as tx:
            used = [row[0] for row in await tx.execute(select(turns.c.usage).order_by(turns.c.started_at))]
    assert [(usage["searches"], usage["fetches"]) for usage in used] == [(3, 0), (0, 0)]
    assert [message["role"] for message in model.requests[-1].request.messages] == ["user", "assistant", "user"]
    assert model.refused == []


async def test_a_search_that_the_provider_does_not_go_on_with_is_given_up(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    def brain(request: MessagesRequest) -> Reply:
        if request.messages[-1]["role"] == "assistant":
            problem = "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding block"
            raise Refused(problem)
        if len(request.messages) > 1:
            return Reply("I do not know.")
        return Reply(blocks=[call("web_search", 1, query="dog")], stop_reason="pause_turn")

    model.brain = brain
    async with house(tools={"web": "search"}):
        assert await room.asks("who is the dog?") == "I do not know."


async def test_a_conversation_that_has_searched_goes_on_without_the_tool(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.brain = searches()
    async with house(tools={"web": "search"}):
        await room.asks("who is the dog?")
    model.brain = lambda request: Reply("Yes.")
    async with house():
        assert await room.asks("sure?") == "Yes."
    assert "https://dogs.example/rex" in model.requests[-1].request.all_text
    assert model.refused == []


async def test_a_search_beside_a_tool_of_ours_waits_for_its_result(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    def brain(request: MessagesRequest) -> Reply:
        if results(request):
            return Reply(blocks=[found(1, PAGE), *ANSWER])
        return Reply(blocks=[call("web_search", 1, query="dog")], tool_calls=[ToolCall("list_files")])

    model.brain = brain
    async with house(tools={"web": "search"}):
        assert await room.asks("who is the dog?") == SHOWN
        model.brain = lambda request: Reply("Yes.")
        await room.asks("sure?")
    assert model.refused == []


async def test_a_conversation_full_of_pages_from_the_web_is_compacted(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    pages = {"type": "text", "text": "Read."}
    model.brain = lambda request: (
        Reply("## Where it stands\nLatest request: read on. The dog is Rex, of https://dogs.example/rex.")
        if request.is_summary
        else Reply(
            blocks=[
                call("web_fetch", request.index, url=f"https://dogs.example/{request.index}"),
                fetched(request.index, f"https://dogs.example/{request.index}", "The dog is Rex. " * 60),
                pages,
            ]
        )
    )
    async with house(tools={"web": "fetch"}):
        for number in range(8):
            await room.asks(f"read page {number}")
        await room.until(lambda: any("Compacted" in notice for notice in room.notices()))
    assert model.refused == []
