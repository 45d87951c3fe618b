"""One chat's messages: what was said first stands first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bot.bus.bus import Bus
from bot.gateway.chat_delivery import ChatDelivery
from bot.gateway.chats import Chats
from bot.gateway.delivery_fence import DeliveryFence
from bot.messages import Address, Outbound
from bot.runtime.tasks import stop
from bot.store import Database, agents, outbox
from connectors.memory import MemoryConnector

CHAT = Address("room", "1")


class Slow(MemoryConnector):
    """Something happens while it brings its first message."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        if happens := self.meanwhile:
            self.meanwhile = None
            await happens()
        return await super().deliver(outbound)


@pytest.fixture
async def database(data_dir: Path) -> AsyncIterator[Database]:
    book = Database.in_folder(data_dir)
    await book.open()
    yield book
    await book.close()


async def test_a_reply_that_begins_to_grow_stands_below_the_one_that_was_finished_a_moment_before(
    database: Database, tmp_path: Path
) -> None:
    room, bus = Slow("room"), Bus("redis://127.0.0.1:1", "test")
    delivery = ChatDelivery(
        room,
        database,
        bus,
        chats=Chats(database, "room"),
        folder=lambda _: tmp_path,
        fence=await DeliveryFence.begin(database, "connector:room"),
        chat="1",
    )
    async with database.write() as tx:
        await agents.ensure(tx, CHAT, now=0)
        await outbox.say(tx, CHAT, "a notice", now=0)
        first = await outbox.open_slot(tx, CHAT, now=0)

    async def two_turns() -> None:
        delivery.write(CHAT, first, "the fir")
        async with database.write() as tx:
            await outbox.change(tx, first, "the first answer")
            second = await outbox.open_slot(tx, CHAT, now=0)
        delivery.write(CHAT, second, "the second answer, as far as")

    room.meanwhile = two_turns
    delivery.wake()
    delivering = asyncio.create_task(delivery.run())
    await room.until(lambda: len(room.shown.get("1", {})) == 3)
    await stop(delivering)
    shown = [message.text for message in room.shown["1"].values()]
    assert shown == ["a notice", "the first answer", "the second answer, as far as"]
    await bus.close()
