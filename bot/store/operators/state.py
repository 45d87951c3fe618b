"""What state the book is in, for whoever operates it. Nothing is changed."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from bot.store.database import Database, migration_scripts, revision_of, tables_of_others
from bot.store.tx import Tx


@dataclass(frozen=True)
class StoreState:
    """``server``: name and version; ``postgres``: its major version, 0 for SQLite; ``revision``: of the tables, None
    where there are none; ``of_others``: the tables of another program, where it is not ours."""

    server: str
    postgres: int
    revision: str | None
    is_older: bool = False
    is_newer: bool = False
    of_others: tuple[str, ...] = ()


async def state_of(database: Database) -> StoreState:
    """Look. Raises StoreUnavailable."""
    async with database.read() as tx:
        server, postgres = await _server(tx)
        revision = await tx.run_sync(revision_of)
        of_others = await tx.run_sync(tables_of_others)
    scripts = migration_scripts()
    newest, known = scripts.get_current_head(), {script.revision for script in scripts.walk_revisions()}
    return StoreState(
        server,
        postgres,
        revision,
        is_older=revision in known and revision != newest,
        is_newer=revision is not None and revision not in known,
        of_others=of_others,
    )


def damage(path: Path, *, seconds: float) -> str | None:
    """What is wrong with a SQLite file, in SQLite's words; None where nothing was found within so many seconds, or it
    cannot be looked at now. Blocks for as long."""
    until = time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    except sqlite3.OperationalError:  # the time is over, or it is locked, for example
        return None
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == ["ok"] else " ".join(" ".join(found).split())


async def _server(tx: Tx) -> tuple[str, int]:
    if tx.dialect.name != "postgresql":
        return f"SQLite {(await tx.execute(text('SELECT sqlite_version()'))).scalar_one()}", 0
    version = str((await tx.execute(text("SHOW server_version"))).scalar_one()).split()[0]
    return f"PostgreSQL {version}", int(version.split(".")[0])
