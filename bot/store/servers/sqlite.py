"""The way to the embedded book: short statements on the event loop, and commits that several writers share.

A statement here takes microseconds, less than the way to another thread and back, so it runs where it is awaited. What
waits for a disk that is not quick, or reads much, does not: such a commit runs in a thread, and so does a long look.
Writers come one after the other, as SQLite wants it. Who comes while others write joins their transaction behind a
savepoint, and one commit makes all of it last; nobody goes on before that. What one of them takes back costs the others
nothing.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, CursorResult, Dialect, Engine, Executable, NullPool, create_engine, event
from typing_extensions import override

T = TypeVar("T")
P = ParamSpec("P")

BUSY_SECONDS = 30.0
"""Other processes may write for so long."""
_MOST_MEMBERS = 32
_MOST_READERS = 8
_LOCKED_SECONDS = 5.0
"""A reader waits only where the file is opened or mended after a crash, and then the loop waits with it."""
_SHORTEST_RETRY, _LONGEST_RETRY = 0.001, 0.02
_QUICK_SECONDS, _NEWEST_COUNTS = 0.001, 0.3
_STRETCH_SECONDS = 0.01
"""A transaction lets the loop breathe after so much work."""


class QuickTx:
    """An open transaction whose statements run at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._breathed = time.monotonic()

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks."""
        return self._connection.dialect

    async def execute(
        self, statement: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> CursorResult[*tuple[Any, ...]]:
        """Run one statement."""
        if time.monotonic() - self._breathed > _STRETCH_SECONDS:
            await asyncio.sleep(0)
            self._breathed = time.monotonic()
        return self._connection.execute(statement, parameters)

    async def run_sync(
        self, work: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Do something with the connection itself."""
        return work(self._connection, *arguments, **options)


