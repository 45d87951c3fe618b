"""A backup that is made while it runs, and put back into another place, of the same kind or not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.app.archive import tar_file
from bot.app.archive.backup import make, restore
from bot.app.cli import backup
from bot.errors import ConfigurationError
from bot.messages import Address
from bot.runtime.settings import Settings
from bot.store import Database
from bot.store.book import database_of
from bot.store.search import word_index
from bot.store.search.words import query_words
from tests.conftest import BOOKS, OpenHouse, new_database
from tests.house import Room, open_house, settings_for
from tests.servers.messages.server import MessagesServer

CHAT = "7"
ADA = Address("room", CHAT).agent_id
NASTY = "<b>Größe</b> 漢字 \x1b[31m سلام 👩‍👩‍👧 `」"


@pytest.fixture(params=BOOKS)
async def elsewhere(request: pytest.FixtureRequest, model: MessagesServer, tmp_path: Path) -> AsyncIterator[Settings]:
    """A place that is empty: SQLite, or a database of PostgreSQL, whatever the first one was."""
    folder = tmp_path / "elsewhere"
    if request.param == "embedded":
        yield settings_for(model, folder)
        return
    async with new_database(request.getfixturevalue("postgres_url")) as url:
        yield settings_for(model, folder, database_url=url)


@asynccontextmanager
async def book_of(settings: Settings) -> AsyncIterator[Database]:
    """Not opened: as the commands have it."""
    database = database_of(settings)
    yield database
    await database.close()


def files_of(settings: Settings) -> dict[str, bytes]:
    """The conversation's files by their paths."""
    folder = settings.data_dir / "agents" / ADA
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_backup_made_while_it_runs_brings_a_conversation_back_as_it_was(
    house: OpenHouse,
    room: Room,
    elsewhere: Settings,
    model: MessagesServer,
    tmp_path: Path,
) -> None:
    async with house() as opened:
        await room.says("My dog is Rex.", chat=CHAT, files={"notes.txt": b"teal \xff\x00"})
        await room.until(lambda: room.replies(CHAT))
        await room.asks(NASTY, chat=CHAT)
        await room.asks("and so it went on, at some length. " * 60, chat=CHAT)
        await room.commands("/compact", chat=CHAT)
        await room.until(lambda: any("Compacted" in notice for notice in room.notices(CHAT)))
        await room.asks("My cat is Tom.", chat=CHAT)
        before = await opened.history(CHAT), files_of(opened.resources.settings)
        async with book_of(opened.resources.settings) as database:
            made = await make(database, opened.resources.settings, str(tmp_path / "b.tar.gz"))
        await room.asks("My cat is Kim.", chat=CHAT)
    assert (made.conversations, made.left_out) == (1, 0)
    assert any(name.startswith("compaction_") for name in before[1])
    assert before[1]["files/notes.txt"] == b"teal \xff\x00"

    async with book_of(elsewhere) as database:
        assert await restore(database, elsewhere, str(tmp_path / "b.tar.gz")) == made
    assert files_of(elsewhere) == before[1]
    told, asked = room.replies(CHAT), len(model.requests)
    async with open_house(elsewhere, room) as again:
        assert await again.history(CHAT) == before[0]
        assert await room.asks("What is my cat?", chat=CHAT) == "The cat is Tom."
        assert room.replies(CHAT) == [*told, "The cat is Tom."], "something was answered twice"
        assert len(model.requests) == asked + 1
        async with again.resources.database.read() as tx:
            [found] = await word_index.newest(tx, ADA, [query_words("Rex")], low=1, high=99, most=5)
            assert found.seqs


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    """A place with SQLite."""
    return Settings(_env_file=None, data_dir=tmp_path / "data")


@pytest.fixture
async def kept(here: Settings, tmp_path: Path) -> Path:
    """A backup with a conversation in it that has a file of 100,000 bytes."""
    folder = here.data_dir / "agents" / ADA
    folder.mkdir(parents=True)
    (folder / "large").write_bytes(os.urandom(100_000))
    async with book_of(here) as database:
        await database.open()
        await make(database, here, str(tmp_path / "whole.tar"))
    return tmp_path / "whole.tar"


def anew(tmp_path: Path) -> Settings:
    return Settings(_env_file=None, data_dir=tmp_path / "anew")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.97])
