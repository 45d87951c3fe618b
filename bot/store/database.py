"""A connection to the book: transactions, the fence, migrations at start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import URL, Connection, Table, event, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bot.errors import ConfigurationError, StaleEpoch, StoreUnavailable
from bot.messages import AgentId
from bot.store import schema

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

Tx: TypeAlias = AsyncConnection
"""An open transaction."""

_MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATION_LOCK = 7_237_610  # any constant: PostgreSQL's advisory lock while tables are made
_BUSY_SECONDS = 30
_UNREACHABLE = (OperationalError, InterfaceError, OSError, ConnectionError)


class Database:
    """The book at ``url`` (``sqlite+aiosqlite:///…`` or ``postgresql+asyncpg://…``).

    ``clock`` gives seconds since 1970; it is the only source of time for rows. Raises ConfigurationError for a URL of
    another kind.
    """

    def __init__(self, url: str, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._sqlite = url.startswith("sqlite")
        try:
            self._engine = _engine(url)
        except (ArgumentError, ImportError, ValueError) as error:
            raise ConfigurationError(
                "DATABASE_URL is not one of PostgreSQL (postgresql://user:password@host/database). "
                "Without it, the book is a SQLite file in DATA_DIR."
            ) from error
        # One writer at a time is SQLite's rule. Waiting for our own writers in a queue is fair, its busy loop is not.
        self._writer = asyncio.Lock()

    @classmethod
    def in_folder(cls, data_dir: Path, **options: Any) -> Database:
        """The embedded book: a SQLite file in the data folder."""
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        url = URL.create("sqlite+aiosqlite", database=str(data_dir / "palimpsest.db"))
        return cls(url.render_as_string(hide_password=False), **options)

    async def open(self) -> None:
        """Bring the tables to the newest version. Safe with several processes at once."""
        try:
            async with self.write() as tx:
                if not self._sqlite:
                    await tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
                await tx.run_sync(_upgrade)
        except (StoreUnavailable, *_UNREACHABLE) as error:
            raise StoreUnavailable(f"The database cannot be opened: {_reason(error)}") from error

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """A writing transaction: committed at the end, rolled back on an error. Raises StoreUnavailable."""
        if not self._sqlite:
            async with self._begin(writing=True) as tx:
                yield tx
            return
        async with self._writer, self._begin(writing=True) as tx:
            yield tx

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        """A consistent look. Raises StoreUnavailable."""
        async with self._begin(writing=False) as tx:
            yield tx

    @asynccontextmanager
    async def fenced(self, agent_id: AgentId, epoch: int) -> AsyncIterator[Tx]:
        """A writing transaction of the host that holds the agent in this epoch. Raises StaleEpoch to any other."""
        async with self.write() as tx:
            held = await tx.execute(
                update(schema.agents)
                .where(schema.agents.c.id == agent_id, schema.agents.c.epoch == epoch)
                .values(touched_at=self.clock())
            )
            if held.rowcount != 1:
                raise StaleEpoch(f"{agent_id} is no longer in epoch {epoch}")
            yield tx

    async def ping(self) -> None:
        """Raises StoreUnavailable when the book cannot be read."""
        async with self.read() as tx:
            await tx.execute(select(1))

    async def close(self) -> None:
        """Let go of all connections."""
        await self._engine.dispose()

    @asynccontextmanager
    async def _begin(self, *, writing: bool) -> AsyncIterator[Tx]:
        try:
            async with self._engine.connect() as connection:
                # A look that reads several tables reads them at one moment.
                isolation = {} if writing or self._sqlite else {"isolation_level": "REPEATABLE READ"}
                await connection.execution_options(writing=writing, **isolation)
                async with connection.begin():
                    yield connection
        except _UNREACHABLE as error:
            raise StoreUnavailable(_reason(error)) from error
        except DBAPIError as error:
            # Without a statement it did not even connect: no such database, a wrong password. A DatabaseError itself:
            # the file is damaged, or is none.
            if error.connection_invalidated or error.statement is None or type(error) is DatabaseError:
                raise StoreUnavailable(_reason(error)) from error
            raise


def insert_into(tx: Tx, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that can say ON CONFLICT, in the words of this database."""
    return postgresql.insert(table) if tx.dialect.name == "postgresql" else sqlite.insert(table)


def _reason(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def _engine(url: str) -> AsyncEngine:
    if not url.startswith("sqlite"):
        return create_async_engine(_async_url(url), pool_pre_ping=True, pool_size=10, max_overflow=20)
    engine = create_async_engine(url, connect_args={"timeout": _BUSY_SECONDS})

    @event.listens_for(engine.sync_engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy's own BEGIN, not the driver's late one
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _async_url(url: str) -> str:
    """PostgreSQL URLs as people write them, for the driver that this program has (it calls `sslmode` `ssl`)."""
    url = url.replace("?sslmode=", "?ssl=").replace("&sslmode=", "&ssl=")
    for prefix in ("postgresql://", "postgres://"):
        if url.startswith(prefix):
            return "postgresql+asyncpg://" + url.removeprefix(prefix)
    return url


def _upgrade(connection: Connection) -> None:
    from alembic import command  # slow to import, and needed once

    config = _alembic()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def migration_scripts() -> ScriptDirectory:
    """All migrations that this program knows."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_alembic())


def _alembic() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config
