"""What tells this book from every other one: numbers of its rows mean nothing outside of it."""

from __future__ import annotations

import asyncio
import os
from hashlib import blake2s
from uuid import uuid4

from sqlalchemy import Connection, inspect, select, text

from bot.store.schema import installation
from bot.store.tx import Tx, insert_into

_THE_ONE = 1


async def id_of(tx: Tx) -> str:
    """Its id, 32 hex digits, which whoever asks first makes. A book that was restored from a backup has a new one."""
    query = select(installation.c.id).where(installation.c.number == _THE_ONE)
    known = (await tx.execute(query)).scalar_one_or_none()
    if known is None:
        await tx.execute(insert_into(tx, installation).values(number=_THE_ONE, id=uuid4().hex).on_conflict_do_nothing())
        known = (await tx.execute(query)).scalar_one()
    return str(known)


async def bell_of(tx: Tx) -> str:
    """What this book's processes are called where others may be, in Redis: 16 hex digits, for a writing transaction.

    Made of the id and of where the book is, so that all processes on one book agree, and those on a copy of it do not:
    the number of a SQLite file on its disk, or a PostgreSQL server's own id with the database's number and name.
    """
    return blake2s(f"{await id_of(tx)} {await _place(tx)}".encode(), digest_size=8).hexdigest()


async def look_for_bell(tx: Tx) -> str | None:
    """Likewise, without writing; None in a book that no process of this version has opened yet."""
    if not await tx.run_sync(_has_table):
        return None
    known = (await tx.execute(select(installation.c.id))).scalar_one_or_none()
    return None if known is None else await bell_of(tx)


async def _place(tx: Tx) -> str:
    if tx.dialect.name == "sqlite":
        path = (await tx.execute(text("SELECT file FROM pragma_database_list WHERE name = 'main'"))).scalar_one()
        return str((await asyncio.to_thread(os.stat, path)).st_ino) if path else ""
    may_ask = "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
    server = ""
    if (await tx.execute(text(may_ask))).scalar_one():
        server = (await tx.execute(text("SELECT system_identifier FROM pg_catalog.pg_control_system()"))).scalar_one()
    which = text("SELECT oid, datname FROM pg_database WHERE datname = current_database()")
    number, name = (await tx.execute(which)).one()
    return f"{server} {number} {name}"


def _has_table(connection: Connection) -> bool:
    return inspect(connection).has_table(installation.name)
