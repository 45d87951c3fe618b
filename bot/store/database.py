"""A connection to the book: transactions, the fence, migrations at start."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    URL,
    Connection,
    bindparam,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError

from bot.errors import ConfigurationError, StaleEpoch, StoreUnavailable
from bot.messages import AgentId
from bot.store import schema
from bot.store.archive.scrubbing import Scrubbed, scrub_file, scrub_server
from bot.store.servers.failures import translated
from bot.store.servers.postgres import CONNECTIONS, Pooler, PostgresServer
from bot.store.servers.sqlite import SqliteFile
from bot.store.tx import Tx

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

_FENCE = update(schema.agents).where(
    schema.agents.c.id == bindparam("agent"), schema.agents.c.epoch == bindparam("held")
)


_MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATION_LOCK = 7_237_610  # any constant: PostgreSQL's advisory lock while tables are made
_REFUSED_SECONDS = 60.0
_LOOK_SECONDS = 0.5
"""Between two looks for a server that is away."""
_LONGEST_REST = 5.0
"""Before whoever has something for a book that said no tries again."""


_OWN_VERSION = re.compile(r"\d{4}")
_OWN_TABLES = frozenset({"agents", "entries", "inbox", "outbox"})
"""What is there in each version of the program; by their version alone others number theirs like that, too."""
_MOST_NAMED = 3
_OF_EXTENSIONS = text("""
    SELECT relname FROM pg_class JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = pg_class.oid
    WHERE deptype = 'e'
""")
"""Such as PostGIS's `spatial_ref_sys`, which may be there before any program is."""
OWN_DATABASE = "Make one for it alone (createdb palimpsest), and name that in DATABASE_URL."


class Database:
    """The book at ``url`` (``sqlite:///…`` or ``postgresql://…``).

    ``clock`` gives seconds since 1970; it is the only source of time for rows. Raises ConfigurationError for a URL of
    another kind. Of a server: ``connections`` of this process at most, through this ``pooler``.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], float] = time.time,
        pooler: Pooler = "none",
        connections: int = CONNECTIONS,
    ) -> None:
        self.clock = clock
        self.failures = 0
        """How often it could not be reached, or did not take what it was given."""
        self._refusal: tuple[float, str] | None = None
        """When it last said no (a full disk, a damaged file), and how."""
        self._takes = asyncio.Event()
        """Nothing has failed since somebody succeeded: in reading, where it was away; in writing, where it said no."""
        self._takes.set()
        self._is_away = False
        self._looked_at = 0.0
        self._url = url
        try:
            self._book: SqliteFile | PostgresServer = (
                SqliteFile(make_url(url))
                if url.startswith("sqlite")
                else PostgresServer(url, pooler=pooler, connections=connections)
            )
        except (ArgumentError, ImportError, ValueError) as error:
            raise ConfigurationError(
                "DATABASE_URL is not one of PostgreSQL (postgresql://user:password@host/database). "
                "Without it, the book is a SQLite file in DATA_DIR."
            ) from error

    @classmethod
    def in_folder(cls, data_dir: Path, **options: Any) -> Database:
        """The embedded book: a SQLite file in the data folder."""
        try:
            data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigurationError(
                f"DATA_DIR={data_dir} cannot be written: {error.strerror}. Set DATA_DIR to a folder of this user."
            ) from error
        url = URL.create("sqlite", database=str(data_dir / "palimpsest.db"))
        return cls(url.render_as_string(hide_password=False), **options)

    async def open(self) -> None:
        """Bring the tables to the newest version. Safe with several processes at once.

        Raises ConfigurationError where they are of a newer version than this program knows.
        """
        async with self._upgrading() as tx:
            await tx.run_sync(_upgrade)

    @asynccontextmanager
    async def filling(self, revision: str) -> AsyncIterator[Tx]:
        """A transaction on an empty book whose tables are as they were at ``revision``. At its end they are brought to
        the newest version; all of it lasts, or nothing.

        Raises ConfigurationError where there are tables already, or for a revision that this program does not know.
        """
        async with self._upgrading() as tx:
            if await tx.run_sync(_has_tables):
                raise ConfigurationError("The database holds something already.")
            await tx.run_sync(_upgrade, revision)
            yield tx
            await tx.run_sync(_upgrade)

    @asynccontextmanager
    async def _upgrading(self) -> AsyncIterator[Tx]:
        try:
            with translated(self._where):
                async with self._book.upgrading() as tx:
                    if tx.dialect.name == "postgresql":
                        await tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
                    yield tx
        except StoreUnavailable as error:
            reason = f"The database cannot be opened: {error.reason}"
            raise StoreUnavailable(reason, may_pass=error.may_pass, where=self._where) from error

    @property
    def _where(self) -> str:
        """What DATABASE_URL names, without the password."""
        url = make_url(self._url)
        hosts = url.query.get("host", ())
        there = [f"{url.host}:{url.port or 5432}"] if url.host else [hosts] if isinstance(hosts, str) else [*hosts]
        if not there or any("@" in host for host in there):  # which would be a piece of the password
            return ""
        return f" (DATABASE_URL: {', '.join(there)}/{url.database})"

    @asynccontextmanager
    async def write(self, *, long: bool = False) -> AsyncIterator[Tx]:
        """A writing transaction: committed at the end, rolled back on an error. ``long``: it may rest between two
        statements, e.g. while files are removed. Raises StoreUnavailable."""
        with self._counted(writes=True):
            async with self._book.write(long=long) as tx:
                yield tx

    @asynccontextmanager
    async def read(self, *, long: bool = False) -> AsyncIterator[Tx]:
        """A consistent look. ``long``: it may read a lot, which must not keep others waiting. Raises
        StoreUnavailable."""
        with self._counted():
            async with self._book.read(long=long) as tx:
                yield tx

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Tx]:
        """For one statement that reads: it sees one moment without a transaction, which would be two more round trips.
        Raises StoreUnavailable."""
        with self._counted():
            async with self._book.glance() as tx:
                yield tx

    @asynccontextmanager
    async def fenced(self, agent_id: AgentId, epoch: int) -> AsyncIterator[Tx]:
        """A writing transaction of the host that holds the agent in this epoch. Raises StaleEpoch to any other."""
        async with self.write() as tx:
            held = await tx.execute(_FENCE, {"agent": agent_id, "held": epoch, "touched_at": self.clock(), "starts": 0})
            if held.rowcount != 1:
                raise StaleEpoch(f"{agent_id} is no longer in epoch {epoch}")
            yield tx

    @contextmanager
    def _counted(self, *, writes: bool = False) -> Iterator[None]:
        try:
            with translated(self._where):
                yield
        except StoreUnavailable as error:
            self.failures += 1
            self._is_away = error.may_pass
            self._takes.clear()
            if not error.may_pass:
                self._refusal = (time.monotonic(), str(error))
            raise
        if writes or self._is_away:
            self._takes.set()

    @property
    def is_away(self) -> bool:
        """Whether it did not answer when somebody asked it last."""
        return self._is_away and not self._takes.is_set()

    async def until_back(self, most: float) -> None:
        """After StoreUnavailable: return when it takes something again, and after so many seconds at most.

        One that is away is looked for. Of one that said no only whoever has something for it can tell: they wait 5 s at
        most.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(most if self._is_away else min(most, _LONGEST_REST)):
                await asyncio.sleep(_LOOK_SECONDS)
                while not self._takes.is_set():
                    await self._look()

    async def _look(self) -> None:
        """All who wait look together, not each of them."""
        if self._is_away and time.monotonic() - self._looked_at > _LOOK_SECONDS:
            self._looked_at = time.monotonic()
            with suppress(StoreUnavailable):
                async with self.glance() as tx:
                    await tx.execute(select(1))
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._takes.wait()

    async def scrub(self) -> Scrubbed:
        """See to it that what was deleted is gone from the disk as well. It may take a while, and others wait for it.
        Raises StoreUnavailable."""
        with translated(self._where):
            if isinstance(self._book, PostgresServer):
                return await scrub_server(self._book)
            return await asyncio.to_thread(scrub_file, self._url)

    async def ping(self) -> None:
        """Raises StoreUnavailable when the book cannot be read, or said no to somebody within the last minute."""
        async with self.read() as tx:
            await tx.execute(select(1))
        if self.refusal:
            raise StoreUnavailable(self.refusal)

    @property
    def refusal(self) -> str:
        """How it said no within the last minute (a full disk, a damaged file); empty where it did not. That it takes
        something else meanwhile says nothing."""
        if self._refusal is None or time.monotonic() - self._refusal[0] > _REFUSED_SECONDS:
            return ""
        return self._refusal[1]

    async def close(self) -> None:
        """Let go of all connections."""
        await self._book.close()


