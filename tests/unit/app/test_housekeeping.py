"""What is settled leaves the queues after a while; what is not, stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.agent.compacting.trace_files import days_on_disk
from bot.app.housekeeping import compress_trace_files, remove_trace_files
from bot.messages import Address, Inbound
from bot.runtime.utc_day import bounds_of
from bot.store import Database, inbox, outbox, schema, turns
from bot.store.archive import settled

HERE = Address("room", "1")
OLD, LATER, NOW = 1.0, 50.0, 100.0


@pytest.fixture
async def queues(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """An empty book of either kind."""
    database = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


async def say(queues: Database, number: int, *, now: float) -> int:
    """Somebody says something; returns its row."""
    async with queues.write() as tx:
        await inbox.add(tx, Inbound(HERE, f"message:1:{number}", "message", number, "ada", "hello"), now=now)
        rows = await tx.execute(select(schema.inbox.c.id).where(schema.inbox.c.position == number))
        return int(rows.scalar_one())


async def forget(queues: Database) -> int:
    async with queues.write() as tx:
        return await settled.forget(tx, before=LATER)


async def left(queues: Database, table: str) -> list[int]:
    async with queues.read() as tx:
        rows = await tx.execute(select(schema.metadata.tables[table].c.id).order_by("id"))
        return [row[0] for row in rows]


async def test_what_was_answered_long_ago_leaves_the_inbox(queues: Database) -> None:
    answered, waiting, taken = [await say(queues, number, now=OLD) for number in (1, 2, 3)]
    recent, last = [await say(queues, number, now=NOW) for number in (4, 5)]
    async with queues.write() as tx:
        await turns.begin(tx, "turn", HERE.agent_id, 1, now=OLD)
        await inbox.take(tx, [taken], "turn")
        await inbox.close(tx, [answered, recent])
    assert await forget(queues) == 1
    assert await left(queues, "inbox") == [waiting, taken, recent, last]


async def test_what_people_saw_long_ago_leaves_the_outbox(queues: Database) -> None:
    async with queues.write() as tx:
        seen, changed, unseen = [await outbox.say(tx, HERE, "hello", now=OLD) for _ in range(3)]
        growing, void = [await outbox.open_slot(tx, HERE, now=OLD) for _ in range(2)]
        recent = await outbox.say(tx, HERE, "hello", now=NOW)
        for slot in (seen, changed, recent):
            await outbox.delivered(tx, slot, 1, ["7"])
        await outbox.change(tx, changed, "hello again")
        await outbox.void(tx, void)
        await outbox.delivered(tx, void, 1, [])
        last = await outbox.say(tx, HERE, "hello", now=NOW)
    assert await forget(queues) == 2
    assert await left(queues, "outbox") == [changed, unseen, growing, recent, last]


async def test_no_number_is_given_twice(queues: Database) -> None:
    only = await say(queues, 1, now=OLD)
    async with queues.write() as tx:
        await inbox.close(tx, [only])
    assert await forget(queues) == 0
    assert await say(queues, 2, now=NOW) > only


def test_daily_files_are_removed_when_their_day_was_over_long_ago(tmp_path: Path) -> None:
    names = ["compaction_20261101.md", "compaction_20261102.md", "compaction_20261399.md", "notes.md"]
    for folder in ("room-1", "room-2"):
        (tmp_path / "agents" / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / "agents" / folder / name).write_text("x")
    assert remove_trace_files(tmp_path, bounds_of("20261102")[0]) == 2
    assert remove_trace_files(tmp_path, bounds_of("20261102")[0]) == 0
    left = {path.name for path in (tmp_path / "agents").rglob("*.md")}
    assert left == {*names} - {"compaction_20261101.md"}


def test_daily_files_are_compressed_some_time_before_that(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "room-1"
    folder.mkdir(parents=True)
    for name in ("compaction_20261101.md", "compaction_20261102.md", "compaction_20261399.md"):
        (folder / name).write_text("x")
    assert compress_trace_files(tmp_path, bounds_of("20261102")[0]) == 1
    assert compress_trace_files(tmp_path, bounds_of("20261102")[0]) == 0
    assert (folder / "compaction_20261101.md.gz").exists()
    assert [path.name for path in sorted(folder.glob("*.md"))] == ["compaction_20261102.md", "compaction_20261399.md"]
    assert [day.day for day in days_on_disk(tmp_path)] == ["20261101", "20261102", "20261399"]
    assert remove_trace_files(tmp_path, bounds_of("20261102")[0]) == 1
    assert not (folder / "compaction_20261101.md.gz").exists()
