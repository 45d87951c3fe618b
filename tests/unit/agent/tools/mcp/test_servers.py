"""MCP servers over their pipes: what they give, and what of their misbehaviour reaches a turn."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import uvloop

from bot.agent.tools.mcp.config import read_config
from bot.agent.tools.mcp.connection import Connection
from bot.agent.tools.mcp.servers import McpServers
from bot.agent.tools.mcp.state import State
from bot.agent.tools.toolbox import Toolbox
from bot.messages import AgentId
from tests.parser import HERE
from tests.unit.mcp_servers import (
    AGENT,
    again_connected,
    call,
    is_alive,
    program,
    refused,
    running,
    started,
    status,
    tools,
    until,
    write,
)


async def test_a_tool_gives_what_its_server_answers(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        for text in ("hello", "你好，世界", "привет", "👩‍🚀", ""):
            assert await call(tools(servers)["box__echo"], text=text) == text


def breaks_once() -> type[Connection]:
    """A defect in what keeps the connection, which comes once."""
    defects = [ZeroDivisionError()]

    class Broken(Connection):
        async def run(self) -> None:
            if defects:
                raise defects.pop()
            await super().run()

    return Broken


async def test_a_connection_whose_task_a_defect_has_ended_is_begun_again_when_it_is_used_next(tmp_path: Path) -> None:
    path = write(tmp_path / "mcp.json", {"box": program()})
    async with McpServers(path, {}, connection=breaks_once()) as servers:
        await servers.look()
        await until(lambda: status(servers, "box").state is State.FAILED)
        assert status(servers, "box").reason == "ZeroDivisionError in this program"
        await servers.look()
        await until(lambda: status(servers, "box").state is State.CONNECTED)
        assert await call(tools(servers)["box__echo"], text="hello") == "hello"
        write(path, {})
        await servers.look()
        assert not servers.status(AGENT)


async def test_that_mcp_json_no_longer_names_a_connection_whose_task_has_ended_harms_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "mcp.json", {"box": program()})
    async with McpServers(path, {}, connection=breaks_once()) as servers:
        await servers.look()
        await until(lambda: status(servers, "box").state is State.FAILED)
        write(path, {})
        await servers.look()
        assert not servers.status(AGENT)


async def test_structured_content_is_shown_where_there_is_no_text(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        assert json.loads(str(await call(tools(servers)["box__structured"]))) == {"sum": 5, "名": "值"}


async def test_links_and_resources_are_text(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        text = await call(tools(servers)["box__links"])
    for part in ("https://example.org/a", "a page", "[file:///notes.txt]\nthe notes", "a.bin: application/x, 3 bytes"):
        assert part in text
    assert "[audio: audio/wav, 3 bytes, not shown]" in text


async def test_a_picture_is_kept_in_the_folder_and_a_broken_one_is_a_note(tmp_path: Path) -> None:
    own = tmp_path / "agent"
    own.mkdir()
    async with running(tmp_path, {"box": program()}) as servers:
        box = Toolbox(own, HERE, list(tools(servers).values()))
        done = await box.run({"type": "tool_use", "id": "1", "name": "box__picture", "input": {}})
    [text, picture, note] = done.block["content"]
    assert text == {"type": "text", "text": "Look:"}
    assert (picture["type"], picture["source"]["width"], picture["source"]["height"]) == ("image", 40, 30)
    assert (own / picture["source"]["path"]).read_bytes().startswith(b"\x89PNG")
    assert note["type"] == "text"


async def test_an_error_of_the_tool_is_an_error_for_the_model(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        assert await refused(tools(servers)["box__fail"]) == "the lamp is broken"


async def test_a_result_that_is_none_is_told(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        assert "something that is no result" in await refused(tools(servers)["box__garbage"])
        assert await call(tools(servers)["box__nothing"]) == ""
        assert await call(tools(servers)["box__echo"], text="still here") == "still here"


async def test_what_a_server_asks_of_us_is_declined(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        assert await call(tools(servers)["box__asks_back"]) == "asked"
        assert await call(tools(servers)["box__echo"], text="and on") == "and on"


async def test_half_a_character_does_not_break_the_connection(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        assert await call(tools(servers)["box__echo"], text="a\ud800b") == "a?b"
        assert status(servers, "box").state is State.CONNECTED


async def test_calls_of_one_server_run_beside_each_other(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        echo = tools(servers)["box__echo"]
        texts = [str(number) for number in range(200)]
        assert await asyncio.gather(*(call(echo, text=text) for text in texts)) == texts


async def test_a_crash_in_mid_call_is_told_and_the_server_is_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with running(tmp_path, {"box": program("--starts", str(starts))}) as servers:
        offered = list(tools(servers))
        sentence = await refused(tools(servers)["box__crash"])
        assert "may have run" in sentence
        assert "exit code 3" in sentence
        assert list(tools(servers)) == offered  # the head of the prompt cache stays
        await again_connected(servers, "box")
        assert await call(tools(servers)["box__echo"], text="back") == "back"
    assert len(started(starts)) == 2


async def test_a_crash_is_noticed_though_nobody_calls(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with running(tmp_path, {"box": program("--starts", str(starts))}) as servers:
        [pid] = started(starts)
        os.kill(pid, signal.SIGKILL)
        await again_connected(servers, "box")
        assert status(servers, "box").tools > 1
    assert len(started(starts)) == 2


async def test_a_server_that_is_down_answers_with_a_sentence(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        echo = tools(servers)["box__echo"]
        await refused(tools(servers)["box__crash"])
        await until(lambda: status(servers, "box").state is State.FAILED)
        assert "is not connected now (it ended with exit code 3); try again later." in await refused(echo, text="a")


async def test_a_server_that_hangs_is_given_up_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.agent.tools.mcp.session._LIST_SECONDS", 1.0)
    starts = tmp_path / "starts"
    async with running(tmp_path, {"box": program("--starts", str(starts), timeout=0.5)}) as servers:
        assert "did not answer within 0.5 s" in await refused(tools(servers)["box__hang"])
        await again_connected(servers, "box")
        assert await call(tools(servers)["box__echo"], text="back") == "back"
        assert not is_alive(started(starts)[0])


async def test_a_call_that_nobody_waits_for_any_more_ends_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        waiting = asyncio.create_task(call(tools(servers)["box__hang"]))
        await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert asyncio.get_running_loop().time() - began < 1.0


@pytest.mark.parametrize("tool", ["flood", "endless_line", "chatter"])
async def test_a_flood_ends_the_connection_and_not_the_program(tmp_path: Path, tool: str) -> None:
    async with running(tmp_path, {"box": program(timeout=120)}) as servers:  # what floods may be slow at it
        sentence = await refused(tools(servers)[f"box__{tool}"])
        assert "it sent" in sentence
        await again_connected(servers, "box")
        assert await call(tools(servers)["box__echo"], text="back") == "back"


async def test_a_large_result_is_shown_in_part(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        box = Toolbox(tmp_path, HERE, list(tools(servers).values()))
        done = await box.run({"type": "tool_use", "id": "1", "name": "box__large", "input": {}})
    assert len(str(done.block["content"])) < 50_000
    assert str(done.block["content"]).startswith("the beginning")


async def test_standard_error_goes_to_the_log_in_part_and_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = program(env={"SERVICE_KEY": "${KEY}"})
    async with running(tmp_path, {"box": entry}, {"KEY": "hunter2-hunter2"}) as servers:
        assert await call(tools(servers)["box__shout"]) == "shouted"
    printed = capsys.readouterr()
    lines = [line for line in (printed.out + printed.err).splitlines() if "mcp_server_says" in line]
    assert 0 < len(lines) <= 50
    assert all(len(line) < 700 for line in lines)
    assert any("here I go with [redacted]" in line for line in lines)
    assert "hunter2" not in printed.out + printed.err


async def test_a_server_sees_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ours")
    monkeypatch.setenv("TELEGRAM_TOKEN", "123:ours")
    async with running(tmp_path, {"box": program(env={"ITS_KEY": "${GIVEN}"})}, {"GIVEN": "its own"}) as servers:
        seen = json.loads(str(await call(tools(servers)["box__environment"])))
    assert seen["ITS_KEY"] == "its own"
    of_the_system = {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert set(seen) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "ITS_KEY", *of_the_system}


async def test_tools_that_change_are_offered_later_and_those_gone_say_so(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        before = tools(servers)
        assert await call(before["box__change"]) == "changed"
        await until(lambda: "box__late" in tools(servers))
        assert "box__echo" not in tools(servers)
        assert "does not have the tool 'echo' any more" in await refused(before["box__echo"], text="a")
        assert await call(tools(servers)["box__late"]) == "I am new"


async def test_a_slow_server_keeps_nobody_waiting(tmp_path: Path) -> None:
    entries = {"slow": program("--silent"), "box": program()}
    async with McpServers(write(tmp_path / "mcp.json", entries), {}) as servers:
        async with asyncio.timeout(5):
            await servers.look()
        await until(lambda: status(servers, "box").state is State.CONNECTED)
        assert status(servers, "slow").state is State.STARTING
        assert all(name.startswith("box__") for name in tools(servers))


async def test_a_server_that_dies_of_the_newer_protocol_is_asked_in_the_older_one(tmp_path: Path) -> None:
    async with running(tmp_path, {"old": program("--dies-when-asked-for-the-new-protocol")}) as servers:
        await until(lambda: status(servers, "old").state is State.CONNECTED)
        assert await call(tools(servers)["old__echo"], text="fine") == "fine"


async def test_strange_tools_are_mended_or_left_out(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program("--strange")}) as servers:
        offered = tools(servers)
        assert sorted(offered) == ["box_____with_dots", "box__bare", "box__echo", "box__untyped"]
        assert all(tool.parameters["type"] == "object" for tool in offered.values())
        assert "anyOf" not in offered["box__untyped"].parameters
        assert await call(offered["box__echo"], text="a") == "a"


async def test_a_server_with_thousands_of_tools_is_taken_in_part(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program("--many")}) as servers:
        assert len(tools(servers)) == 100
        assert 0 < len(tools(servers, room=1_000)) < 20
        assert not tools(servers, room=0)


async def test_a_command_that_cannot_be_started_says_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "orphan").write_text("#!/no/such/interpreter\n")
    (tmp_path / "orphan").chmod(0o700)
    entries: dict[str, dict[str, Any]] = {
        "unknown": {"command": "no-such-program"},
        "with words": {"command": "no-such-program -y clock"},
        "gone": {"command": "/no/such/program"},
        "plain": {"command": str(tmp_path / "plain")},
        "plain in its path": {"command": "plain", "env": {"PATH": str(tmp_path)}},
        "folder": {"command": str(tmp_path)},
        "orphan": {"command": "./orphan", "cwd": str(tmp_path)},
        "no cwd": program(cwd="/no/such/folder"),
        "no folder": program(cwd=str(tmp_path / "plain")),
    }
    async with running(tmp_path, entries) as servers:
        assert {name: status(servers, name).reason for name in entries} == {
            "unknown": "the command no-such-program is not found",
            "with words": "the command no-such-program -y clock is not found",
            "gone": "the command /no/such/program is not there",
            "plain": f"the command {tmp_path}/plain is not executable",
            "plain in its path": f"the command {tmp_path}/plain is not executable",
            "folder": f"the command {tmp_path} is a folder",
            "orphan": "the command ./orphan needs an interpreter that is not there",
            "no cwd": "the folder /no/such/folder, its cwd, is not there",
            "no folder": f"the folder {tmp_path}/plain, its cwd, is no folder",
        }


def test_the_reason_is_the_same_in_the_loop_that_the_program_runs_in(tmp_path: Path) -> None:
    """uvloop's errors name no file."""

    async def reason() -> str:
        async with running(tmp_path, {"gone": {"command": "no-such-program"}}) as servers:
            return status(servers, "gone").reason

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(reason()) == "the command no-such-program is not found"


