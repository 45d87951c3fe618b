"""The MCP servers of a process, one connection each, as tools of its agents (FEATURES S10).

They are started in the background, and a tool whose server was not there yet is not offered. `mcp.json` is looked at
when a turn begins, and read again when it has changed; within a turn nothing changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from bot.agent.tools.mcp.config import McpConfig, ServerConfig, config_path, read_config
from bot.agent.tools.mcp.connection import Connection
from bot.agent.tools.mcp.mcp_tool import McpTool
from bot.agent.tools.mcp.state import ServerStatus, State
from bot.agent.tools.mcp.tools import unique_names
from bot.errors import ConfigurationError
from bot.messages import AgentId
from bot.runtime.settings import Settings, variables
from bot.runtime.tasks import stop, told_of

log = structlog.get_logger(__name__)

_SETTLE_SECONDS = 10.0
"""A turn that goes on after a crash waits so long for the server of a call that may be run again."""
_END_SECONDS = 6.0
"""For all servers to end; each is killed before."""


class McpServers:
    """All of them. ``required``: the file was named, so it has to be there. ``connection``: makes one."""

    def __init__(
        self,
        path: Path,
        environment: Mapping[str, str],
        *,
        required: bool = False,
        connection: Callable[[ServerConfig], Connection] = Connection,
    ) -> None:
        self._path = path
        self._environment = environment
        self._required = required
        self._connection = connection
        self._seen: object = _NEVER
        self._looking = asyncio.Lock()
        self._connections: dict[str, Connection] = {}
        self._first_looks: list[asyncio.Task[None]] = []
        """What starts them in the background, so that nobody waits for it."""
        self._tasks: dict[Connection, asyncio.Task[None]] = {}
        self._problems: Mapping[str, str] = {}
        self._left_out: frozenset[str] = frozenset()

    async def __aenter__(self) -> Self:
        self._first_looks.append(told_of(asyncio.create_task(self.look()), "mcp"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Every server ends, however this process does."""
        await stop(*self._first_looks)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=_END_SECONDS)
        finally:
            await stop(*tasks)

    async def look(self, waited_for: Collection[str] = ()) -> None:
        """Take over what `mcp.json` says now. ``waited_for``: names of tools whose servers are waited for a moment."""
        async with self._looking:
            seen = await asyncio.to_thread(_stamp, self._path)
            if seen != self._seen:
                self._apply(await self._read())
                self._seen = seen
            for connection in self._connections.values():
                if connection not in self._tasks:
                    self._begin(connection)
        await self._settled(waited_for)

    async def _read(self) -> McpConfig:
        try:
            return await asyncio.to_thread(read_config, self._path, self._environment, required=self._required)
        except ConfigurationError as error:
            return McpConfig(problems={self._path.name: str(error)})  # and no servers

    def _apply(self, config: McpConfig) -> None:
        for name, problem in config.problems.items():
            log.error("mcp_server_wrong", server=name, reason=problem)
        self._problems = config.problems
        for name, connection in list(self._connections.items()):
            if config.servers.get(name) != connection.config:
                del self._connections[name]
                if task := self._tasks.get(connection):
                    task.cancel()  # it stays ours until it has ended
        new = [name for name in config.servers if name not in self._connections]
        self._connections |= {name: self._connection(config.servers[name]) for name in new}

    def _begin(self, connection: Connection) -> None:
        """Also once more: a defect that ended its task need not come again."""
        task = self._tasks[connection] = told_of(asyncio.create_task(connection.run()), "mcp")
        task.add_done_callback(partial(self._ended, connection))

    def _ended(self, connection: Connection, task: asyncio.Task[None]) -> None:
        self._tasks.pop(connection, None)
        if not task.cancelled() and (error := task.exception()):
            connection.broke(error)

    async def _settled(self, names: Collection[str]) -> None:
        wanted = {
            connection
            for connection in self._connections.values()
            for tool in connection.config.idempotent
            if unique_names([(connection.config.name, tool)])[connection.config.name, tool] in names
        }
        waiting = [asyncio.create_task(connection.settled.wait()) for connection in wanted]
        if waiting:
            await asyncio.wait(waiting, timeout=_SETTLE_SECONDS)
            await stop(*waiting)

    def tools(self, agent_id: AgentId, most_characters: int) -> tuple[McpTool, ...]:
        """What this conversation is offered, by name; definitions of so many characters in all."""
        pairs = {
            (connection.config.name, offer.name): (connection, offer)
            for connection in self._connections.values()
            for offer in connection.offers
            if connection.config.serves(agent_id) and connection.config.offers(offer.name)
        }
        tools = [McpTool.of(name, *pairs[pair]) for pair, name in unique_names(pairs).items()]
        kept: list[McpTool] = []
        for tool in sorted(tools, key=lambda tool: tool.name):
            most_characters -= tool.characters
            if most_characters >= 0:
                kept.append(tool)
        self._tell_left_out(frozenset(tool.name for tool in tools) - {tool.name for tool in kept})
        return tuple(kept)

    def _tell_left_out(self, names: frozenset[str]) -> None:
        if names - self._left_out:
            log.warning("mcp_tools_left_out", reason="they would fill the context", tools=sorted(names))
        self._left_out |= names

    def status(self, agent_id: AgentId | None = None) -> tuple[ServerStatus, ...]:
        """How it stands with each server (that this conversation may use), by name."""
        wrong = [ServerStatus(name, State.FAILED, reason=problem) for name, problem in self._problems.items()]
        others = [c.status for c in self._connections.values() if agent_id is None or c.config.serves(agent_id)]
        return tuple(sorted([*wrong, *others], key=lambda status: status.name))


_NEVER = object()


def servers_of(settings: Settings) -> McpServers:
    """The servers that the settings name; nothing is started yet."""
    path = config_path(settings.data_dir, settings.mcp_config)
    return McpServers(path, variables(), required=settings.mcp_config is not None)


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Changes when the file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
