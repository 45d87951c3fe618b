"""MCP servers in a conversation: a model is offered their tools, and none of them stops a turn."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.agent.tools.tool import INTERRUPTED
from bot.runtime.settings import Settings
from tests.conftest import MakeSettings
from tests.house import PATIENCE, Room, open_house
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest, Reply, ToolCall
from tests.unit.mcp_servers import program, started, until, write

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
_MOMENT = re.compile(r'"datetime": "([^"]+)"')
Settle = Callable[..., Settings]


@pytest.fixture
def mcp(settings: MakeSettings, model: MessagesServer) -> Settle:
    """Settings of a program with these MCP servers."""

    def make(servers: Mapping[str, Any]) -> Settings:
        model.window = 40_000
        made = settings(agents={"emergency_context_limit": 40_000}, rate={"person": 0, "chat": 0})
        made.data_dir.mkdir(parents=True, exist_ok=True)
        write(made.data_dir / "mcp.json", servers)
        return made

    return make


async def shows(room: Room, text: str) -> str:
    """Ask for the status until this stands in it."""
    answer, until = "", time.monotonic() + PATIENCE
    while time.monotonic() < until:
        answer = await last_notice(room, "/status")
        if text in answer:
            return answer
        await asyncio.sleep(0.05)  # a server that starts needs the processor more than who asks
    raise AssertionError(f"{text!r} never stood in {answer!r}")


async def last_notice(room: Room, command: str) -> str:
    before = len(room.notices())
    await room.says(command)
    await room.until(lambda: len(room.notices()) > before)
    return room.notices()[before]


def offered(request: MessagesRequest) -> list[str]:
    return [tool["name"] for tool in request.tools]


def knows_no_time(request: MessagesRequest) -> Reply:
    """A model that can only read the clock through a tool."""
    if found := _MOMENT.search(request.all_text):
        return Reply(f"In Tokyo it is {found[1]}.")
    if "time__get_current_time" in offered(request):
        return Reply("", [ToolCall("time__get_current_time", {"timezone": "Asia/Tokyo"})])
    return Reply("I have no clock.")


async def test_a_server_from_the_package_index_answers_a_question(
    mcp: Settle, room: Room, model: MessagesServer
) -> None:
    model.brain = knows_no_time
    async with open_house(mcp({"time": TIME}), room):
        status = await shows(room, "MCP server time: connected, 2 tools")
        assert "Model:" in status
        reply = await room.asks("What time is it in Tokyo?")
    moment = datetime.fromisoformat(reply.removeprefix("In Tokyo it is ").removesuffix("."))
    assert moment.utcoffset() is not None
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


async def test_a_conversation_goes_on_without_a_server_that_does_not_start(
    mcp: Settle, room: Room, model: MessagesServer
) -> None:
    model.brain = knows_no_time
    async with open_house(mcp({"time": {"command": "no-such-program"}, "slow": program("--silent")}), room):
        assert await room.asks("What time is it in Tokyo?") == "I have no clock."
        status = await shows(room, "MCP server time: failed: the command no-such-program is not found")
        assert "MCP server slow: starting" in status


async def test_a_crash_in_mid_call_is_a_result_that_the_model_reads(
    mcp: Settle, room: Room, model: MessagesServer
) -> None:
    def crashes_it(request: MessagesRequest) -> Reply:
        if "may have run" in request.all_text:
            return Reply("The box broke.")
        return Reply("", [ToolCall("box__crash")]) if "box__crash" in offered(request) else Reply("no box")

    model.brain = crashes_it
    async with open_house(mcp({"box": program()}), room):
        await shows(room, "MCP server box: connected")
        assert await room.asks("open it") == "The box broke."


async def test_tools_that_change_within_a_turn_are_new_in_the_next(
    mcp: Settle, room: Room, model: MessagesServer
) -> None:
    def changes_them(request: MessagesRequest) -> Reply:
        results = request.all_text.count("changed") + request.all_text.count("any more")
        if "again" in request.last_user_text:
            return Reply("done again")
        calls = [ToolCall("box__change"), ToolCall("box__echo", {"text": "a"})]
        return Reply("", [calls[results]]) if results < len(calls) else Reply("done")

    model.brain = changes_them
    async with open_house(mcp({"box": program()}), room):
        status = await shows(room, "MCP server box: connected")
        count = int(status.split("MCP server box: connected, ")[1].split()[0])
        before = len(model.requests)
        assert await room.asks("change them") == "done"
        within = [offered(record.request) for record in model.requests[before:]]
        assert all(names == within[0] for names in within)
        assert "box__echo" in within[0]
        await shows(room, f"MCP server box: connected, {count - 1} tools")
        assert await room.asks("again") == "done again"
        last = offered(model.requests[-1].request)
        assert "box__late" in last
        assert "box__echo" not in last


async def test_definitions_stand_in_one_order(mcp: Settle, room: Room, model: MessagesServer) -> None:
    model.brain = lambda request: Reply("fine")
    async with open_house(mcp({"b": program(allow=["echo", "fail"]), "a": TIME}), room):
        await shows(room, "MCP server a: connected")
        await shows(room, "MCP server b: connected")
        await room.asks("one")
        await room.asks("two")
    tools = [record.request.tools for record in model.requests]
    theirs = [tool["name"] for tool in tools[-1] if "__" in tool["name"]]
    assert theirs == ["a__convert_time", "a__get_current_time", "b__echo", "b__fail"]
    assert tools[-1] == tools[-2]


async def test_the_meter_counts_their_definitions(mcp: Settle, room: Room, model: MessagesServer) -> None:
    model.brain = lambda request: Reply("fine")
    async with open_house(mcp({"box": program(agents=["room-1"])}), room):
        await shows(room, "MCP server box: connected")
        await room.asks("hello")
        await room.asks("hello", chat="2")
        with_them = tool_tokens(await last_notice(room, "/context"))
        assert with_them > tool_tokens(await room.commands("/context", chat="2")) + 200


def tool_tokens(context: str) -> int:
    found = re.search(r"· tools: ([\d,]+)", context)
    return int(found[1].replace(",", "")) if found else 0


@pytest.mark.parametrize("idempotent", [False, True])
async def test_a_call_that_a_crash_cut_off_is_run_again_only_if_it_is_declared_idempotent(
    mcp: Settle, room: Room, model: MessagesServer, tmp_path: Path, *, idempotent: bool
) -> None:
    def hangs_once(request: MessagesRequest) -> Reply:
        if INTERRUPTED in request.all_text:
            return Reply("It was interrupted.")
        if "it is loose" in request.all_text:
            return Reply("It ran again.")
        return Reply("", [ToolCall("box__hang_once", {"text": "it is loose"})])

    model.brain = hangs_once
    starts = tmp_path / "starts"
    entry = program("--starts", str(starts), idempotent=["hang_once"] if idempotent else [])
    made = mcp({"box": entry})
    async with open_house(made, room) as house:
        await shows(room, "MCP server box: connected")
        await room.says("go")
        await until((tmp_path / "starts.hung").exists)
        await house.end()
    async with open_house(made, room):
        await room.until(room.replies)
    assert room.replies() == ["It ran again." if idempotent else "It was interrupted."]
    assert len(started(starts)) == 2


async def test_a_person_stops_a_call_that_hangs(mcp: Settle, room: Room, model: MessagesServer, tmp_path: Path) -> None:
    model.brain = lambda request: Reply("", [ToolCall("box__hang_once", {"text": "a"})])
    async with open_house(mcp({"box": program("--starts", str(tmp_path / "starts"))}), room):
        await shows(room, "MCP server box: connected")
        await room.says("go")
        await until((tmp_path / "starts.hung").exists)
        assert "Stopped" in await last_notice(room, "/abort")


async def test_one_conversation_cannot_use_what_is_for_another(mcp: Settle, room: Room, model: MessagesServer) -> None:
    model.brain = lambda request: Reply(" ".join(name for name in offered(request) if "__" in name) or "none")
    async with open_house(mcp({"box": program(agents=["room-1"], allow=["echo"])}), room):
        await shows(room, "MCP server box: connected")
        assert await room.asks("what have you got?") == "box__echo"
        assert await room.asks("what have you got?", chat="2") == "none"


async def test_json_that_is_broken_costs_the_tools_and_not_the_talk(
    mcp: Settle, room: Room, model: MessagesServer
) -> None:
    model.brain = lambda request: Reply("still here")
    made = mcp({"box": program()})
    (made.data_dir / "mcp.json").write_text("{" + json.dumps({"mcpServers": {}}))
    async with open_house(made, room):
        assert await room.asks("hello") == "still here"
        assert "mcp.json: failed:" in await last_notice(room, "/status")
