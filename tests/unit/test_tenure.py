"""Two gateways of one connector, one of which has not noticed yet that the other one took over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.bus import Bus
from bot.chats import Chats
from bot.lane import Lane
from bot.messages import Address
from bot.store import Database, agents, outbox
from bot.tasks import stop
from bot.tenure import IN_FLIGHT_SECONDS, Tenure
from tests.house import Room

LEASE = "connector:room"
CHAT = Address("room", "1")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    book = Database.in_folder(tmp_path)
    await book.open()
    yield book
    await book.close()


async def said(database: Database) -> int:
    """Something to be sent; returns its slot."""
    async with database.write() as tx:
        await agents.ensure(tx, CHAT, now=0)
        return await outbox.say(tx, CHAT, "hello", now=0)


async def test_only_the_newest_gateway_begins_a_send(database: Database) -> None:
    slot = await said(database)
    old = await Tenure.begin(database, LEASE)
    assert await old.begin_sending(database, slot)
    new = await Tenure.begin(database, LEASE)
    assert not old.over.is_set()
    assert not await old.begin_sending(database, slot)
    assert old.over.is_set()
    assert await new.begin_sending(database, slot)


async def test_a_gateway_of_another_connector_takes_nothing_over(database: Database) -> None:
    slot = await said(database)
    ours = await Tenure.begin(database, LEASE)
    await Tenure.begin(database, "connector:other")
    assert await ours.begin_sending(database, slot)


async def test_what_another_gateway_may_be_sending_is_left_alone_for_a_moment(database: Database) -> None:
    slot, now = await said(database), 100.0
    tenure = Tenure(LEASE, 1, clock=lambda: now, began=99.0)
    assert tenure.in_flight(slot) == IN_FLIGHT_SECONDS - 1
    now = 99.0 + IN_FLIGHT_SECONDS
    assert tenure.in_flight(slot) == 0


async def test_what_we_began_to_send_ourselves_is_looked_for_at_once(database: Database) -> None:
    slot = await said(database)
    tenure = await Tenure.begin(database, LEASE)
    assert await tenure.begin_sending(database, slot)
    assert tenure.in_flight(slot) == 0
    tenure.settled(slot)
    assert tenure.in_flight(slot) > 0


async def test_a_lane_whose_gateway_was_followed_by_another_sends_nothing(database: Database, tmp_path: Path) -> None:
    await said(database)
    room, bus = Room(), Bus("redis://127.0.0.1:1")
    old, new = [
        Lane(
            room,
            database,
            bus,
            chats=Chats(database, "room"),
            folder=lambda _: tmp_path,
            tenure=await Tenure.begin(database, LEASE),
            chat="1",
        )
        for _ in range(2)
    ]
    old.wake()
    await old.run()
    assert not room.shown
    new.wake()
    delivering = asyncio.create_task(new.run())
    await room.until(lambda: "1" in room.shown)
    await stop(delivering)
    assert [message.text for message in room.shown["1"].values()] == ["hello"]
    await bus.close()
