"""A wire that can be cut: a TCP proxy in front of a real server, which a test interrupts, silences and mends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Self

Target = str | tuple[str, int]
"""Where the server is: the path of its Unix socket, or its host and port."""
_PIECE = 65_536
_HOST = "127.0.0.1"


@dataclass
class _Wire:
    """One connection. ``is_near``: what comes before the words whose answer is to be lost was said, ``is_close``: what
    comes before those at which all falls silent; ``last_words``: what the server says with its next answer."""

    is_near: bool = False
    is_close: bool = False
    is_deaf: bool = False
    last_words: bytes = b""


class Proxy:
    """Carries bytes between whoever connects to ``port`` and ``target``.

    With ``tls`` the clients' side is encrypted, and the server's is not. ``delay``: seconds that each piece takes, in
    either direction; it may be changed at any time.
    """

    def __init__(self, target: Target, *, tls: ssl.SSLContext | None = None, delay: float = 0.0) -> None:
        self.target = target
        self.delay = delay
        self.port = 0
        self.refused = asyncio.Event()
        """Somebody came while it was cut."""
        self._tls = tls
        self._is_cut = False
        self._to_lose: tuple[bytes, bytes] | None = None
        self._to_add: tuple[bytes, bytes] | None = None
        self.stalled = asyncio.Event()
        """It fell silent as it was told by :meth:`stall`."""
        self._to_stall: tuple[bytes, bytes] | None = None
        self._passing = asyncio.Event()
        self._passing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._closed: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """host:port, for a URL."""
        return f"{_HOST}:{self.port}"

    @property
    def connections(self) -> int:
        """How many clients are connected now."""
        return len(self._serving)

    def cut(self) -> None:
        """The server is gone: every connection is reset, and so is every new one."""
        self._is_cut = True
        self._passing.set()
        self._reset()

    def drop(self) -> None:
        """Every connection is reset; new ones are welcome."""
        self._reset()

    def blackhole(self) -> None:
        """The network swallows everything: connections stay, new ones are taken, and no byte arrives."""
        self._is_cut = False
        self._passing.clear()

    def half_close(self) -> None:
        """Every connection is closed in the direction of whoever came: they read its end, and what they write still
        arrives."""
        for writer in self._clients:
            if writer not in self._closed and writer.can_write_eof():
                self._closed.add(writer)
                writer.write_eof()

    def restore(self) -> None:
        """All is well again; what a blackhole held back arrives now."""
        self._is_cut = False
        self._passing.set()

    def lose_answer(self, to: bytes, *, after: bytes) -> None:
        """Once: the words ``to`` still reach the server when ``after`` was said before them on the same connection,
        which is then reset in place of the answer."""
        self._to_lose = after, to

    def add_to_answer(self, to: bytes, words: bytes) -> None:
        """Once: these words come with the server's answer to those."""
        self._to_add = to, words

    def stall(self, at: bytes, *, after: bytes = b"") -> None:
        """Once: the words ``at`` still reach the server when ``after`` was said before them on the same connection, and
        from there on it is a black hole."""
        self._to_stall = after, at

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, _HOST, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._server.wait_closed()

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            self.refused.set()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._clients.add(writer)
        try:
            await self._passing.wait()
            with suppress(OSError):
                await self._join(reader, writer)
        finally:
            for known in (self._writers, self._clients, self._closed):
                known.discard(writer)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await (
            asyncio.open_unix_connection(self.target)
            if isinstance(self.target, str)
            else asyncio.open_connection(*self.target)
        )
        self._writers.add(back)
        wire = _Wire()
        pumps = {
            asyncio.create_task(self._pump(reader, back, partial(self._overhear, wire))),
            asyncio.create_task(self._pump(there, writer, partial(_answered, wire))),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._writers.discard(back)
            back.transport.abort()

    def _overhear(self, wire: _Wire, piece: bytes) -> bytes:
        if self._to_lose:
            after, to = self._to_lose
            wire.is_near = wire.is_near or after in piece
            if wire.is_near and to in piece:
                wire.is_deaf, self._to_lose = True, None
        if self._to_stall:
            after, at = self._to_stall
            wire.is_close = wire.is_close or after in piece
            if wire.is_close and at in piece:
                self._to_stall = None
                self.blackhole()
                self.stalled.set()
        if self._to_add and self._to_add[0] in piece:
            wire.last_words, self._to_add = self._to_add[1], None
        return piece

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, overheard: Callable[[bytes], bytes]
    ) -> None:
        """Until one side has closed, or nothing is left of a piece; a client that says goodbye has been answered."""
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._passing.wait()
                if not (passed := overheard(piece)):
                    return
                if sink not in self._closed:
                    sink.write(passed)
                    await sink.drain()


def _answered(wire: _Wire, piece: bytes) -> bytes:
    said, wire.last_words = b"" if wire.is_deaf else piece + wire.last_words, b""
    return said
