"""Writers of the embedded book share commits, and none of them loses or keeps what it should not."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import URL, text

from bot.store.servers.sqlite import SqliteFile

MAKE = (
    "CREATE TABLE words (word TEXT PRIMARY KEY)",
    "CREATE TABLE links (word TEXT REFERENCES words (word) DEFERRABLE INITIALLY DEFERRED)",
)


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    """A file with two tables; a link to no word is refused by the commit."""
    file = SqliteFile(URL.create("sqlite", database=str(tmp_path / "book.db")))
    async with file.write() as tx:
        for statement in MAKE:
            await tx.execute(text(statement))
    yield file
    await file.close()


async def put(file: SqliteFile, word: str, *, fail: bool = False, table: str = "words") -> None:
    async with file.write() as tx:
        await tx.execute(text(f"INSERT INTO {table} VALUES (:word)"), {"word": word})
        if fail:
            raise RuntimeError(word)


async def words(file: SqliteFile, *, long: bool = False) -> list[str]:
    async with file.read(long=long) as tx:
        return [row[0] for row in await tx.execute(text("SELECT word FROM words ORDER BY word"))]


async def beside(file: SqliteFile) -> None:
    """Write "first", and give the others time to stand in line, so that they join."""
    async with file.write() as tx:
        await tx.execute(text("INSERT INTO words VALUES ('first')"))
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.parametrize("disk", [0.0, 1.0], ids=["a quick disk", "a slow one"])
async def test_what_one_writer_takes_back_costs_the_others_nothing(file: SqliteFile, disk: float) -> None:
    file._disk_seconds = disk
    first = asyncio.create_task(beside(file))
    await asyncio.sleep(0)
    results = await asyncio.gather(
        first, put(file, "bad", fail=True), put(file, "good"), put(file, "worse", fail=True), return_exceptions=True
    )
    assert [str(result) for result in results if result] == ["bad", "worse"]
    assert await words(file) == ["first", "good"]


async def test_a_writer_that_fails_alone_leaves_nothing(file: SqliteFile) -> None:
    with pytest.raises(RuntimeError):
        await put(file, "bad", fail=True)
    assert await words(file) == []
    await put(file, "good")
    assert await words(file) == ["good"]


async def test_who_waits_in_line_and_gives_up_does_not_keep_the_one_before_from_lasting(file: SqliteFile) -> None:
    waiting: list[asyncio.Task[None]] = []

    async def write_and_send_away() -> None:
        async with file.write() as tx:
            waiting.append(asyncio.create_task(put(file, "never")))
            await tx.execute(text("INSERT INTO words VALUES ('first')"))
            await asyncio.sleep(0)
            waiting[0].cancel()

    async with asyncio.timeout(10):
        await write_and_send_away()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
    assert await words(file) == ["first"]


async def test_nobody_goes_on_before_what_it_wrote_lasts(file: SqliteFile, tmp_path: Path) -> None:
    """Another connection sees it at once."""

    async def write_and_look(word: str) -> bool:
        await put(file, word)
        other = sqlite3.connect(tmp_path / "book.db")
        try:
            return other.execute("SELECT 1 FROM words WHERE word = ?", (word,)).fetchone() is not None
        finally:
            other.close()

    assert all(await asyncio.gather(*(write_and_look(f"{number:02}") for number in range(50))))


@pytest.mark.parametrize("disk", [0.0, 1.0], ids=["a quick disk", "a slow one"])
async def test_a_commit_that_is_refused_is_told_to_all_who_share_it(file: SqliteFile, disk: float) -> None:
    file._disk_seconds = disk
    first = asyncio.create_task(beside(file))
    await asyncio.sleep(0)
    results = await asyncio.gather(first, put(file, "nowhere", table="links"), return_exceptions=True)
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 2
    assert await words(file) == []
    await put(file, "again")
    assert await words(file, long=True) == ["again"]


async def test_another_process_that_writes_is_waited_for(file: SqliteFile, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "book.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writing = asyncio.create_task(put(file, "later"))
    assert await words(file) == []
    other.execute("COMMIT")
    other.close()
    await writing
    assert await words(file) == ["later"]


@pytest.mark.parametrize("disk", [0.0, 1.0], ids=["a quick disk", "a slow one"])
async def test_who_comes_after_the_end_is_sent_away_and_who_came_before_has_written(
    file: SqliteFile, tmp_path: Path, disk: float
) -> None:
    file._disk_seconds = disk
    before = asyncio.create_task(beside(file))
    await asyncio.sleep(0)
    closing = asyncio.create_task(file.close())
    await asyncio.sleep(0)
    late = asyncio.create_task(put(file, "late"))
    with pytest.raises(sqlite3.OperationalError, match="closed"):
        await late
    await asyncio.gather(before, closing)
    with pytest.raises(sqlite3.OperationalError, match="closed"):
        await words(file)
    with sqlite3.connect(tmp_path / "book.db") as other:
        assert other.execute("SELECT word FROM words").fetchall() == [("first",)]
    other.close()
