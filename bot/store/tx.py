"""What the book's functions work with: a transaction, whichever database it is in, and that database's own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection, CursorResult, Dialect, Executable, Table
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")
P = ParamSpec("P")

Insert: TypeAlias = sqlite.Insert | postgresql.Insert


class Tx(Protocol):
    """An open transaction."""

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks."""

    async def execute(
        self, statement: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None, /
    ) -> CursorResult[*tuple[Any, ...]]:
        """Run one statement."""

    async def run_sync(
        self, work: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Do something with the connection itself."""


class InEach:
    """A statement in the words of each kind of database, made once."""

    def __init__(self, table: Table, finished: Callable[[Insert], Insert]) -> None:
        """``finished`` adds its ON CONFLICT to an INSERT into this table."""
        self._made = {"sqlite": finished(sqlite.insert(table)), "postgresql": finished(postgresql.insert(table))}

    def of(self, tx: Tx) -> Insert:
        """For this database."""
        return self._made[tx.dialect.name]


def insert_into(tx: Tx, table: Table) -> Insert:
    """An INSERT that can say ON CONFLICT, in the words of this database."""
    return postgresql.insert(table) if tx.dialect.name == "postgresql" else sqlite.insert(table)
