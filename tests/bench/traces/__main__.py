"""What 400 messages leave behind: the first 200 turns of the long conversation of `tests.bench.sawtooth`, with a window
of 8,000 tokens; bytes of the daily files and of the rows of its compactions.

    python -m tests.bench.traces [STRATEGY …]
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import logging
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import structlog

from tests.bench.sawtooth.conversation import conversation
from tests.bench.sawtooth.running import course_of

TURNS = 200
"""Of two messages each."""
COLUMNS = ("plan", "result", "inference", "trace", "record")
"""Of the compactions' rows: those that can be long."""


def main() -> None:
    """One line a strategy, as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.traces", description=__doc__)
    parser.add_argument("strategy", nargs="*", default=["reset"], help="as in AGENTS__STRATEGY")
    parser.add_argument("--keep", type=Path, help="a folder in which all of it stays")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    files = ("daily files", "lines that stand there once", "compressed")
    _row(("strategy", "compactions", *files, "rows of compactions", "of them", "database"))
    _row(("---", *("--:" for _ in range(5)), "---", "--:"))
    for name in chosen.strategy:
        with tempfile.TemporaryDirectory(prefix="palimpsest-") as made:
            folder = chosen.keep / name if chosen.keep else Path(made)
            folder.mkdir(parents=True, exist_ok=True)
            asyncio.run(course_of(name, conversation()[:TURNS], folder))
            _row((f"`{name}`", *_left_behind(folder)))


def _left_behind(folder: Path) -> Sequence[str]:
    files = [path.read_bytes() for path in sorted(folder.glob("agents/*/compaction_*.md"))]
    book = sqlite3.connect(folder / "palimpsest.db")
    there = {row[1] for row in book.execute("PRAGMA table_info(compactions)")}
    columns = [name for name in COLUMNS if name in there]
    sizes = {name: _one(book, f"SELECT sum(length(CAST({name} AS BLOB))) FROM compactions") for name in columns}
    count = _one(book, "SELECT count(*) FROM compactions")
    book.execute("VACUUM INTO ?", (str(folder / "copy.db"),))
    return (
        str(count),
        f"{sum(map(len, files)):,}",
        f"{sum(map(_said_once, files)):,}",
        f"{sum(len(gzip.compress(file)) for file in files):,}",
        f"{sum(sizes.values()):,}",
        ", ".join(f"{name} {size:,}" for name, size in sizes.items()),
        f"{(folder / 'copy.db').stat().st_size:,}",
    )


def _said_once(file: bytes) -> int:
    """Bytes that are left where each line of a file stands there one time."""
    return sum(len(line) + 1 for line in set(file.split(b"\n")))


def _one(book: sqlite3.Connection, query: str) -> int:
    return int(book.execute(query).fetchone()[0] or 0)


def _row(cells: Sequence[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
