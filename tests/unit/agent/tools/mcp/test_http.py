"""MCP servers over HTTP, on loopback."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp.client.session import DISCOVER_TIMEOUT_SECONDS

from bot.agent.tools.mcp.state import State
from tests.unit.mcp_servers import PROGRAM, call, refused, running, status, tools, until

SDK_PROGRAM = PROGRAM.with_name("mcp_sdk_server.py")


@asynccontextmanager
async def serving(port: int, *options: str) -> AsyncIterator[str]:
    """The misbehaving server, until the end of the block; gives its URL."""
    async with _serving(f"http://127.0.0.1:{port}/mcp", str(PROGRAM), "--http", str(port), *options) as url:
        yield url


@asynccontextmanager
async def _serving(url: str, *command: str) -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(sys.executable, *command)
    try:
        await _answers(url)
        yield url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _answers(url: str) -> None:
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        while True:
            try:
                async with session.get(f"{url}/nowhere"):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)


async def test_a_server_behind_a_url_is_used_with_its_headers(free_port: int, tmp_path: Path) -> None:
    async with serving(free_port, "--wants-key", "hunter2-hunter2") as url:
        entries = {
            "box": {"url": url, "headers": {"Authorization": "Bearer ${BOX_KEY}"}},
            "shut": {"type": "http", "url": url},
        }
        async with running(tmp_path, entries, {"BOX_KEY": "hunter2-hunter2"}) as servers:
            assert await call(tools(servers)["box__echo"], text="你好") == "你好"
            assert status(servers, "shut").state is State.FAILED


async def test_a_server_that_is_not_there_is_a_reason_and_is_found_later(free_port: int, tmp_path: Path) -> None:
    async with running(tmp_path, {"box": {"url": f"http://127.0.0.1:{free_port}/mcp"}}) as servers:
        assert "it cannot be reached" in status(servers, "box").reason
        async with serving(free_port):
            await until(lambda: status(servers, "box").state is State.CONNECTED)
            assert await call(tools(servers)["box__echo"], text="a") == "a"


async def test_a_server_that_dies_in_mid_call_is_told_and_found_again(free_port: int, tmp_path: Path) -> None:
    async with serving(free_port) as url, running(tmp_path, {"box": {"url": url}}) as servers:
        assert "may have run" in await refused(tools(servers)["box__crash"])
        await until(lambda: status(servers, "box").state is State.FAILED)
        async with serving(free_port):
            await until(lambda: status(servers, "box").state is State.CONNECTED)
            assert await call(tools(servers)["box__echo"], text="back") == "back"


async def test_a_flood_is_bounded_while_it_is_read(free_port: int, tmp_path: Path) -> None:
    async with serving(free_port) as url, running(tmp_path, {"box": {"url": url}}) as servers:
        assert "more than 10,000,000 bytes" in await refused(tools(servers)["box__flood"])
        await until(lambda: status(servers, "box").state is State.CONNECTED)
        assert await call(tools(servers)["box__echo"], text="on") == "on"


async def test_a_hang_is_given_up(free_port: int, tmp_path: Path) -> None:
    async with serving(free_port) as url, running(tmp_path, {"box": {"url": url, "timeout": 0.5}}) as servers:
        assert "did not answer within 0.5 s" in await refused(tools(servers)["box__hang"])
        assert await call(tools(servers)["box__echo"], text="on") == "on"  # it still answers others


@pytest.mark.parametrize("transport", ["stdio", "streamable-http", "sse"])
async def test_a_server_made_with_the_sdk_is_used_over_each_transport(
    free_port: int, tmp_path: Path, transport: str
) -> None:
    async with _of_the_sdk(transport, free_port) as entry, running(tmp_path, {"box": entry}) as servers:
        assert sorted(tools(servers)) == ["box__greet", "box__grow"]
        assert await call(tools(servers)["box__greet"], name="Ада") == "Hello, Ада!"
        assert "Error executing tool greet" in await refused(tools(servers)["box__greet"])


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_server_of_the_newest_protocol_is_listened_to_for_changes(
    free_port: int, tmp_path: Path, transport: str
) -> None:
    async with _of_the_sdk(transport, free_port) as entry, running(tmp_path, {"box": entry}) as servers:
        assert await call(tools(servers)["box__grow"]) == "grown"
        await until(lambda: "box__shrink" in tools(servers))
        assert await call(tools(servers)["box__shrink"]) == "small"


async def test_what_changed_before_a_server_was_listened_to_is_found(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": [str(SDK_PROGRAM), "stdio", "early"]}
    async with running(tmp_path, {"box": entry}) as servers:
        await until(lambda: "box__shrink" in tools(servers))


@pytest.mark.rest
async def test_a_server_of_the_newest_protocol_may_be_slow_to_start(tmp_path: Path) -> None:
    sleeps = f"{DISCOVER_TIMEOUT_SECONDS + 1}"
    entry = {"command": sys.executable, "args": [str(SDK_PROGRAM), "stdio", sleeps]}
    async with running(tmp_path, {"box": entry}) as servers:
        assert await call(tools(servers)["box__greet"], name="Ада") == "Hello, Ада!"


@asynccontextmanager
async def _of_the_sdk(transport: str, port: int) -> AsyncIterator[dict[str, Any]]:
    """An entry of `mcp.json`."""
    if transport == "stdio":
        yield {"command": sys.executable, "args": [str(SDK_PROGRAM), "stdio"]}
        return
    path = "mcp" if transport == "streamable-http" else "sse"
    async with _serving(f"http://127.0.0.1:{port}/{path}", str(SDK_PROGRAM), transport, str(port)) as url:
        yield {"url": url, "type": transport}
