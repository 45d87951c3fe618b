"""The wire that tests cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from tests.servers.proxy import Proxy


@pytest.fixture
async def echo() -> AsyncIterator[Proxy]:
    """A proxy in front of a server that says everything back."""

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while line := await reader.readline():
                writer.write(line)
        writer.transport.abort()

    server = await asyncio.start_server(repeat, "127.0.0.1", 0)
    async with Proxy(("127.0.0.1", server.sockets[0].getsockname()[1])) as proxy:
        yield proxy
    server.close()
    await server.wait_closed()


async def _connect(proxy: Proxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", proxy.port)


async def test_what_is_said_arrives_and_is_answered(echo: Proxy) -> None:
    reader, writer = await _connect(echo)
    writer.write(b"hello\n")
    assert await reader.readline() == b"hello\n"
    writer.close()


async def test_a_cut_ends_connections_and_lets_no_new_one_live_until_it_is_mended(echo: Proxy) -> None:
    reader, writer = await _connect(echo)
    writer.write(b"hello\n")
    assert await reader.readline() == b"hello\n"
    echo.cut()
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    reader, writer = await _connect(echo)
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    echo.restore()
    reader, writer = await _connect(echo)
    writer.write(b"again\n")
    assert await reader.readline() == b"again\n"
    writer.close()


async def test_a_blackhole_keeps_what_is_said_until_the_wire_is_mended(echo: Proxy) -> None:
    reader, writer = await _connect(echo)
    echo.blackhole()
    writer.write(b"hello\n")
    answer = asyncio.create_task(reader.readline())
    late_reader, late_writer = await _connect(echo)
    late_writer.write(b"late\n")
    late = asyncio.create_task(late_reader.readline())
    assert not (await asyncio.wait({answer, late}, timeout=0.1))[0]
    echo.restore()
    assert (await answer, await late) == (b"hello\n", b"late\n")
    writer.close()
    late_writer.close()


async def test_of_a_half_closed_connection_one_direction_is_left(echo: Proxy) -> None:
    reader, writer = await _connect(echo)
    writer.write(b"hello\n")
    assert await reader.readline() == b"hello\n"
    echo.half_close()
    assert await reader.read() == b""
    writer.write(b"this still arrives\n")
    await writer.drain()
    writer.close()
    reader, writer = await _connect(echo)
    writer.write(b"again\n")
    assert await reader.readline() == b"again\n"
    writer.close()
