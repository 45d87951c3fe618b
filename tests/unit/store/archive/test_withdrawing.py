"""What people delete on their platform, in the book: on both kinds of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.history import Entry, EntryKind
from bot.messages import Address, Inbound, Kept, text_block
from bot.store import Database, agents, histories, inbox, schema
from bot.store.archive import withdrawing
from bot.store.archive.withdrawing import DELETED, HIDDEN, Withdrawn
from bot.store.search import recall

HERE = Address("room", "1")
ADA = HERE.agent_id
SAID = Inbound(HERE, "message:1:7", "message", 7, "ada", "my secret", "Ada", ref="7")
GONE = Inbound(HERE, "delete:message:1:7", "delete", 7, person="", text="", edits=SAID.key)


@pytest.fixture
async def database(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    database = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


async def add(database: Database, inbound: Inbound) -> bool:
    async with database.write() as tx:
        return await inbox.add(tx, inbound, now=1.0)


async def delete(database: Database, deletion: Inbound = GONE) -> Withdrawn:
    async with database.write() as tx:
        return await withdrawing.withdraw(tx, deletion, now=2.0)


async def read(database: Database, *, key: str = SAID.key) -> None:
    """An agent has taken it."""
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=1.0)
        said = Entry(1, "user", (text_block("my secret"),), EntryKind.SAID, person="ada", key=key)
        await histories.append(tx, ADA, [said], now=1.0)


async def blocks(database: Database) -> list[str]:
    async with database.read() as tx:
        history = await histories.load(tx, ADA)
    return [str(block["text"]) for entry in history.entries for block in entry.blocks]


def tokens_of(some: object) -> int:
    return 7


async def test_of_what_waits_only_the_key_stays(database: Database) -> None:
    await add(database, SAID)
    assert (await delete(database)).rings == {ADA}
    async with database.read() as tx:
        assert not await inbox.waiting(tx, ADA)
        assert "secret" not in str((await tx.execute(select(schema.inbox))).all())
        assert not await inbox.heard(tx, HERE, 0)
    assert not await add(database, SAID), "it is not taken when it is brought again"


async def test_the_files_of_what_waits_go_with_it(database: Database) -> None:
    await add(database, SAID)
    async with database.write() as tx:
        kept = [{"name": "a.txt", "path": "files/a.txt", "media_type": "", "size": 1, "problem": ""}]
        await tx.execute(schema.inbox.update().values(attachments=kept))
        [message] = await inbox.waiting(tx, ADA)
        assert message.files == (Kept("a.txt", "files/a.txt", size=1),)
    assert (await delete(database)).files == ((ADA, "files/a.txt"),)


async def test_a_message_of_another_name_or_of_another_platform_stays(database: Database) -> None:
    await add(database, SAID)
    longer = Inbound(HERE, "message:1:77", "message", 77, "ada", "hello")
    elsewhere = Inbound(Address("other", "1"), SAID.key, "message", 7, "ada", "hello")
    await add(database, longer)
    await add(database, elsewhere)
    await delete(database)
    async with database.read() as tx:
        assert [one.key for one in await inbox.waiting(tx, ADA)] == [longer.key]
        assert len(await inbox.waiting(tx, elsewhere.address.agent_id)) == 1


async def test_what_was_read_is_for_its_agent_to_mark_and_that_once(database: Database) -> None:
    await add(database, SAID)
    async with database.write() as tx:
        [message] = await inbox.waiting(tx, ADA)
        await inbox.take(tx, [message.id], "turn")
    await read(database)
    for _ in range(2):
        assert (await delete(database)).rings == {ADA}
    async with database.write() as tx:
        [deletion] = await inbox.waiting(tx, ADA)
        assert (deletion.kind, deletion.text) == ("delete", SAID.key)
        assert await withdrawing.mark(tx, ADA, SAID.key, tokens_of)
        assert not await withdrawing.mark(tx, ADA, SAID.key, tokens_of)
    assert await blocks(database) == ["my secret", DELETED]


async def test_what_is_hidden_is_neither_read_nor_found(database: Database) -> None:
    await add(database, SAID)
    await read(database)
    async with database.write() as tx:
        assert await recall.search(tx, ADA, "secret", audience=recall.PEOPLE, most=5)
        assert await withdrawing.hide(tx, ADA, SAID.key, tokens_of) == frozenset()
        assert await withdrawing.hide(tx, ADA, SAID.key, tokens_of) is None
    assert await blocks(database) == [HIDDEN]
    async with database.read() as tx:
        assert not await recall.search(tx, ADA, "secret", audience=recall.PEOPLE, most=5)
        assert "secret" not in str((await tx.execute(select(schema.inbox))).all())


async def test_what_nobody_ever_said_here_changes_nothing(database: Database) -> None:
    assert await delete(database) == Withdrawn()
    async with database.read() as tx:
        assert not (await tx.execute(select(schema.inbox))).all()


def test_all_texts_of_a_message_have_its_key() -> None:
    assert withdrawing.message_key("message:1:7:edit:99") == withdrawing.message_key(SAID.key) == SAID.key
    assert withdrawing.message_key("press:8") == "press:8"
