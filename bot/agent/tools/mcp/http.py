"""An MCP server behind a URL: streamable HTTP, or the older kind with server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from bot.agent.tools.mcp.allowance import MOST_MESSAGE_BYTES, Allowance, Flooding
from bot.agent.tools.mcp.config import ServerConfig
from bot.runtime.tls import trusted

_CONNECT_SECONDS = 30.0
_SILENT_SECONDS = 300.0
"""A stream that says nothing for so long is opened again."""


class FloodingStreamError(httpx2.StreamError):
    """More came than is taken. A kind of error that the SDK turns into the failure of the one request."""


@asynccontextmanager
async def http_streams(config: ServerConfig) -> AsyncIterator[Any]:
    """What the server says and what it is told, while the block runs."""

    def client(
        headers: dict[str, str] | None = None,  # noqa: ARG001  # the SDK would make one; this has our headers and bounds
        timeout: httpx2.Timeout | None = None,  # noqa: ARG001
        auth: httpx2.Auth | None = None,  # noqa: ARG001
    ) -> httpx2.AsyncClient:
        return _client(config)

    if config.transport == "sse":
        async with sse_client(config.url, httpx_client_factory=client) as streams:
            yield streams
        return
    async with (
        client() as opened,
        streamable_http_client(config.url, http_client=opened, max_sse_event_size=MOST_MESSAGE_BYTES) as streams,
    ):
        yield streams


def _client(config: ServerConfig) -> httpx2.AsyncClient:
    bounded = _Bounds()
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **config.headers},  # a compressed flood would be bounded too late
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=max(_SILENT_SECONDS, config.timeout)),
        event_hooks={"response": [bounded.watch]},
        verify=trusted(),
    )


class _Bounds:
    """Counts what the responses of one client bring."""

    def __init__(self) -> None:
        self._allowance = Allowance(anyio.current_time)

    async def watch(self, response: httpx2.Response) -> None:
        """Called with each response before its body is read."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise FloodingStreamError("it sends compressed answers, which were not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.stream = _Counted(response.stream, self._allowance, None if is_stream else MOST_MESSAGE_BYTES)


class _Counted(httpx2.AsyncByteStream):
    """A body that breaks off when it grows too large. ``most``: bytes in all, None for a stream of messages."""

    def __init__(self, body: httpx2.AsyncByteStream, allowance: Allowance, most: int | None) -> None:
        self._body = body
        self._allowance = allowance
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if self._most is not None and size > self._most:
                raise FloodingStreamError(f"it sent more than {self._most:,} bytes in one message")
            try:
                self._allowance.take(len(chunk))
            except Flooding as flooding:
                raise FloodingStreamError(str(flooding)) from flooding
            yield chunk

    async def aclose(self) -> None:
        """As the body itself."""
        await self._body.aclose()