class LongTx(QuickTx):
    """An open transaction whose statements read so much that they run in a thread. It cannot write."""

    @override
    async def execute(
        self, statement: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> CursorResult[*tuple[Any, ...]]:
        def run() -> Any:
            return self._connection.execute(statement, parameters).freeze()

        frozen = asyncio.get_running_loop().run_in_executor(None, run)
        await _whatever_comes(frozen)
        result: CursorResult[*tuple[Any, ...]] = frozen.result()()
        return result


@dataclass
class _Group:
    """Writers that share one transaction. ``committed`` holds its end, or why it had none."""

    committed: asyncio.Future[None]
    members: int = 0
    broken: BaseException | None = None


class SqliteFile:
    """The book in one file. Errors are SQLAlchemy's or the driver's."""

    def __init__(self, url: URL) -> None:
        self._engine = _engine(url)
        self._readers: list[Connection] = []
        self._writer: Connection | None = None
        self._turn = asyncio.Lock()
        self._queued = 0
        self._group: _Group | None = None
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._disk_seconds = 1.0
        """What a commit took lately."""
        self._is_closed = False

    @asynccontextmanager
    async def read(self, *, long: bool) -> AsyncIterator[QuickTx]:
        """A look at one moment; a ``long`` one does not hold up the loop."""
        self._unless_closed()
        connection = self._readers.pop() if self._readers else self._connect()
        try:
            _driver(connection).execute("BEGIN")
            yield LongTx(connection) if long else QuickTx(connection)
            _driver(connection).execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        if len(self._readers) < _MOST_READERS:
            self._readers.append(connection)
        else:
            connection.close()

    def glance(self) -> AbstractAsyncContextManager[QuickTx]:
        """One statement; a transaction costs nothing here."""
        return self.read(long=False)

    @asynccontextmanager
    async def write(self, *, long: bool = False) -> AsyncIterator[QuickTx]:  # noqa: ARG002  # nobody is thrown out here
        """A transaction of its own, as far as the writer can see; it lasts when this ends."""
        await self._my_turn()
        try:
            self._unless_closed()
            group = self._group or await self._begin()
            try:
                async with self._member(group) as connection:
                    yield QuickTx(connection)
            finally:
                others_come = self._queued and 0 < group.members < _MOST_MEMBERS
                if group.broken or not others_come:
                    await self._end(group)
        finally:
            self._turn.release()
        await _whatever_comes(group.committed)

    upgrading = write

    async def close(self) -> None:
        """Let go of the file."""
        async with self._turn:
            self._is_closed = True
            if self._group:  # it was left to somebody who waits, and will be sent away
                await self._end(self._group)
            for connection in (*self._readers, *([self._writer] if self._writer else ())):
                connection.close()
            self._readers.clear()
            self._writer = None
        self._engine.dispose()
        self._disk.shutdown()

    def _unless_closed(self) -> None:
        """A call of a platform may still be under way when the program ends: it has to come again."""
        if self._is_closed:
            raise sqlite3.OperationalError("the database is closed")

    def _connect(self) -> Connection:
        connection = self._engine.connect()
        connection.begin()  # for SQLAlchemy everything is one transaction, which it is never to commit; see _engine
        return connection

    async def _my_turn(self) -> None:
        self._queued += 1
        try:
            await self._turn.acquire()
        except asyncio.CancelledError:
            self._queued -= 1
            # Whoever wrote before may have left the commit to us.
            if self._group and not self._queued and not self._turn.locked():
                async with self._turn:
                    await self._end(self._group)
            raise
        self._queued -= 1

    async def _begin(self) -> _Group:
        """Other processes may be writing: they are waited for without holding up the loop."""
        if self._writer is None:
            self._writer = self._connect()
            _driver(self._writer).execute("PRAGMA busy_timeout=0")
        driver, patience, pause = _driver(self._writer), time.monotonic() + BUSY_SECONDS, _SHORTEST_RETRY
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_RETRY)
        self._group = _Group(asyncio.get_running_loop().create_future())
        return self._group

    @asynccontextmanager
    async def _member(self, group: _Group) -> AsyncIterator[Connection]:
        assert self._writer is not None
        driver, joins = _driver(self._writer), group.members > 0
        if joins:
            driver.execute("SAVEPOINT joined")
        try:
            yield self._writer
        except BaseException as error:
            if joins and driver.in_transaction:
                driver.execute("ROLLBACK TO joined")
                driver.execute("RELEASE joined")
            elif joins:  # a full disk, for example: SQLite itself took everything back
                group.broken = error
            raise
        if joins:
            driver.execute("RELEASE joined")
        group.members += 1

    async def _end(self, group: _Group) -> None:
        """Commit what the members wrote, or take all of it back; those who wait are told."""
        assert self._writer is not None
        self._group = None
        driver, error = _driver(self._writer), group.broken
        try:
            if group.members and not error:
                await self._commit(driver)
            else:
                _take_back(driver)
        except sqlite3.Error as refused:
            error = refused
            raise
        finally:
            if error:
                self._writer.close()
                self._writer = None
                group.committed.set_exception(error)
                group.committed.exception()  # it may be that nobody waits any more
            else:
                group.committed.set_result(None)

    async def _commit(self, driver: sqlite3.Connection) -> None:
        """A disk that was quick lately is waited for here: that takes less than the way to the thread and back."""
        if self._disk_seconds < _QUICK_SECONDS:
            took = _commit(driver)
        else:
            committing = asyncio.get_running_loop().run_in_executor(self._disk, _commit, driver)
            try:
                await _whatever_comes(committing)
            except asyncio.CancelledError:
                committing.result()  # if it failed, that comes first
                raise
            took = committing.result()
        self._disk_seconds += (took - self._disk_seconds) * _NEWEST_COUNTS


async def _whatever_comes(ending: asyncio.Future[Any]) -> None:
    """Wait for the end of a commit, also when cancelled meanwhile: its outcome must be known."""
    cancelled: asyncio.CancelledError | None = None
    while not ending.done():
        try:
            await asyncio.wait({ending})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    ending.result()


def _commit(driver: sqlite3.Connection) -> float:
    """Seconds that it took."""
    began = time.perf_counter()
    try:
        driver.execute("COMMIT")
    except sqlite3.Error:
        _take_back(driver)
        raise
    return time.perf_counter() - began


def _take_back(driver: sqlite3.Connection) -> None:
    if driver.in_transaction:
        driver.execute("ROLLBACK")


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _engine(url: URL) -> Engine:
    # Transactions are begun and ended here, by hand. Connections are kept here too.
    engine = create_engine(
        url.set(drivername="sqlite"),
        isolation_level="AUTOCOMMIT",
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": _LOCKED_SECONDS},
    )
    event.listen(engine, "connect", _configure)
    return engine


def _configure(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we begin ourselves, and not the driver at a moment of its own
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
