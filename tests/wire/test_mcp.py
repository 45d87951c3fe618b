"""The servers of `mcp.json` end with the program, however it ends."""

from __future__ import annotations

import signal
import time
from functools import partial

import pytest

from tests.unit.mcp_servers import is_alive, program, started, until, write
from tests.wire.program import Program, Programs


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGTERM, signal.SIGINT))]
)
async def test_no_server_outlives_the_program(programs: Programs, number: signal.Signals) -> None:
    starts = programs.folder / "starts"
    programs.data.mkdir(parents=True)
    write(programs.data / "mcp.json", {"box": program("--starts", str(starts)), "other": program()})
    served = await programs.serve("agents")
    await served.wait_for(lambda it: len(it.logged("mcp_server_connected")) == 2, 30)
    [pid] = started(starts)
    assert is_alive(pid)
    if number is signal.SIGKILL:
        await served.kill()
    else:
        assert await served.stop(number) == 0
    await until(lambda: not is_alive(pid))


async def test_a_server_that_ignores_every_sign_is_killed(programs: Programs) -> None:
    starts = programs.folder / "starts"
    programs.data.mkdir(parents=True)
    write(programs.data / "mcp.json", {"box": program("--starts", str(starts), "--stubborn", "--with-child")})
    served = await programs.serve("agents")
    await served.wait_for(lambda it: it.logged("mcp_server_connected"), 30)
    began = time.monotonic()
    assert await served.stop() == 0
    assert time.monotonic() - began < 12
    await until(lambda: not any(is_alive(pid) for pid in started(starts)))


async def test_a_chat_has_the_servers_too_and_nothing_of_them_on_its_screen(programs: Programs) -> None:
    programs.data.mkdir(parents=True)
    write(programs.data / "mcp.json", {"box": program()})
    chat = await programs.start("chat")
    assert await chat.asks("hello")
    while not chat.logged("MCP server box: connected"):
        seen = len(chat.logged("MCP server box:"))
        await chat.says("/status")
        await chat.wait_for(partial(_shows_more, seen), 30)
    assert await chat.ends() == 0
    assert not any("Welcome to a server" in line for line in [*chat.out, *chat.err])


def _shows_more(seen: int, chat: Program) -> bool:
    return len(chat.logged("MCP server box:")) > seen