async def test_half_a_backup_is_refused_in_a_sentence_and_leaves_nothing(
    kept: Path, tmp_path: Path, share: float
) -> None:
    half = tmp_path / "half.tar"
    content = kept.read_bytes().rstrip(b"\0")
    half.write_bytes(content[: int(len(content) * share) // 512 * 512])
    there = anew(tmp_path)
    async with book_of(there) as database:
        with pytest.raises(ConfigurationError, match=r"half\.tar is no backup, or not whole"):
            await restore(database, there, str(half))
        assert not list((there.data_dir / "agents").glob("*"))
        assert (await restore(database, there, str(kept))).files == 1


async def test_what_is_there_is_not_overwritten(here: Settings, kept: Path) -> None:
    async with book_of(here) as database:
        with pytest.raises(ConfigurationError, match="holds something already: move it aside"):
            await restore(database, here, str(kept))
        (here.data_dir / "agents").rename(here.data_dir / "aside")
        with pytest.raises(ConfigurationError, match="The database holds something already"):
            await restore(database, here, str(kept))
        with pytest.raises(ConfigurationError, match="is there already: choose another name"):
            await make(database, here, str(kept))
    assert not (here.data_dir / "agents").exists() or not list((here.data_dir / "agents").iterdir())


@pytest.mark.parametrize("name", ["../outside", "/outside", "agents/../../outside"])
async def test_a_name_that_leads_out_of_the_folder_is_refused(kept: Path, tmp_path: Path, name: str) -> None:
    crafted = tmp_path / "crafted.tar"
    with tar_file.reading(str(kept)) as members, tar_file.writing(str(crafted), now=1.0) as writer:
        for member in members:
            writer.add(member.name, member.content.read())
            if member.name == tar_file.START:
                writer.add(name, b"x")
    there = anew(tmp_path)
    async with book_of(there) as database:
        with pytest.raises(ConfigurationError, match="leads elsewhere"):
            await restore(database, there, str(crafted))
    assert not list(tmp_path.rglob("outside"))


async def test_links_and_pipes_are_left_out_and_counted(here: Settings, kept: Path, tmp_path: Path) -> None:
    folder = here.data_dir / "agents" / ADA
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    (folder / ("n" * 200)).write_bytes(b"")
    async with book_of(here) as database:
        made = await make(database, here, str(tmp_path / "b.tgz"))
    assert (made.files, made.left_out) == (2, 3)
    with tar_file.reading(str(tmp_path / "b.tgz")) as members:
        names = [member.name for member in members if member.name.startswith("agents/")]
    assert names == [f"agents/{ADA}/large", f"agents/{ADA}/{'n' * 200}"]


async def test_a_backup_by_a_program_that_is_newer_is_refused(kept: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.tar"
    with tar_file.reading(str(kept)) as members, tar_file.writing(str(newer), now=1.0) as writer:
        for member in members:
            content: Any = member.content.read()
            if member.name == tar_file.START:
                content = content.replace(b'"revision": "', b'"revision": "9')
            writer.add(member.name, content)
    there = anew(tmp_path)
    async with book_of(there) as database:
        with pytest.raises(ConfigurationError, match="Start the newer program"):
            await restore(database, there, str(newer))


async def test_where_nothing_was_ever_said_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no database in DATA_DIR="):
        await backup._backup(anew(tmp_path), str(tmp_path / "b.tar"))
    assert not list(tmp_path.iterdir())


async def test_a_file_that_is_no_backup_and_a_folder_that_cannot_be_written_are_said(
    here: Settings, kept: Path, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("hello " * 1_000)
    there = anew(tmp_path)
    async with book_of(there) as database:
        for source, reason in (("text", "is no backup"), ("none", "cannot be read: No such file")):
            with pytest.raises(ConfigurationError, match=reason):
                await restore(database, there, str(tmp_path / source))
    async with book_of(here) as database:
        with pytest.raises(ConfigurationError, match=r"cannot be written: No such file"):
            await make(database, here, str(tmp_path / "none" / "b.tar"))


async def test_a_thousand_rows_come_back_in_pages(here: Settings, tmp_path: Path) -> None:
    async with book_of(here) as database:
        await database.open()
        await asyncio.gather(*(_known(database, number) for number in range(1_001)))
        made = await make(database, here, str(tmp_path / "b.tar"))
    there = anew(tmp_path)
    async with book_of(there) as database:
        assert await restore(database, there, str(tmp_path / "b.tar")) == made
    assert made.conversations == 1_001


async def _known(database: Database, number: int) -> None:
    from bot.store import agents

    async with database.write() as tx:
        await agents.ensure(tx, Address("room", str(number)), now=1.0)
