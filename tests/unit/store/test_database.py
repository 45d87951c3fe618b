"""The book itself: transactions, the fence, its tables."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, select, text, update

from bot.errors import StaleEpoch, StoreUnavailable
from bot.messages import Address, AgentId
from bot.store import Database, Tx, agents, histories, inbox
from bot.store.database import migration_scripts
from bot.store.schema import VERSION, metadata
from bot.store.schema import agents as agents_table
from bot.store.servers.postgres import driver_url
from tests.unit.entries import said

HERE = Address("room", "1")
ADA = HERE.agent_id


async def claimed(database: Database) -> int:
    """The agent is known, and this host has it; returns the epoch."""
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=1.0)
        row = await agents.claim(tx, ADA)
    assert row
    return row.epoch


async def test_the_migrations_make_exactly_the_tables_of_the_schema(database: Database) -> None:
    def differences(connection: Connection) -> list[Any]:
        options = {"compare_type": True, "compare_server_default": True, "include_name": is_described}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))

    def is_described(name: str | None, kind: str, _parents: Any) -> bool:
        """The index of words is no table to SQLAlchemy."""
        return kind != "table" or not str(name).startswith("entry_words")

    def partial_indexes(connection: Connection) -> dict[str, str]:
        return {
            str(index["name"]): str(index.get("dialect_options", {}).get("sqlite_where", ""))
            for table in metadata.tables
            for index in inspect(connection).get_indexes(table)
        }

    async with database.read() as tx:
        assert await tx.run_sync(differences) == []
        made = await tx.run_sync(partial_indexes)
    assert made == {
        str(index.name): "" if (where := index.dialect_options["sqlite"].get("where")) is None else str(where)
        for table in metadata.tables.values()
        for index in table.indexes
    }


def test_the_schema_knows_its_newest_migration() -> None:
    assert migration_scripts().get_current_head() == VERSION


async def test_opening_again_and_twice_at_once_changes_nothing(tmp_path: Path) -> None:
    both = [Database.in_folder(tmp_path) for _ in range(2)]
    await asyncio.gather(*(database.open() for database in both))
    await claimed(both[0])
    await both[1].open()
    async with both[1].read() as tx:
        assert await agents.epoch(tx, ADA) == 1
    for database in both:
        await database.close()


@pytest.mark.parametrize("name", ["plain", "50% of ?it#&", "ünïcode 🙂", "with 'quotes\""])
async def test_a_data_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    database = Database.in_folder(tmp_path / name)
    await database.open()
    assert (tmp_path / name / "palimpsest.db").exists()
    await database.close()


async def test_a_book_that_cannot_be_opened_is_unavailable_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.db").mkdir()
    database = Database.in_folder(tmp_path)
    with pytest.raises(StoreUnavailable, match="The database cannot be opened: "):
        await database.open()
    with pytest.raises(StoreUnavailable):
        await database.ping()
    await closed(database)


async def test_a_database_that_postgresql_does_not_have_is_unavailable_in_a_sentence(postgres_url: str) -> None:
    database = Database(postgres_url.replace("/postgres?", "/nobody?"))
    with pytest.raises(StoreUnavailable, match=r'The database cannot be opened: .*"nobody" does not exist'):
        await database.open()
    await database.close()


async def test_a_book_that_no_longer_is_one_is_unavailable_and_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.db").write_bytes(b"something else, " * 200)
    database = Database.in_folder(tmp_path)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await database.open()
    await closed(database)
    assert (tmp_path / "palimpsest.db").read_bytes() == b"something else, " * 200


async def test_a_book_that_takes_nothing_is_not_ready_and_says_what_to_do(tmp_path: Path) -> None:
    database = Database.in_folder(tmp_path)
    await database.open()

    async with database.write() as tx:
        pages = (await tx.execute(text("PRAGMA page_count"))).scalar_one()
        await tx.execute(text(f"PRAGMA max_page_count={pages + 1}"))
    full = "database or disk is full: make room on the disk of DATA_DIR"
    with pytest.raises(StoreUnavailable, match=full):
        async with database.write() as tx:
            await inbox.set_cursor(tx, "telegram", "x" * 100_000)
    with pytest.raises(StoreUnavailable, match=full):
        await database.ping()
    assert (database.failures, database.refusal) == (1, full)
    await database.close()


async def closed(database: Database) -> None:
    """Close it, and wait for the threads of connections that failed: the driver lets them end when they like."""
    await database.close()
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            await asyncio.to_thread(thread.join, 5)


async def test_what_was_committed_survives_a_power_cut(database: Database) -> None:
    async with database.read() as tx:
        modes = [await pragma(tx, name) for name in ("journal_mode", "synchronous")]
    assert modes == ["wal", 2]


async def pragma(tx: Tx, name: str) -> Any:
    return (await tx.execute(text(f"PRAGMA {name}"))).scalar_one()


async def test_an_error_in_a_transaction_takes_all_of_it_back(database: Database) -> None:
    epoch = await claimed(database)

    async def fail() -> None:
        async with database.fenced(ADA, epoch) as tx:
            await histories.append(tx, ADA, [said(1, "hi")], now=1.0)
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    async with database.read() as tx:
        assert (await histories.load(tx, ADA)).entries == ()


async def test_a_cancelled_transaction_is_taken_back_and_holds_nobody_up(database: Database) -> None:
    epoch = await claimed(database)
    inside = asyncio.Event()

    async def dawdle() -> None:
        async with database.fenced(ADA, epoch) as tx:
            await histories.append(tx, ADA, [said(1, "hi")], now=1.0)
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(dawdle())
    async with asyncio.timeout(5):
        await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(5), database.fenced(ADA, epoch) as tx:
        assert await histories.last_seq(tx, ADA) == 0


async def test_no_update_is_lost_among_many_writers_in_two_processes_own_ways(tmp_path: Path) -> None:
    both = [Database.in_folder(tmp_path) for _ in range(2)]
    await both[0].open()
    await claimed(both[0])

    async def count_up(database: Database) -> None:
        async with database.write() as tx:
            held = (await tx.execute(select(agents_table.c.cooldown))).scalar_one()
            await tx.execute(update(agents_table).values(cooldown=held + 1))

    await asyncio.gather(*(count_up(both[at % 2]) for at in range(60)))
    async with both[0].read() as tx:
        assert (await tx.execute(select(agents_table.c.cooldown))).scalar_one() == 60
    for database in both:
        await database.close()


async def test_a_reader_sees_one_state_while_others_write(database: Database) -> None:
    epoch = await claimed(database)
    async with database.read() as reading:
        assert await histories.last_seq(reading, ADA) == 0
        async with database.fenced(ADA, epoch) as tx:
            await histories.append(tx, ADA, [said(1, "hi")], now=1.0)
        assert await histories.last_seq(reading, ADA) == 0
    async with database.read() as reading:
        assert await histories.last_seq(reading, ADA) == 1


async def test_whoever_has_the_agent_may_write_for_it(database: Database) -> None:
    epoch = await claimed(database)
    async with database.fenced(ADA, epoch) as tx:
        await histories.append(tx, ADA, [said(1, "hi")], now=1.0)
    async with database.read() as tx:
        assert await histories.last_seq(tx, ADA) == 1
        assert (await tx.execute(select(agents_table.c.touched_at))).scalar_one() == 1_000.0


async def test_after_a_glance_a_connection_still_writes_all_or_nothing(database: Database) -> None:
    epoch = await claimed(database)

    async def write_half() -> None:
        async with database.fenced(ADA, epoch) as tx:
            await histories.append(tx, ADA, [said(1, "hi")], now=1.0)
            raise ZeroDivisionError

    for _ in range(3):
        async with database.glance() as tx:
            assert await agents.epoch(tx, ADA) == epoch
        with pytest.raises(ZeroDivisionError):
            await write_half()
    async with database.glance() as tx:
        assert await histories.last_seq(tx, ADA) == 0


@pytest.mark.parametrize("off", [-1, 1])
async def test_a_host_that_lost_the_agent_writes_nothing(database: Database, off: int) -> None:
    epoch = await claimed(database)
    with pytest.raises(StaleEpoch, match=f"room-1 is no longer in epoch {epoch + off}"):
        async with database.fenced(ADA, epoch + off):
            pytest.fail("it got in")
    async with database.read() as tx:
        assert await histories.last_seq(tx, ADA) == 0
        assert (await tx.execute(select(agents_table.c.touched_at))).scalar_one() == 1.0


async def test_nobody_writes_for_an_agent_that_there_is_not(database: Database) -> None:
    with pytest.raises(StaleEpoch):
        async with database.fenced(AgentId("room-404"), 0):
            pytest.fail("it got in")


async def test_each_claim_raises_the_epoch_and_ends_the_one_before(database: Database) -> None:
    first, second = await claimed(database), await claimed(database)
    assert second == first + 1
    with pytest.raises(StaleEpoch):
        async with database.fenced(ADA, first):
            pytest.fail("it got in")
    async with database.fenced(ADA, second):
        pass


async def test_of_many_hosts_that_claim_at_once_each_has_an_epoch_of_its_own(database: Database) -> None:
    epochs = await asyncio.gather(*(claimed(database) for _ in range(10)))
    assert sorted(epochs) == list(range(1, 11))


async def test_an_unknown_agent_cannot_be_claimed(database: Database) -> None:
    async with database.write() as tx:
        assert await agents.claim(tx, ADA) is None
        assert await agents.epoch(tx, ADA) == 0


async def test_what_decides_about_the_next_compaction_is_remembered(database: Database) -> None:
    await claimed(database)
    async with database.write() as tx:
        await agents.remember(tx, ADA, paused=True, cooldown=2, calibration=1.25, calibrated_for="a-model")
        await agents.ensure(tx, HERE, now=2.0)
        row = await agents.claim(tx, ADA)
    assert row
    assert (row.address, row.paused, row.cooldown) == (HERE, True, 2)
    assert (row.calibration, row.calibrated_for) == (1.25, "a-model")


@pytest.mark.parametrize("prefix", ["postgres://", "postgresql://", "postgresql+asyncpg://"])
def test_a_postgresql_url_may_be_written_as_people_write_it(prefix: str) -> None:
    assert driver_url(f"{prefix}me@host/db") == "postgresql+asyncpg://me@host/db"
