"""One session with one MCP server, as long as it lasts. Foreign errors end here: ``Lost`` says why it is over, a
``ToolError`` what became of a call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import structlog
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

import bot
from bot.agent.tools.mcp.config import ServerConfig
from bot.agent.tools.mcp.http import http_streams
from bot.agent.tools.mcp.state import Lost
from bot.agent.tools.mcp.stdio import ChildServer
from bot.agent.tools.mcp.tools import MOST_TOOLS, Offer
from bot.agent.tools.mcp.wire import MendingDispatcher
from bot.agent.tools.tool import ToolError
from bot.runtime.redact import redact
from bot.runtime.tasks import stop

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 60.0
"""What a server may take to start; some are downloaded first."""
_LIST_SECONDS = 20.0
_LISTEN_AGAIN_SECONDS = 60.0
_MOST_PAGES = 50
_LONGEST_REASON = 300


class _News:
    """What a server says by itself, and what was wrong with what it listed."""

    def __init__(self) -> None:
        self.has_come = asyncio.Event()
        self.left_out: list[str] = []

    async def receive(self, message: IncomingMessage) -> None:
        """The server says something."""
        if isinstance(message, ToolListChangedNotification):
            self.has_come.set()

    def leave_out(self, problems: Sequence[str]) -> None:
        """A page of a listing had such tools."""
        self.left_out += problems


class Session:
    """A server that is connected, by the SDK's ``session`` with it."""

    def __init__(self, config: ServerConfig, child: ChildServer | None, session: ClientSession, news: _News) -> None:
        self._config = config
        self._child = child
        self._session = session
        self._news = news
        self._calls: set[asyncio.Task[CallToolResult]] = set()
        self.news = news.has_come
        """Set when its tools may have changed, or the connection may be over."""

    @property
    def left_out(self) -> Sequence[str]:
        """A sentence for each tool of the last listing that cannot be offered."""
        return tuple(self._news.left_out)

    async def offers(self) -> tuple[Offer, ...]:
        """Its tools by name. Raises what :func:`connected` makes a Lost of."""
        self._news.left_out.clear()
        offers: dict[str, Offer] = {}
        with anyio.fail_after(_LIST_SECONDS):
            async for tool in self._tools():
                offers.setdefault(tool.name, _offer(tool))
        return tuple(offers[name] for name in sorted(offers))

    async def _tools(self) -> AsyncIterator[Tool]:
        cursor: str | None = None
        found = 0
        for _ in range(_MOST_PAGES):
            try:
                page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return  # it has none
                raise
            for tool in page.tools[: MOST_TOOLS - found]:
                yield tool
            found += len(page.tools)
            cursor = page.next_cursor
            if not cursor:
                return
            if found >= MOST_TOOLS:
                break
        self._news.left_out.append(f"the tools after the first {found:,}")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """What the tool gives. Raises ToolError with a sentence for the model."""
        call = asyncio.create_task(self._session.call_tool(tool, _sendable(arguments)))
        self._calls.add(call)
        call.add_done_callback(self._forget)
        try:
            await asyncio.wait({call}, timeout=self._config.timeout)
        finally:
            answered = call.done()
            call.cancel()  # tells the server; nobody waits for that
        if not answered:
            self.news.set()
            seconds = f"{self._config.timeout:g} s"
            raise ToolError(f"The server {self._config.name} did not answer within {seconds}; the tool may have run.")
        return self._result(call)

    def _result(self, call: asyncio.Task[CallToolResult]) -> CallToolResult:
        name = self._config.name
        if call.cancelled():  # by the end of the connection, and not by who waits for it
            raise self._lost("it was closed")
        try:
            return call.result()
        except MCPError as error:
            self.news.set()
            if error.code == CONNECTION_CLOSED:
                raise self._lost(error.message) from error
            raise ToolError(f"The server {name} refuses: {self._clean(error.message)}") from error
        except ValidationError as error:
            raise ToolError(f"The server {name} answered with something that is no result.") from error
        except (RuntimeError, ValueError, OSError, *_CLOSED) as error:
            self.news.set()
            raise ToolError(f"The server {name} could not be asked: {self._clean(str(error))}") from error

    def _lost(self, reason: str) -> ToolError:
        reason = _why_it_ended(self._config, self._child, reason)
        return ToolError(
            f"The connection to the server {self._config.name} was lost ({reason}); the tool may have run."
        )

    def _forget(self, call: asyncio.Task[CallToolResult]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # asked for, so that asyncio does not complain that nobody did

    async def subscribe(self) -> None:
        """Newer servers say that their tools have changed only to who listens."""
        while True:
            try:
                async with listen(self._session, tools_list_changed=True) as changes:
                    self.news.set()  # what changed before it was listened to was not told
                    async for _ in changes:
                        self.news.set()
            except MCPError as error:
                if error.code in (METHOD_NOT_FOUND, CONNECTION_CLOSED):
                    return
            except SubscriptionLost:
                pass
            await anyio.sleep(_LISTEN_AGAIN_SECONDS)
            self.news.set()  # what changed meanwhile was not told

    async def begin(self, *, legacy: bool) -> None:
        """Agree on a version of the protocol: the newer way is tried first, unless it is known not to work."""
        was_slow = False
        if not legacy:
            try:
                await self._session.discover()
                return
            except MCPError as error:
                if error.code == CONNECTION_CLOSED:
                    raise
                was_slow = error.code == REQUEST_TIMEOUT
            except (RuntimeError, ValidationError):
                pass
        try:
            await self._session.initialize()
        except MCPError as error:
            if not was_slow or error.code == CONNECTION_CLOSED:
                raise
            await self._session.discover()  # it was only slow to start, and has taken the first question meanwhile

    @property
    def tells_changes(self) -> bool:
        """Whether it wants to be listened to for changes of its tools."""
        tools = self._session.server_capabilities.tools if self._session.server_capabilities else None
        return bool(tools and tools.list_changed) and self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def end(self) -> None:
        """No call outlives it."""
        await stop(*self._calls)

    def _clean(self, text: str) -> str:
        return _clean(self._config, text)


@asynccontextmanager
async def connected(config: ServerConfig, *, legacy: bool = False) -> AsyncIterator[Session]:
    """A session until the end of the block. Raises Lost when it cannot begin, and when the block ends by an error."""
    child = ChildServer(config) if config.transport == "stdio" else None
    news = _News()
    try:
        async with child.streams() if child else http_streams(config) as (incoming, outgoing):
            inner: JSONRPCDispatcher[Any] = JSONRPCDispatcher(incoming, outgoing)
            dispatcher = MendingDispatcher(inner, news.leave_out, news.has_come.set)
            info = Implementation(name="palimpsest", version=bot.__version__)
            async with (
                ClientSession(dispatcher=dispatcher, message_handler=news.receive, client_info=info) as theirs,
                anyio.create_task_group() as tasks,
            ):
                ours = Session(config, child, theirs, news)
                with anyio.fail_after(CONNECT_SECONDS):
                    await ours.begin(legacy=legacy or config.transport == "sse")
                if ours.tells_changes:
                    tasks.start_soon(ours.subscribe)
                try:
                    yield ours
                finally:
                    await ours.end()
                    tasks.cancel_scope.cancel()
    except (ExceptionGroup, *_FOREIGN) as error:
        hint = next((one.hint for one in _flat(error) if isinstance(one, Lost)), "")
        raise Lost(
            _why_it_ended(config, child, _reason(error)),
            child.last_words if child else "",
            redact(hint, config.secrets),
        ) from error


_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)
_FOREIGN = (
    *(MCPError, ValidationError, httpx2.HTTPError, httpx2.InvalidURL),
    *(RuntimeError, ValueError, OSError, Lost, *_CLOSED),
)


