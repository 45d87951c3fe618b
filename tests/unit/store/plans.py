"""How SQLite goes about what it is asked."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, CursorResult, Dialect

from bot.store.tx import Tx


class Planned:
    """A transaction that notes of each statement how it looks for rows: ``SEARCH entries USING INDEX …``."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.looks: list[str] = []

    @property
    def dialect(self) -> Dialect:
        return self._tx.dialect

    async def execute(self, statement: Any, parameters: Any = None) -> CursorResult[*tuple[Any, ...]]:
        compiled = statement.compile(dialect=self.dialect, compile_kwargs={"render_postcompile": True})
        values = compiled.construct_params(parameters)
        given = tuple(values[name] for name in compiled.positiontup)
        self.looks += await self._tx.run_sync(self._plan, str(compiled), given)
        return await self._tx.execute(statement, parameters)

    async def run_sync(self, work: Any, *arguments: Any, **options: Any) -> Any:
        return await self._tx.run_sync(work, *arguments, **options)

    @staticmethod
    def _plan(connection: Connection, sql: str, given: tuple[Any, ...]) -> list[str]:
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)]
        return [look for look in plan if look.startswith(("SCAN", "SEARCH"))]