async def test_a_program_that_is_no_server_is_a_reason(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-c", "print('hello')"]}
    async with running(tmp_path, {"box": entry}) as servers:
        assert status(servers, "box").reason == "it ended with exit code 0"


async def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    kept = program("--starts", str(starts))
    async with running(tmp_path, {"kept": kept, "gone": program()}) as servers:
        before = tools(servers)
        write(tmp_path / "mcp.json", {"kept": kept, "new": program()})
        await servers.look()
        await until(lambda: "new__echo" in tools(servers))
        assert "gone__echo" not in tools(servers)
        assert await call(before["kept__echo"], text="a") == "a"
        assert "try again later" in await refused(before["gone__echo"], text="a")
    assert len(started(starts)) == 1


async def test_a_file_that_is_broken_leaves_no_tools_until_it_is_mended(tmp_path: Path) -> None:
    async with running(tmp_path, {"box": program()}) as servers:
        (tmp_path / "mcp.json").write_text('{"mcpServers": {')
        await servers.look()
        assert not tools(servers)
        [wrong] = servers.status(AGENT)
        assert (wrong.name, wrong.state) == ("mcp.json", State.FAILED)
        assert "is no JSON" in wrong.reason
        write(tmp_path / "mcp.json", {"box": program()})
        await servers.look()
        await until(lambda: "box__echo" in tools(servers))


async def test_a_server_may_be_for_some_conversations_or_for_admins(tmp_path: Path) -> None:
    entries = {"some": program(agents=["terminal-*"]), "admins": program(admins_only=True)}
    async with running(tmp_path, entries) as servers:
        assert {name.split("__")[0] for name in tools(servers)} == {"admins"}
        assert [found.name for found in servers.status(AGENT)] == ["admins"]
        await until(lambda: servers.tools(AgentId("terminal-me"), 1_000_000))
        echo = tools(servers)["admins__echo"]
        assert await refused(echo, text="a") == "Only admins may use this tool."
        assert await call(echo, by_admin=True, text="a") == "a"


async def test_only_what_the_file_calls_idempotent_may_be_run_again(tmp_path: Path) -> None:
    entries = {
        "plain": program(),
        "listed": program(idempotent=["echo"], allow=["echo", "fail"]),
        "trusted": program(trust_annotations=True, deny=["fail"]),
    }
    async with running(tmp_path, entries) as servers:
        offered = tools(servers)
    assert not any(tool.idempotent for name, tool in offered.items() if name.startswith("plain__"))
    assert {name: tool.idempotent for name, tool in offered.items() if name.startswith("listed__")} == {
        "listed__echo": True,
        "listed__fail": False,
    }
    assert offered["trusted__echo"].idempotent  # it says that it only reads
    assert "trusted__fail" not in offered


@pytest.mark.parametrize("options", [[], ["--stubborn", "--with-child"]])
async def test_no_process_is_left_behind(tmp_path: Path, options: list[str]) -> None:
    starts = tmp_path / "starts"
    async with running(tmp_path, {"box": program("--starts", str(starts), *options)}):
        assert all(is_alive(pid) for pid in started(starts))
    assert started(starts)
    await until(lambda: not any(is_alive(pid) for pid in started(starts)))


async def test_no_process_is_left_behind_after_an_error(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    with pytest.raises(ZeroDivisionError):
        async with running(tmp_path, {"box": program("--starts", str(starts), "--with-child")}):
            raise ZeroDivisionError
    await until(lambda: not any(is_alive(pid) for pid in started(starts)))


def test_the_file_may_not_be_there(tmp_path: Path) -> None:
    assert not read_config(tmp_path / "mcp.json", {}).servers
