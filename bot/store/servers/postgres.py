"""The way to a book on a PostgreSQL server. Errors are SQLAlchemy's or the driver's."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from sqlalchemy import NullPool, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from bot.store.servers.failures import see_what_it_means
from bot.store.tx import Tx

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

Pooler: TypeAlias = Literal["none", "session", "transaction"]
"""What stands between us and the server, and for how long it gives us one of its connections: a session has the same
one as long as it lasts, a transaction may have another one than the transaction before it."""
CONNECTIONS = 16
"""At most so many at once, by default. A quarter of them is opened only while much is going on."""
_RESTED_SECONDS = 2.0
_SINCE = "rests since"
_CONNECT_SECONDS = 10
_REST_SECONDS = 5
"""A process that stands still in the middle of a transaction loses it, and with it the rows that others wait for."""
_REST = "idle_in_transaction_session_timeout"
_MAY_REST = text(f"SET LOCAL {_REST} = 0")
_ANSWER_SECONDS = 15
"""A server that takes longer for one statement is away, also where its connections stay open and nothing comes."""


class PostgresServer:
    """The book at this URL, as people write it (``postgresql://…``)."""

    def __init__(self, url: str, *, pooler: Pooler = "none", connections: int = CONNECTIONS) -> None:
        self._url = driver_url(url)
        self._pooler: Pooler = pooler
        arguments: dict[str, Any] = {"timeout": _CONNECT_SECONDS, "command_timeout": _ANSWER_SECONDS}
        if pooler == "none":  # a pooler takes no such word at the beginning of a connection
            arguments["server_settings"] = {_REST: f"{_REST_SECONDS}s"}
        self._engine = _engine(
            self._url,
            pooler,
            pool_size=connections - connections // 4,
            max_overflow=connections // 4,
            connect_args=arguments,
        )
        if pooler == "session":
            event.listen(self._engine.sync_engine, "connect", _set_rest)
        event.listen(self._engine.sync_engine, "checkout", _ask_if_rested)
        event.listen(self._engine.sync_engine, "checkin", _rests)

    @asynccontextmanager
    async def read(self, *, long: bool) -> AsyncIterator[Tx]:
        """A look at one moment, also at several tables."""
        async with self._engine.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ")
            async with connection.begin():
                tx = cast("Tx", connection)  # its overloads say the same
                if long:
                    await tx.execute(_MAY_REST)
                yield tx

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Tx]:
        """One statement, and no transaction around it."""
        async with self._engine.connect() as connection:
            yield cast("Tx", await connection.execution_options(isolation_level="AUTOCOMMIT"))

    @asynccontextmanager
    async def write(self, *, long: bool) -> AsyncIterator[Tx]:
        """A transaction, committed at the end."""
        async with self._engine.begin() as connection:
            tx = cast("Tx", connection)
            if long:
                await tx.execute(_MAY_REST)
            elif self._pooler == "transaction":  # what was set for a session would stay with whoever comes next
                await tx.execute(text(f"SET LOCAL {_REST} = '{_REST_SECONDS}s'"))
            yield tx

    @asynccontextmanager
    async def upgrading(self) -> AsyncIterator[Tx]:
        """A transaction that may take as long as it wants: it waits for others, and changes large tables."""
        engine = self._passing_engine()
        try:
            async with engine.begin() as connection:
                yield cast("Tx", connection)
        finally:
            await engine.dispose()

    async def vacuum(self, tables: Sequence[str]) -> None:
        """Let the space of deleted rows be used again, however long that takes."""
        engine = self._passing_engine()
        try:
            async with engine.connect() as connection:
                driver: Any = (await connection.get_raw_connection()).driver_connection
                for table in tables:  # not through SQLAlchemy, which would prepare it: that is two steps to a pooler
                    await driver.execute(f"VACUUM {table}")
        finally:
            await engine.dispose()

    def _passing_engine(self) -> AsyncEngine:
        return _engine(self._url, self._pooler, poolclass=NullPool, connect_args={"timeout": _CONNECT_SECONDS})

    async def close(self) -> None:
        """Let go of all connections."""
        await self._engine.dispose()


def _engine(url: str, pooler: Pooler, *, connect_args: dict[str, Any], **options: Any) -> AsyncEngine:
    if pooler == "transaction":
        # A statement that is prepared under a name stays with one connection of the server, and the next transaction
        # may have another one: so none has a name, and each is sent whole.
        connect_args |= {
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,
            "prepared_statement_name_func": str,
        }
    from sqlalchemy.ext.asyncio import create_async_engine  # with all of the ORM, a tenth of a second

    engine = create_async_engine(url, hide_parameters=True, connect_args=connect_args, **options)
    event.listen(engine.sync_engine, "handle_error", see_what_it_means)
    return engine


def _set_rest(driver: Any, _record: ConnectionPoolEntry) -> None:
    cursor = driver.cursor()
    cursor.execute(f"SET {_REST} = '{_REST_SECONDS}s'")
    cursor.close()
    driver.commit()


def _rests(_driver: object, record: ConnectionPoolEntry) -> None:
    record.info[_SINCE] = time.monotonic()


def _ask_if_rested(driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """A server that was begun anew closed the connections that nobody used; one that was used just now is well."""
    if time.monotonic() - record.info.get(_SINCE, time.monotonic()) > _RESTED_SECONDS:
        try:
            driver.ping()
        except Exception as error:
            raise DisconnectionError("the server has closed it") from error


def driver_url(url: str) -> str:
    """For the driver that this program has (it calls `sslmode` `ssl`)."""
    url = url.replace("?sslmode=", "?ssl=").replace("&sslmode=", "&ssl=")
    for prefix in ("postgresql://", "postgres://"):
        if url.startswith(prefix):
            return "postgresql+asyncpg://" + url.removeprefix(prefix)
    return url
