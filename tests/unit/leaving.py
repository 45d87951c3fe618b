"""Tests that leave something to the collector, each before one that leaves nothing. They are run by
`test_leaks.py` in a process of their own, and say there whether a test answers for its own."""

from __future__ import annotations

import asyncio
import gc
import os
import socket

from redis.asyncio import UnixDomainSocketConnection


class Knot:
    """Only the collector takes it away, and with it what it holds."""

    def __init__(self, *held: object) -> None:
        self.itself = self
        self.held = held


def test_leaves_a_socket() -> None:
    Knot(socket.socket())


def test_after_a_socket() -> None:
    gc.collect()


async def test_leaves_a_transport() -> None:
    ours, theirs = socket.socketpair()
    _, writer = await asyncio.open_unix_connection(sock=ours)
    Knot(writer)
    theirs.close()


async def test_after_a_transport() -> None:
    gc.collect()


async def test_leaves_a_connection() -> None:
    connection = UnixDomainSocketConnection(path=os.environ["VALKEY_OF_THE_TESTS"])
    await connection.connect()  # type: ignore[no-untyped-call]
    Knot(connection)


async def test_after_a_connection() -> None:
    gc.collect()
