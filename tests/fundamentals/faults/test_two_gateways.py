"""Two gateways of one bot, while PostgreSQL stalls for the one that works and Redis forgets that it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import make_url

from bot.app.main import gateway_for
from bot.app.resources import Resources, open_resources
from bot.bus import topics
from bot.gateway.gateway import Gateway
from bot.messages import Address, Say
from bot.runtime.tasks import stop
from bot.store import agents, outbox
from connectors.memory import MemoryConnector
from tests.conftest import MakeSettings
from tests.house import PATIENCE
from tests.servers.proxy import Proxy
from tests.until import until

CHAT = Address("room", "1")
BEGINS = b"UPDATE outbox SET sending"
"""The words of a gateway that is about to send."""


@pytest.fixture(autouse=True)
def _what_waits_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is."""
    for bound in ("_ANSWER_SECONDS", "_REST_SECONDS"):
        monkeypatch.setattr(f"bot.store.servers.postgres.{bound}", 120)


@pytest.fixture
def book(postgres_book: str, external_valkey: str) -> dict[str, Any]:
    """Settings of the stores, for whoever reaches both."""
    return {"database_url": postgres_book, "redis_url": external_valkey}


@pytest.fixture
async def postgres(postgres_book: str) -> AsyncIterator[Proxy]:
    """The wire to PostgreSQL of one of the two."""
    async with Proxy(f"{make_url(postgres_book).query['host']}/.s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
async def redis(external_valkey: str) -> AsyncIterator[Proxy]:
    """Its wire to Redis."""
    async with Proxy(external_valkey.removeprefix("unix://")) as proxy:
        yield proxy


@asynccontextmanager
async def works(resources: Resources, room: MemoryConnector) -> AsyncIterator[Gateway]:
    """A gateway of this process, from when the lease is its until the end of the block."""
    gateway = gateway_for(resources, room, "connector:room")
    working = asyncio.create_task(gateway.run())
    try:
        await until(lambda: gateway.is_active, seconds=PATIENCE)
        yield gateway
    finally:
        await stop(working)


async def _say(resources: Resources, text: str) -> None:
    async with resources.database.write() as tx:
        await agents.ensure(tx, CHAT, now=0)
        await outbox.say(tx, CHAT, text, now=0)
    resources.bus.ring(topics.outbox("room"))


@pytest.mark.parametrize("at", [BEGINS, b"COMMIT"], ids=["before it begins to send", "when it has begun"])
async def test_what_one_gateway_is_about_to_send_is_sent_once_while_postgresql_stalls_and_redis_forgets(
    book: Mapping[str, Any], postgres: Proxy, redis: Proxy, settings: MakeSettings, at: bytes
) -> None:
    host, room = make_url(book["database_url"]), MemoryConnector("room", patience=PATIENCE)
    stalled = settings(
        database_url=f"postgresql://postgres@{postgres.address}/{host.database}", redis_url=f"redis://{redis.address}/0"
    )
    async with AsyncExitStack() as stack:
        other, one = [await stack.enter_async_context(open_resources(each)) for each in (settings(), stalled)]
        old = await stack.enter_async_context(works(one, room))
        stack.callback(redis.restore)
        stack.callback(postgres.restore)  # who ends is to reach both, also where this fails
        postgres.stall(at, after=BEGINS)
        await _say(other, "hello")
        async with asyncio.timeout(PATIENCE):
            await postgres.stalled.wait()
        redis.blackhole()
        await other.bus.redis.flushall()
        async with works(other, room):
            await room.until(lambda: room.notices() == ["hello"])
            assert old.is_active, "it has noticed nothing"
            postgres.restore()
            await until(lambda: not old.is_active or len(room.notices()) > 1, seconds=PATIENCE)
            redis.restore()
            await _say(other, "and now?")
            await room.until(lambda: "and now?" in room.notices())
    assert [said.text for said in room.delivered if isinstance(said, Say)] == ["hello", "and now?"]
