"""The way to a book on a PostgreSQL server. Errors are SQLAlchemy's or the driver's."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from sqlalchemy import ExceptionContext, NullPool, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from bot.store.tx import Tx

_CONNECTIONS, _MORE_CONNECTIONS = 12, 4
"""Kept open, and opened besides while much is going on."""
_RESTED_SECONDS = 2.0
_SINCE = "rests since"
_CONNECT_SECONDS = 10
_REST_SECONDS = 5
"""A process that stands still in the middle of a transaction loses it, and with it the rows that others wait for."""
_MAY_REST = text("SET LOCAL idle_in_transaction_session_timeout = 0")
_ANSWER_SECONDS = 15
"""A server that takes longer for one statement is away, also where its connections stay open and nothing comes."""


class PostgresServer:
    """The book at this URL, as people write it (``postgresql://…``)."""

    def __init__(self, url: str) -> None:
        self._url = driver_url(url)
        self._engine = create_async_engine(
            self._url,
            pool_size=_CONNECTIONS,
            max_overflow=_MORE_CONNECTIONS,
            connect_args={
                "timeout": _CONNECT_SECONDS,
                "command_timeout": _ANSWER_SECONDS,
                "server_settings": {"idle_in_transaction_session_timeout": f"{_REST_SECONDS}s"},
            },
        )
        event.listen(self._engine.sync_engine, "checkout", _ask_if_rested)
        event.listen(self._engine.sync_engine, "checkin", _rests)
        event.listen(self._engine.sync_engine, "handle_error", _see_if_gone)

    @asynccontextmanager
    async def read(self, *, long: bool) -> AsyncIterator[Tx]:
        """A look at one moment, also at several tables."""
        async with self._engine.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ")
            async with connection.begin():
                if long:
                    await connection.execute(_MAY_REST)
                yield cast(Tx, connection)  # its overloads say the same

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Tx]:
        """One statement, and no transaction around it."""
        async with self._engine.connect() as connection:
            yield cast(Tx, await connection.execution_options(isolation_level="AUTOCOMMIT"))

    @asynccontextmanager
    async def write(self, *, long: bool) -> AsyncIterator[Tx]:
        """A transaction, committed at the end."""
        async with self._engine.begin() as connection:
            if long:
                await connection.execute(_MAY_REST)
            yield cast(Tx, connection)

    @asynccontextmanager
    async def upgrading(self) -> AsyncIterator[Tx]:
        """A transaction that may take as long as it wants: it waits for others, and changes large tables."""
        engine = create_async_engine(self._url, poolclass=NullPool, connect_args={"timeout": _CONNECT_SECONDS})
        event.listen(engine.sync_engine, "handle_error", _see_if_gone)
        try:
            async with engine.begin() as connection:
                yield cast(Tx, connection)
        finally:
            await engine.dispose()

    async def close(self) -> None:
        """Let go of all connections."""
        await self._engine.dispose()


def _rests(_driver: object, record: ConnectionPoolEntry) -> None:
    record.info[_SINCE] = time.monotonic()


def _ask_if_rested(driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """A server that was begun anew closed the connections that nobody used; one that was used just now is well."""
    if time.monotonic() - record.info.get(_SINCE, time.monotonic()) > _RESTED_SECONDS:
        try:
            driver.ping()
        except Exception as error:
            raise DisconnectionError("the server has closed it") from error


def _see_if_gone(context: ExceptionContext) -> None:
    """A server that said goodbye while nobody asked it for anything is gone, also before the connection is closed: who
    asks then hears of the driver only that it is in no state to ask (asyncpg's InternalClientError)."""
    cause = getattr(context.original_exception, "__cause__", None)
    if type(cause).__name__ == "InternalClientError":
        context.is_disconnect = True


def driver_url(url: str) -> str:
    """For the driver that this program has (it calls `sslmode` `ssl`)."""
    url = url.replace("?sslmode=", "?ssl=").replace("&sslmode=", "&ssl=")
    for prefix in ("postgresql://", "postgres://"):
        if url.startswith(prefix):
            return "postgresql+asyncpg://" + url.removeprefix(prefix)
    return url
