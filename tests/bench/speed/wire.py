"""HTTP/1.1 as lean as a bench needs it: the servers share their cores with what they measure.

It trusts its clients: requests with a Content-Length, one at a time on a connection, answers prepared as bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_LOOK_SECONDS = 0.02


class Connection(asyncio.Protocol):
    """One client. ``serve`` is called with each request and answers it, at once or later."""

    def __init__(self, serve: Callable[[Connection, str, bytes], None]) -> None:
        self._serve = serve
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self.on_lost: Callable[[], None] | None = None
        """Called when the client closes the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`, as for the next two."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self.on_lost:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(_HEAD_END)) >= 0:
            head = self._received[:end]
            length = _length(head)
            begin = end + len(_HEAD_END)
            if len(self._received) < begin + length:
                return
            body = self._received[begin : begin + length]
            self._received = self._received[begin + length :]
            self._serve(self, head[: head.index(b"\r\n")].split(b" ")[1].decode(), body)

    @property
    def is_open(self) -> bool:
        """Whether the client is still there."""
        return self._transport is not None and not self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes as they are; nothing happens when the client is gone."""
        if self._transport is not None:
            self._transport.write(data)

    def answer(self, body: bytes, status: bytes = b"200 OK") -> None:
        """A whole answer, of JSON."""
        self.write(
            b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
        )


def _length(head: bytes) -> int:
    lower = head.lower()
    assert b"\r\ntransfer-encoding:" not in lower, "the bench takes no chunked requests"
    at = lower.find(_LENGTH)
    return int(lower[at + len(_LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0


async def serve_until_told(serve: Callable[[Connection, str, bytes], None]) -> None:
    """Serve on a free port of loopback, print the port, and end with standard input."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(serve), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    ended = asyncio.Event()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            ended.set()

    loop.add_reader(sys.stdin.fileno(), look)
    await ended.wait()
    server.close()


class Control:
    """A client for what a bench asks of its own servers: one connection, one question at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, **values: Any) -> Any:
        """POST these values there; returns the answer's JSON."""
        async with self._turn:
            if self._streams is None:
                self._streams = await self._connect()
            return await _exchange(*self._streams, path, values)

    async def wait(self, path: str, *, patience: float, **values: Any) -> Any:
        """Ask what is answered once it is so, on a connection of its own. Raises TimeoutError."""
        reader, writer = await self._connect()
        try:
            async with asyncio.timeout(patience):
                return await _exchange(reader, writer, path, values)
        finally:
            writer.close()

    async def until(self, path: str, *, patience: float, **values: Any) -> Any:
        """Ask the same until the answer is one; returns it. Raises TimeoutError after ``patience`` seconds."""
        end = time.monotonic() + patience
        while not (answer := await self.ask(path, **values)):
            if time.monotonic() > end:
                raise TimeoutError(f"{path} with {str(values)[:200]} was not so within {patience:.0f} s")
            await asyncio.sleep(_LOOK_SECONDS)
        return answer

    async def close(self) -> None:
        """Let go of the connection."""
        if self._streams:
            self._streams[1].close()
            await self._streams[1].wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=2**26)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, values: Json) -> Any:
    body = json.dumps(values).encode()
    writer.write(b"POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
    head = await reader.readuntil(_HEAD_END)
    return json.loads(await reader.readexactly(_length(head)))
