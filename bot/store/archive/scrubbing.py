"""After something was forgotten: it goes from the disk as well, as far as this program can see to that."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from sqlalchemy import make_url

from bot.store.archive.own import ORDER, SHARED
from bot.store.schema import people, person_zones, skipped_updates
from bot.store.servers.postgres import PostgresServer

_BUSY_SECONDS = 30.0
_CHECKPOINTS, _PAUSE_SECONDS = 40, 0.25
"""How often the log is tried to be emptied: somebody may still be reading what was there before."""

IN_POSTGRES = (
    "PostgreSQL's own log (WAL), replicas and backups keep what was there before for as long as they are kept, and its "
    "files until the space is used again."
)


@dataclass(frozen=True)
class Scrubbed:
    """Whether all of it is gone from the files of the database, and what there is to say about that."""

    clean: bool
    note: str = ""


def scrub_file(url: str) -> Scrubbed:
    """Write a SQLite file anew, without what was deleted, and empty its log. Other processes may go on; they wait for
    as long as it takes. Blocks; raises sqlite3.Error."""
    connection = sqlite3.connect(make_url(url).database or "", timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA secure_delete=ON")
        # What was deleted from the index of words stays in it until its parts are merged.
        connection.execute("INSERT INTO entry_words(entry_words) VALUES ('optimize')")
        connection.execute("VACUUM")
        for _ in range(_CHECKPOINTS):
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return Scrubbed(clean=True)
            time.sleep(_PAUSE_SECONDS)
    finally:
        connection.close()
    return Scrubbed(
        clean=False,
        note="The database's log (palimpsest.db-wal) could not be emptied, because a process reads all the time: what "
        "was removed stays in it until it is. Do this again later, or stop the program and start it.",
    )


async def scrub_server(server: PostgresServer) -> Scrubbed:
    """Let a PostgreSQL server use the space of deleted rows again. Errors are the driver's."""
    tables = [table.name for table in [*ORDER, *SHARED, people, person_zones, skipped_updates]]
    await server.vacuum([*tables, "entry_words", "entry_words_counts"])
    return Scrubbed(clean=True, note=IN_POSTGRES)
