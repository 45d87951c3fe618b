"""PostgreSQL behind a real PgBouncer, which gives a transaction whichever of its connections is free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bot.app.resources import open_resources
from bot.errors import StoreUnavailable
from bot.messages import Address
from bot.runtime.settings import load_settings
from bot.store import Database, agents, inbox
from bot.store.servers.postgres import Pooler
from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.pgbouncer import PGBOUNCER, pgbouncer

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="there is no pgbouncer here (Debian has it)")


@pytest.fixture(params=["transaction", "session"])
def mode(request: pytest.FixtureRequest) -> Pooler:
    """That of the pooler, and what the program is told of it."""
    kind: Pooler = request.param
    return kind


@pytest.fixture
async def pooled(postgres_database: str, mode: Pooler) -> AsyncIterator[str]:
    """The URL of the pooler; in a session a client keeps one of its connections, so there have to be enough."""
    async with pgbouncer(postgres_database, pool_mode=mode, size=3 if mode == "transaction" else 20) as url:
        yield url


@pytest.fixture
def book(pooled: str, external_valkey: str, mode: Pooler) -> dict[str, Any]:
    """Settings of the stores."""
    return {"database_url": pooled, "database_pooler": mode, "redis_url": external_valkey}


async def test_people_talk_and_histories_are_compacted_behind_a_pooler(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        for number in range(3):
            await room.asks(f"message {number}. " + "So it goes on and on. " * 40)
        await room.says("/compact")
        await room.until(lambda: any("Compacted:" in text for text in room.notices()))
        await asyncio.gather(*(room.asks("hello", chat=chat) for chat in ("2", "3", "4")))
        await running.resources.database.scrub()


async def test_many_transactions_share_few_connections_of_the_server(pooled: str, mode: Pooler) -> None:
    both = [Database(pooled, pooler=mode, connections=8) for _ in range(2)]
    await asyncio.gather(*(database.open() for database in both))
    address = Address("room", "1")

    async def work(database: Database, number: int) -> None:
        async with database.write() as tx:
            await agents.ensure(tx, address, now=1.0)
            await tx.execute(text("UPDATE agents SET cooldown = cooldown + 1"))
            await inbox.set_cursor(tx, f"cursor {number % 5}", "1")
        async with database.glance() as tx:
            assert await inbox.cursor(tx, f"cursor {number % 5}") == "1"
        async with database.read() as tx:
            assert len(await inbox.waiting(tx, address.agent_id)) == 0

    await asyncio.gather(*(work(both[number % 2], number) for number in range(60)))
    async with both[0].glance() as tx:
        assert (await tx.execute(text("SELECT cooldown FROM agents"))).scalar_one() == 60
    for database in both:
        await database.close()


async def test_what_stands_still_in_a_transaction_loses_it_behind_a_pooler_too(
    pooled: str, mode: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.servers.postgres._REST_SECONDS", 1)
    database = Database(pooled, pooler=mode)
    await database.open()

    async def stand_still() -> None:
        async with database.write() as tx:
            await inbox.set_cursor(tx, "room", "1")
            await asyncio.sleep(2)
            await inbox.set_cursor(tx, "room", "2")

    with pytest.raises(StoreUnavailable):
        await stand_still()
    async with database.write(long=True) as tx:
        await inbox.set_cursor(tx, "room", "3")
        await asyncio.sleep(2)
        await inbox.set_cursor(tx, "room", "4")
    async with database.glance() as tx:
        assert await inbox.cursor(tx, "room") == "4"
    await database.close()


async def test_a_process_that_is_told_of_no_pooler_ends_with_a_sentence_that_names_the_setting(
    pooled: str, tmp_path: Path
) -> None:
    settings = load_settings(data_dir=tmp_path, anthropic_api_key="test-key", database_url=pooled)
    with pytest.raises(StoreUnavailable, match=r"set DATABASE_POOLER=transaction.*127\.0\.0\.1") as caught:
        async with open_resources(settings):
            pass
    assert len(str(caught.value).splitlines()) == 1
