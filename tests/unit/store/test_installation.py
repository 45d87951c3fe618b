"""The id that tells one book from every other one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.app.archive.backup import make, restore
from bot.runtime.settings import Settings
from bot.store import Database, installation
from bot.store.book import database_of


async def id_of(database: Database) -> str:
    async with database.write() as tx:
        return await installation.id_of(tx)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'book.db'}"
    return str(request.getfixturevalue("postgres_database"))


async def test_processes_that_ask_for_the_first_time_at_once_are_told_the_same(url: str) -> None:
    books = [Database(url) for _ in range(4)]
    await books[0].open()
    ids = await asyncio.gather(*(id_of(book) for book in books))
    assert len(set(ids)) == 1
    assert len(ids[0]) == 32
    assert await id_of(books[0]) == ids[0]
    for book in books:
        await book.close()


async def test_a_restored_book_is_another_one(tmp_path: Path) -> None:
    settings = [Settings(_env_file=None, data_dir=tmp_path / name) for name in ("old", "new")]
    old, new = map(database_of, settings)
    await old.open()
    before = await id_of(old)
    await make(old, settings[0], str(tmp_path / "b.tar"))
    await restore(new, settings[1], str(tmp_path / "b.tar"))
    assert await id_of(new) != before
    assert await id_of(old) == before
    await old.close()
    await new.close()
