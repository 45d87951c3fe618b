"""Reads what the program wrote down, beside the program: the database, the traces, the punches."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL, NullPool, RowMapping, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from tests.chaos.program import PUNCHES

_SECTION = re.compile(r"^- \*\*run\*\*: (\w+)$", re.MULTILINE)
_UNSETTLED = {
    "messages wait": "SELECT count(*) FROM inbox WHERE state NOT IN ('done', 'parked')",
    "turns run": "SELECT count(*) FROM turns WHERE state = 'running'",
    "compactions are open": "SELECT count(*) FROM compactions WHERE state IN ('planned', 'running')",
    "sections of the trace are missing": "SELECT count(*) FROM compactions WHERE NOT traced",
    "replies are on their way": "SELECT count(*) FROM outbox WHERE state = 'open' OR "
    "(state = 'ready' AND delivered < version)",
}
_ALL_UNSETTLED = "SELECT " + ", ".join(f"({query})" for query in _UNSETTLED.values())


class Ledger:
    """The book of a house, read only: the SQLite file of a DATA_DIR, or the database at ``url``."""

    def __init__(self, data_dir: Path, url: str | None = None) -> None:
        self.folder = data_dir
        self.url = url
        self._engine: AsyncEngine | None = None

    async def rows(self, query: str, **values: object) -> Sequence[RowMapping]:
        """The rows of a query."""
        async with self._connected().connect() as connection:
            return (await connection.execute(text(query), values)).mappings().all()

    async def count(self, query: str, **values: object) -> int:
        """The one number that a query asks for."""
        return int(next(iter((await self.rows(query, **values))[0].values())))

    async def unsettled(self) -> str:
        """What is still under way of all that is stored; empty when nothing is."""
        try:
            counts = (await self.rows(_ALL_UNSETTLED))[0].values()
        except (DBAPIError, OSError) as error:  # there is no book yet, or its server is down
            return f"the book: {error}"
        return ", ".join(f"{count} {what}" for what, count in zip(_UNSETTLED, counts, strict=True) if count)

    async def blocks(self, kind: str) -> AsyncIterator[Mapping[str, Any]]:
        """All blocks of a type in all histories, hidden ones too."""
        for row in await self.rows("SELECT blocks FROM entries ORDER BY agent_id, seq"):
            for block in decoded(row["blocks"]):
                if block["type"] == kind:
                    yield block

    def sections(self) -> Counter[str]:
        """How often each run stands in the trace files."""
        files = self.folder.glob("agents/*/compaction_*.md")
        return Counter(run for file in files for run in _SECTION.findall(file.read_text()))

    def punches(self) -> Counter[str]:
        """How often each punch was made."""
        files = self.folder.glob(f"agents/*/{PUNCHES}")
        return Counter(line for file in files for line in file.read_text().splitlines())

    async def close(self) -> None:
        """Let go of connections."""
        if self._engine:
            await self._engine.dispose()

    def _connected(self) -> AsyncEngine:
        if self._engine is None and self.url:
            self._engine = create_async_engine(self.url, pool_pre_ping=True)
        elif self._engine is None:
            database = f"file:{self.folder / 'palimpsest.db'}"
            url = URL.create("sqlite+aiosqlite", database=database, query={"mode": "ro", "uri": "true"})
            self._engine = create_async_engine(url, poolclass=NullPool, connect_args={"timeout": 30})
        return self._engine


def decoded(value: Any) -> Any:
    """A JSON column: PostgreSQL's driver has read it already, SQLite's has not."""
    return json.loads(value) if isinstance(value, str) else value