def _upgrade(connection: Connection, revision: str = "head") -> None:
    if revision == "head" and revision_of(connection) == schema.VERSION:
        return
    from alembic import command  # slow to import, and needed after an upgrade of the program

    if theirs := tables_of_others(connection):
        raise ConfigurationError(
            f"The database is another program's: it has {in_words(theirs)}, and nothing of this one. {OWN_DATABASE}"
        )
    known = {script.revision for script in migration_scripts().walk_revisions()}
    for there in (revision_of(connection), revision):
        if there not in known | {None, "head"}:
            raise ConfigurationError(
                f"The database's tables are of a newer version of this program ({there}). Start the newer program, or "
                "restore the backup that was made before its upgrade."
            )
    config = _alembic()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def revision_of(connection: Connection) -> str | None:
    """Which version the tables are of; None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def tables_of_others(connection: Connection) -> tuple[str, ...]:
    """The tables of a database that is another program's, by name; none where ours are, or nothing is."""
    names = set(inspect(connection).get_table_names())
    if names >= _OWN_TABLES and _OWN_VERSION.fullmatch(revision_of(connection) or ""):
        return ()
    if connection.dialect.name == "postgresql":
        names -= set(connection.execute(_OF_EXTENSIONS).scalars())
    return tuple(sorted(names - {"alembic_version"}))


def in_words(names: Sequence[str]) -> str:
    """Some of these tables, and how many more there are."""
    first = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{'a table' if len(names) == 1 else 'tables'} {first}{f' and {more} more' if more > 0 else ''}"


def _has_tables(connection: Connection) -> bool:
    return bool(inspect(connection).get_table_names())


def migration_scripts() -> ScriptDirectory:
    """All migrations that this program knows."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_alembic())


def _alembic() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config
