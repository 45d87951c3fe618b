"""MCP servers in a test: the misbehaving one as a program, and what its tools give."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from bot.agent.tools.mcp.mcp_tool import McpTool
from bot.agent.tools.mcp.servers import McpServers
from bot.agent.tools.mcp.state import ServerStatus, State
from bot.agent.tools.tool import Occasion, ToolError
from bot.messages import AgentId, Block
from tests.parser import HERE

PROGRAM = Path(__file__).parents[1] / "servers" / "mcp_server.py"
AGENT = AgentId("room-1")
PATIENCE = 60.0


def program(*options: str, **keys: Any) -> dict[str, Any]:
    """An entry of `mcp.json` for the misbehaving server."""
    return {"command": sys.executable, "args": [str(PROGRAM), *options], "timeout": 20, **keys}


def write(path: Path, servers: Mapping[str, Any]) -> Path:
    """An `mcp.json` with these."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"mcpServers": servers}))
    new.replace(path)
    return path


@asynccontextmanager
async def running(
    folder: Path, servers: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> AsyncIterator[McpServers]:
    """These servers, until the end of the block; each was tried once."""
    async with McpServers(write(folder / "mcp.json", servers), environment or {}) as running:
        await running.look()
        await until(lambda: all(found.state is not State.STARTING for found in running.status(AGENT)))
        yield running


async def until(condition: Callable[[], object]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # processes and files have no events
            await asyncio.sleep(0.02)


async def again_connected(servers: McpServers, name: str) -> None:
    """Wait until a server is lost and there again."""
    await until(lambda: status(servers, name).state is State.FAILED)
    await until(lambda: status(servers, name).state is State.CONNECTED)


def status(servers: McpServers, name: str) -> ServerStatus:
    return next(found for found in servers.status(AGENT) if found.name == name)


def tools(servers: McpServers, room: int = 1_000_000) -> dict[str, McpTool]:
    """What is offered, by name."""
    return {tool.name: tool for tool in servers.tools(AGENT, room)}


async def call(tool: McpTool, *, by_admin: bool = False, **arguments: Any) -> str | Sequence[Block]:
    """What a call gives."""
    return await tool.run(arguments, Occasion(Path(), HERE, 8_000, by_admin))


async def refused(tool: McpTool, **arguments: Any) -> str:
    """The sentence that a call ends with."""
    try:
        given = await call(tool, **arguments)
    except ToolError as error:
        return str(error)
    raise AssertionError(f"it was not refused: {given}")


def is_alive(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def started(path: Path) -> list[int]:
    """The processes that a server noted."""
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []
