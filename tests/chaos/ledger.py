"""Reads what the program wrote down, beside the program: the database, the traces, the punches."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.chaos.program import PUNCHES

_SECTION = re.compile(r"^- \*\*run\*\*: (\w+)$", re.MULTILINE)
_UNSETTLED = {
    "messages wait": "SELECT count(*) FROM inbox WHERE state != 'done'",
    "turns run": "SELECT count(*) FROM turns WHERE state = 'running'",
    "compactions are open": "SELECT count(*) FROM compactions WHERE state IN ('planned', 'running')",
    "sections of the trace are missing": "SELECT count(*) FROM compactions WHERE NOT traced",
    "replies are on their way": "SELECT count(*) FROM outbox WHERE state = 'open' OR delivered < version",
}


class Ledger:
    """The book of one DATA_DIR, read only."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "palimpsest.db"
        self.folder = data_dir

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """The rows of a query."""
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=30)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(query, values).fetchall()

    def count(self, query: str, *values: object) -> int:
        """The one number that a query asks for."""
        return int(self.rows(query, *values)[0][0])

    def unsettled(self, events: int) -> str:
        """What is still under way when people did ``events`` things; empty when nothing is."""
        try:
            stored = self.count("SELECT count(*) FROM inbox")
            under_way = [f"{n} {what}" for what, query in _UNSETTLED.items() if (n := self.count(query))]
        except sqlite3.OperationalError as error:  # there is no book yet
            return str(error)
        return ", ".join([*under_way, *([f"{stored} of {events} stored"] if stored != events else [])])

    def blocks(self, kind: str) -> Iterator[dict[str, Any]]:
        """All blocks of a type in the history, hidden ones too."""
        for row in self.rows("SELECT blocks FROM entries ORDER BY seq"):
            yield from (block for block in json.loads(row["blocks"]) if block["type"] == kind)

    def sections(self) -> Counter[str]:
        """How often each run stands in the trace files."""
        files = self.folder.glob("agents/*/compaction_*.md")
        return Counter(run for file in files for run in _SECTION.findall(file.read_text()))

    def punches(self) -> Counter[str]:
        """How often each punch was made."""
        files = self.folder.glob(f"agents/*/{PUNCHES}")
        return Counter(line for file in files for line in file.read_text().splitlines())