def _why_it_ended(config: ServerConfig, child: ChildServer | None, reason: str) -> str:
    """What the child says of its own end; else this reason."""
    return _clean(config, (child.ended if child else "") or reason)


def _clean(config: ServerConfig, text: str) -> str:
    return redact(text, config.secrets)[:_LONGEST_REASON].strip().rstrip(".")


def _sendable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Half a character, which models can write in JSON, would break the connection."""
    text = json.dumps(dict(arguments), ensure_ascii=False).encode(errors="replace")
    sendable: dict[str, Any] = json.loads(text)
    return sendable


def _offer(tool: Tool) -> Offer:
    hints = tool.annotations
    harmless = bool(hints and (hints.read_only_hint or hints.idempotent_hint))
    return Offer(tool.name, tool.description or "", tool.input_schema, harmless)


def _reason(error: BaseException) -> str:
    errors = list(_flat(error))
    found = next((e for e in errors if not isinstance(e, MCPError)), errors[0])
    if isinstance(found, TimeoutError):
        return "it does not answer"
    if isinstance(found, httpx2.HTTPStatusError):
        return f"it answers with status {found.response.status_code}"
    if isinstance(found, httpx2.HTTPError | httpx2.InvalidURL):
        return f"it cannot be reached: {str(found) or type(found).__name__}"
    if isinstance(found, ValidationError):
        return "it does not keep to the protocol"
    if isinstance(found, OSError):
        return f"it cannot be reached: {found.strerror or found}"
    return str(found) or type(found).__name__


def _flat(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _flat(inner)
    else:
        yield error
