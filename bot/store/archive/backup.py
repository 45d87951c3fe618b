"""The whole book as plain rows, which SQLite and PostgreSQL take alike: to back it up, to restore it, to move it.

Tables are read as they are there, and not as this program would make them, so a book can be backed up before its
upgrade, and a backup restored by a newer program. What is made from other rows (the index of words) is made again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ColumnClause,
    Connection,
    LargeBinary,
    TableClause,
    Text,
    cast,
    column,
    func,
    inspect,
    literal,
    select,
    table,
    text,
    tuple_,
)
from sqlalchemy.exc import DBAPIError

from bot.errors import ConfigurationError
from bot.store.database import revision_of
from bot.store.search import word_index
from bot.store.tx import Tx

ROWS_AT_ONCE = 200
"""What is held in memory at a time."""

_GAP = 1_000_000
_LEFT_OUT = ("alembic_version", "page_sessions", "installation", "entry_words", "sqlite_")
"""Beginnings of names: its version, which stands in the layout; who is logged in; which book it is, since the one that
is restored is another; and what is made from other rows."""


@dataclass(frozen=True)
class Layout:
    """``revision`` of the tables, and the columns of each."""

    revision: str
    tables: Mapping[str, Sequence[str]]


async def layout(tx: Tx) -> Layout:
    """How this book is laid out. Raises ConfigurationError for one without tables."""
    found = await tx.run_sync(_layout)
    if found is None:
        raise ConfigurationError("The database is empty: nothing was ever said in it.")
    return found


async def batches(tx: Tx, name: str, columns: Sequence[str]) -> AsyncIterator[list[str]]:
    """All rows of a table in the order of its key, some at a time; each as a line of JSON, its values in the order of
    the columns."""
    key = await tx.run_sync(lambda connection: inspect(connection).get_pk_constraint(name)["constrained_columns"])
    types = await _types(tx, name)
    there = _named(name, columns)
    places = [columns.index(part) for part in key]
    chosen = [cast(there.c[one], Text) if isinstance(types[one], JSON) else there.c[one] for one in columns]
    query = select(*chosen).order_by(*(there.c[part] for part in key)).limit(ROWS_AT_ONCE)
    found = (await tx.execute(query)).all()
    while found:
        yield [json.dumps([_as_json(value) for value in row], ensure_ascii=False) for row in found]
        after = tuple_(*(_literal(found[-1][place]) for place in places))
        found = (await tx.execute(query.where(tuple_(*(there.c[part] for part in key)) > after))).all()


async def put(tx: Tx, name: str, columns: Sequence[str], lines: Sequence[str]) -> None:
    """Write rows as :func:`batches` gave them. Raises ConfigurationError for what this database does not take."""
    types = await _types(tx, name)
    if unknown := set(columns) - types.keys():
        raise ConfigurationError(f"This is no backup of ours: {name} has no {', '.join(sorted(unknown))}.")
    rows = [
        {one: _of_type(value, types[one]) for one, value in zip(columns, json.loads(line), strict=True)}
        for line in lines
    ]
    try:
        await tx.execute(_named(name, columns).insert(), rows)
    except DBAPIError as error:
        reason = next(iter(str(error.orig).splitlines()), "")
        raise ConfigurationError(f"The database does not take rows of {name}: {reason}.") from error


async def finish(tx: Tx, tables: Mapping[str, Sequence[str]]) -> None:
    """After the last row: new rows get new numbers, words are found again, and platforms are listened to from now on.

    How far a platform was read is not restored: what was said there since the backup was answered then, and would be
    answered once more.
    """
    await tx.execute(_named("cursors", ()).delete())
    await _leave_a_gap(tx, tables["outbox"])
    if tx.dialect.name == "postgresql":
        for name in tables:
            await _count_on(tx, name)
    if await tx.run_sync(lambda connection: inspect(connection).has_table("entry_words")):
        await word_index.refill(tx)


async def _leave_a_gap(tx: Tx, columns: Sequence[str]) -> None:
    """The next message gets a number that none had, also none after the backup: by its number a platform tells whether
    it was sent already."""
    outbox = _named("outbox", columns)
    newest = select(func.max(outbox.c.id)).scalar_subquery()
    changed = {"id": outbox.c.id + _GAP, "state": literal("void"), "text": literal("")}
    row = select(*(changed.get(one, outbox.c[one]) for one in columns)).where(outbox.c.id == newest)
    await tx.execute(outbox.insert().from_select(list(columns), row))


async def _count_on(tx: Tx, name: str) -> None:
    columns = await tx.run_sync(lambda connection: inspect(connection).get_columns(name))
    for one in columns:
        if "nextval" in str(one["default"]):
            number: ColumnClause[int] = column(str(one["name"]))
            largest = (await tx.execute(select(func.max(number)).select_from(table(name)))).scalar_one()
            if largest is not None:
                values = {"table": name, "number": number.name, "largest": largest}
                await tx.execute(text("SELECT setval(pg_get_serial_sequence(:table, :number), :largest)"), values)


def _layout(connection: Connection) -> Layout | None:
    revision = revision_of(connection)
    if revision is None:
        return None
    inspector = inspect(connection)
    names = sorted(name for name in inspector.get_table_names() if not name.startswith(_LEFT_OUT))
    return Layout(revision, {name: [str(one["name"]) for one in inspector.get_columns(name)] for name in names})


async def _types(tx: Tx, name: str) -> dict[str, object]:
    columns = await tx.run_sync(lambda connection: inspect(connection).get_columns(name))
    return {str(one["name"]): one["type"] for one in columns}


def _named(name: str, columns: Sequence[str]) -> TableClause:
    """Columns without types: values come and go as the driver has them."""
    return table(name, *(column(one) for one in columns))


def _literal(value: object) -> Any:
    return literal(value, BigInteger()) if isinstance(value, int) else literal(value)


def _as_json(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _of_type(value: Any, type_: object) -> object:
    if value is None:
        return None
    if isinstance(type_, Boolean):
        return bool(value)
    return base64.b64decode(value["base64"]) if isinstance(type_, LargeBinary) else value
