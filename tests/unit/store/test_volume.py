"""The volume that all hosts share: which one it is, and that no process starts on another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.store import Database
from bot.store.volume import adopt, known, read, settle


@pytest.fixture
async def book(postgres_book: str) -> AsyncIterator[Database]:
    """A PostgreSQL that several hosts share."""
    database = Database(postgres_book)
    await database.open()
    yield database
    await database.close()


async def _known(book: Database) -> str | None:
    async with book.read() as tx:
        return await known(tx)


async def test_the_first_process_names_its_volume_and_the_next_one_finds_it(book: Database, tmp_path: Path) -> None:
    await settle(book, tmp_path)
    named = read(tmp_path)
    assert named
    assert await _known(book) == named
    await settle(book, tmp_path)
    assert read(tmp_path) == named


async def test_processes_that_start_at_the_same_moment_agree(book: Database, tmp_path: Path) -> None:
    await asyncio.gather(*(settle(book, tmp_path) for _ in range(8)))
    assert await _known(book) == read(tmp_path)
    assert [path.name for path in (tmp_path / "agents").iterdir()] == [".volume"]


async def test_of_two_volumes_at_the_same_moment_one_is_taken_and_the_other_refused(
    book: Database, tmp_path: Path
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    ended = await asyncio.gather(*(settle(book, folder) for folder in folders), return_exceptions=True)
    assert [type(error) for error in ended if error] == [ConfigurationError]
    assert {read(folder) for folder in folders} == {None, await _known(book)}


async def test_an_empty_folder_beside_a_book_that_knows_a_volume_is_refused_and_stays_empty(
    book: Database, tmp_path: Path
) -> None:
    await settle(book, tmp_path / "shared")
    with pytest.raises(ConfigurationError, match=r"there is no agents/\.volume in it.*palimpsest volume adopt"):
        await settle(book, tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


async def test_the_volume_of_another_book_is_refused(book: Database, tmp_path: Path) -> None:
    await settle(book, tmp_path / "shared")
    (tmp_path / "other" / "agents").mkdir(parents=True)
    (tmp_path / "other" / "agents" / ".volume").write_text("something else\n")
    with pytest.raises(ConfigurationError, match="the volume of another database"):
        await settle(book, tmp_path / "other")


async def test_an_empty_book_takes_over_the_volume_that_it_finds(book: Database, tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / ".volume").write_text("of before\n")
    await settle(book, tmp_path)
    assert await _known(book) == "of before"


async def test_a_volume_is_adopted_by_saying_so(book: Database, tmp_path: Path) -> None:
    await settle(book, tmp_path / "lost")
    adopted = await adopt(book, tmp_path / "restored")
    await settle(book, tmp_path / "restored")
    assert read(tmp_path / "restored") == adopted
    with pytest.raises(ConfigurationError):
        await settle(book, tmp_path / "lost")


async def test_a_folder_that_cannot_be_used_is_said_in_a_sentence(book: Database) -> None:
    with pytest.raises(ConfigurationError, match="DATA_DIR=/proc/palimpsest cannot be used"):
        await settle(book, Path("/proc/palimpsest"))
    assert await _known(book) is None
