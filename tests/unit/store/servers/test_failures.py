"""What goes wrong at a real PostgreSQL: what is waited for, what is a defect, and what of it can be read."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from bot.bus.bus import Bus
from bot.errors import StoreUnavailable
from bot.gateway.intake import Intake
from bot.messages import Address, Inbound
from bot.runtime.logs import configure
from bot.runtime.settings import load_settings
from bot.store import Database, inbox
from bot.store.operators import parked
from tests.unit.gateway.room_intake import room_intake

HERE = Address("room", "1")
HELLO = Inbound(HERE, "message:1:1", "message", 1, "ada", "hello", "Ada")
SECRET = "my sister is ill"


@pytest.fixture
async def database(postgres_book: str) -> AsyncIterator[Database]:
    """On PostgreSQL."""
    book = Database(postgres_book)
    await book.open()
    yield book
    await book.close()


@pytest.fixture
async def intake(database: Database) -> AsyncIterator[Intake]:
    bus = Bus("redis://127.0.0.1:1", "test")
    yield room_intake(database, bus)
    await bus.close()


async def refuses(database: Database, state: str, *tables: str, message: str = "no room") -> None:
    """The server says no with this SQLSTATE to whoever writes into these tables: with a disk that is full it does so
    by itself."""
    async with database.write() as tx:
        raising = f"RAISE EXCEPTION '{message}' USING ERRCODE = '{state}', DETAIL = 'Failing row contains ({SECRET}).'"
        await tx.execute(
            text(f"CREATE OR REPLACE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {raising}; END $$")
        )
        for table in tables:
            await tx.execute(text(f"CREATE TRIGGER no BEFORE INSERT ON {table} EXECUTE FUNCTION no()"))


async def takes_again(database: Database) -> None:
    async with database.write() as tx:
        await tx.execute(text("DROP FUNCTION no() CASCADE"))


async def kept(database: Database) -> tuple[str | None, list[str]]:
    """How far the platform was read, and what is in either table."""
    async with database.read() as tx:
        cursor = await inbox.cursor(tx, "connector:room")
        waiting = [message.text for message in await inbox.waiting(tx, HERE.agent_id)]
        return cursor, waiting + [one.text for one in await parked.listed(tx)]


OUTAGES = (
    "08006", "53000", "53100", "53200", "53300", "57P01", "57P03", "58000", "58030", "25006", "25P03", "40001",
    "40P01", "55P03", "57014",
)  # fmt: skip


async def test_a_server_that_takes_nothing_for_reasons_of_its_own_is_waited_for(
    intake: Intake, database: Database
) -> None:
    for state in OUTAGES:
        await refuses(database, state, "inbox")
        with pytest.raises(StoreUnavailable, match="no room"):
            await intake.take([HELLO], "2")
        assert await kept(database) == (None, []), state
        await takes_again(database)
    await intake.take([HELLO], "2")
    assert await kept(database) == ("2", ["hello"])


async def test_a_statement_that_a_pooler_has_forgotten_names_the_setting(intake: Intake, database: Database) -> None:
    for state in ("26000", "42P05"):
        await refuses(database, state, "inbox", message='prepared statement "__asyncpg_stmt_1__" does not exist')
        with pytest.raises(StoreUnavailable, match="set DATABASE_POOLER=transaction") as caught:
            await intake.take([HELLO], "2")
        assert len(str(caught.value).splitlines()) == 1
        await takes_again(database)


async def test_what_says_something_of_one_event_alone_puts_that_event_aside(intake: Intake, database: Database) -> None:
    await refuses(database, "22000", "inbox")
    await intake.take([HELLO], "2")
    assert await kept(database) == ("2", ["hello"])


async def test_the_platform_is_not_read_past_an_event_that_nothing_takes(intake: Intake, database: Database) -> None:
    for state in ("22000", "XX000", "P0001"):
        await refuses(database, state, "inbox", "skipped_updates")
        with pytest.raises(StoreUnavailable, match="message:1:1"):
            await intake.take([HELLO, replace(HELLO, key="message:1:2", order=2)], "3")
        assert await kept(database) == (None, []), state
        await takes_again(database)
    await intake.take([HELLO], "3")
    assert await kept(database) == ("3", ["hello"])


async def test_an_event_that_the_driver_cannot_even_send_holds_up_nobody(intake: Intake, database: Database) -> None:
    poison = replace(HELLO, text=SECRET)
    cannot = [
        replace(poison, key="message:1:7", order=2**70),
        replace(poison, key="message:1:8", person="ada\ud800"),
        replace(poison, key="message:1:9", person="ada\x00"),
    ]
    stored = await intake.take([*cannot, HELLO], "2")
    assert [one.text for one in stored.new] == ["hello"]
    assert await kept(database) == ("2", ["hello", *[SECRET] * 3])


async def test_a_server_that_only_reads_is_not_ready_and_is_left_for_the_one_that_writes(database: Database) -> None:
    async with database.glance() as tx:  # the primary that it was connected to is a standby now
        await tx.execute(text("SET default_transaction_read_only = on"))
    with pytest.raises(StoreUnavailable, match="a server that only reads"):
        await _writes(database)
    with pytest.raises(StoreUnavailable, match="a server that only reads"):
        await database.ping()
    await _writes(database)


async def _writes(database: Database) -> None:
    async with database.write() as tx:
        await inbox.set_cursor(tx, "room", "1")


async def test_a_process_whose_connections_are_all_in_use_waits_for_one(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(postgres_database, connections=1)
    monkeypatch.setattr(database._book._engine.sync_engine.pool, "_timeout", 0.05)  # type: ignore[union-attr]  # not 30 s
    async with database.read():
        with pytest.raises(StoreUnavailable, match="in use") as caught:
            async with database.read():
                pass
    assert caught.value.may_pass
    await database.close()


Do = Callable[[Intake, Database], Any]


async def _stores_a_row_that_is_refused(intake: Intake, database: Database) -> None:
    await refuses(database, "22P02", "inbox", message=f'invalid input syntax for type integer: "{SECRET}"')
    await intake.take([replace(HELLO, text=SECRET)], "2")


async def _stores_what_the_driver_cannot_send(intake: Intake, _database: Database) -> None:
    await intake.take([replace(HELLO, text=SECRET, person=f"{SECRET}\ud800")], "2")


async def _stores_beside_an_outage(intake: Intake, database: Database) -> None:
    await refuses(database, "53100", "inbox")
    with pytest.raises(StoreUnavailable) as caught:
        await intake.take([replace(HELLO, text=SECRET)], "2")
    structlog.get_logger().error("told", reason=str(caught.value), exc_info=caught.value)


async def _breaks_a_rule_of_the_tables(_intake: Intake, database: Database) -> None:
    async def twice() -> None:
        async with database.write() as tx:
            for _ in range(2):
                await tx.execute(text("INSERT INTO heads VALUES (:id, '{}')"), {"id": SECRET})

    with pytest.raises(DBAPIError) as caught:
        await twice()
    logging.getLogger("sqlalchemy").error("told", exc_info=caught.value)


@pytest.mark.parametrize(
    "do",
    [
        _stores_a_row_that_is_refused,
        _stores_what_the_driver_cannot_send,
        _stores_beside_an_outage,
        _breaks_a_rule_of_the_tables,
    ],
)
async def test_what_people_say_is_neither_in_the_log_nor_in_the_reason(
    intake: Intake, database: Database, tmp_path: Path, do: Do
) -> None:
    log = StringIO()
    configure(load_settings(data_dir=tmp_path, log_format="json"), file=log)
    await do(intake, database)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert any("exception" in line for line in lines), "a stack was told"
    assert SECRET not in log.getvalue()
    async with database.read() as tx:
        assert not [one for one in await parked.listed(tx) if SECRET in one.reason]
