"""Two gateways of one connector, one of which has not noticed yet that the other one took over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bot.bus.bus import Bus
from bot.gateway.chat_delivery import ChatDelivery
from bot.gateway.chats import Chats
from bot.gateway.delivery_fence import IN_FLIGHT_SECONDS, DeliveryFence
from bot.messages import Address, Edit, Outbound, Say
from bot.runtime.tasks import stop
from bot.store import Database, agents, outbox
from connectors.memory import MemoryConnector

LEASE = "connector:room"
CHAT = Address("room", "1")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, data_dir: Path) -> str:
    embedded = request.param == "sqlite"
    return f"sqlite:///{data_dir}/palimpsest.db" if embedded else str(request.getfixturevalue("postgres_book"))


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    book = Database(url)
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
    old = await DeliveryFence.begin(database, LEASE)
    assert await old.begin_sending(slot)
    new = await DeliveryFence.begin(database, LEASE)
    assert not old.over.is_set()
    assert not await old.begin_sending(slot)
    assert old.over.is_set()
    assert await new.begin_sending(slot, was_begun=True)


async def test_of_gateways_that_begin_at_the_same_moment_each_has_a_number_of_its_own(database: Database) -> None:
    fences = await asyncio.gather(*(DeliveryFence.begin(database, LEASE) for _ in range(12)))
    assert sorted(fence.number for fence in fences) == list(range(1, 13))


async def test_what_is_being_sent_or_has_arrived_is_not_begun_again(database: Database) -> None:
    slot = await said(database)
    fence = await DeliveryFence.begin(database, LEASE)
    begun = await asyncio.gather(*(fence.begin_sending(slot) for _ in range(5)))
    assert sorted(begun) == [False, False, False, False, True]
    assert await fence.begin_sending(slot, was_begun=True), "it was looked for, and is not there"
    async with database.write() as tx:
        await outbox.delivered(tx, slot, 1, ["7"])
    assert not await fence.begin_sending(slot)
    assert not fence.over.is_set()


async def test_whoever_was_followed_says_nothing_of_what_the_other_one_sends(database: Database) -> None:
    slot = await said(database)
    old = await DeliveryFence.begin(database, LEASE)
    assert await old.begin_sending(slot)
    new = await DeliveryFence.begin(database, LEASE)
    assert await new.begin_sending(slot, was_begun=True)
    await old.not_sent(slot)
    async with database.read() as tx:
        [row] = await outbox.pending(tx, "room", "1")
    assert row.sending


async def test_a_gateway_of_another_connector_takes_nothing_over(database: Database) -> None:
    slot = await said(database)
    ours = await DeliveryFence.begin(database, LEASE)
    await DeliveryFence.begin(database, "connector:other")
    assert await ours.begin_sending(slot)


async def test_what_another_gateway_may_be_sending_is_left_alone_for_a_moment(database: Database) -> None:
    slot, now = await said(database), 100.0
    fence = DeliveryFence(database, LEASE, 1, clock=lambda: now, began=99.0)
    assert fence.in_flight(slot) == IN_FLIGHT_SECONDS - 1
    now = 99.0 + IN_FLIGHT_SECONDS
    assert fence.in_flight(slot) == 0


async def test_what_we_began_to_send_ourselves_is_looked_for_at_once(database: Database) -> None:
    slot = await said(database)
    fence = await DeliveryFence.begin(database, LEASE)
    assert await fence.begin_sending(slot)
    assert fence.in_flight(slot) == 0
    fence.settled(slot)
    assert fence.in_flight(slot) > 0


async def test_a_delivery_whose_gateway_was_followed_by_another_sends_nothing(
    database: Database, bus: Bus, tmp_path: Path
) -> None:
    await said(database)
    room = MemoryConnector("room")
    old, new = [
        delivery_to(room, database, bus, await DeliveryFence.begin(database, LEASE), tmp_path) for _ in range(2)
    ]
    old.wake()
    await old.run()
    assert not room.shown
    new.wake()
    delivering = asyncio.create_task(new.run())
    await room.until(lambda: "1" in room.shown)
    await stop(delivering)
    assert [message.text for message in room.shown["1"].values()] == ["hello"]


class Stopped(MemoryConnector):
    """A process that is stopped, and goes on when a minute has passed and another gateway has done its work."""

    def __init__(self) -> None:
        super().__init__("room")
        self.now = 0.0
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.texts: list[str] = []
        self.again: list[bool] = []

    async def stands_still(self) -> None:
        self.now += 60
        if happens := self.meanwhile:
            self.meanwhile = None
            await happens()

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        if isinstance(outbound, Say | Edit):
            self.texts.append(outbound.text)
        if isinstance(outbound, Edit):
            self.again.append(outbound.again)
        return await super().deliver(outbound)


class StoppedAfterTheCommit(DeliveryFence):
    """... between the commit that says that it begins to send, and the request."""

    room: Stopped

    async def begin_sending(self, slot: int, *, was_begun: bool = False) -> bool:
        begun = await super().begin_sending(slot, was_begun=was_begun)
        await self.room.stands_still()
        return begun


def delivery_to(
    room: MemoryConnector, database: Database, bus: Bus, fence: DeliveryFence, folder: Path
) -> ChatDelivery:
    chats = Chats(database, "room")
    return ChatDelivery(room, database, bus, chats=chats, folder=lambda _: folder, fence=fence, chat="1")


@pytest.fixture
async def bus() -> AsyncIterator[Bus]:
    bus = Bus("redis://127.0.0.1:1", "test")
    yield bus
    await bus.close()


@pytest.mark.parametrize("is_followed", [True, False])
async def test_a_process_that_was_stopped_before_its_request_looks_again_and_sends_nothing_twice(
    database: Database, bus: Bus, tmp_path: Path, is_followed: bool
) -> None:
    slot, room = await said(database), Stopped()

    async def another_gateway_sends() -> None:
        new = await DeliveryFence.begin(database, LEASE)
        assert await new.begin_sending(slot, was_begun=True)
        async with database.write() as tx:
            await outbox.delivered(tx, slot, 1, ["7"])

    room.meanwhile = another_gateway_sends if is_followed else None
    begun = await StoppedAfterTheCommit.begin(database, LEASE, clock=lambda: room.now)
    assert isinstance(begun, StoppedAfterTheCommit)
    begun.room = room
    delivery = delivery_to(room, database, bus, begun, tmp_path)
    delivery.wake()
    delivering = asyncio.create_task(delivery.run())
    if is_followed:
        await delivering
        assert room.texts == []
    else:
        await room.until(lambda: room.texts == ["hello"])
        await stop(delivering)


async def test_whoever_was_followed_changes_no_message(database: Database, bus: Bus, tmp_path: Path) -> None:
    slot, room = await said(database), Stopped()
    async with database.write() as tx:
        await outbox.delivered(tx, slot, 1, ["7"])
        await outbox.change(tx, slot, "as it was then")
    old = await DeliveryFence.begin(database, LEASE, clock=lambda: room.now)
    await DeliveryFence.begin(database, LEASE)
    await room.stands_still()
    delivery = delivery_to(room, database, bus, old, tmp_path)
    delivery.wake()
    await delivery.run()
    assert (room.texts, old.over.is_set()) == ([], True)


async def test_whoever_was_followed_takes_no_message_away_and_the_newest_gateway_does(
    database: Database, bus: Bus, tmp_path: Path
) -> None:
    slot, room = await said(database), Stopped()
    refs = await room.deliver(Say(CHAT, "hello", "7"))
    async with database.write() as tx:
        await outbox.delivered(tx, slot, 1, refs)
        await outbox.change(tx, slot, "")  # nothing is to be said there after all
    old, new = [await DeliveryFence.begin(database, LEASE, clock=lambda: room.now) for _ in range(2)]
    await room.stands_still()
    delivery = delivery_to(room, database, bus, old, tmp_path)
    delivery.wake()
    await delivery.run()
    assert (list(room.shown["1"]), old.over.is_set()) == (["7"], True)
    delivery = delivery_to(room, database, bus, new, tmp_path)
    delivery.wake()
    delivering = asyncio.create_task(delivery.run())
    await room.until(lambda: not room.shown["1"])
    await stop(delivering)


async def test_a_message_that_two_changed_at_once_is_brought_again(
    database: Database, bus: Bus, tmp_path: Path
) -> None:
    slot, room = await said(database), Stopped()
    await room.deliver(Say(CHAT, "what both change", "7"))
    old = await DeliveryFence.begin(database, LEASE, clock=lambda: room.now)
    with old.editing(slot):  # the request is on its way, and the process is stopped
        new = await DeliveryFence.begin(database, LEASE)
        async with database.write() as tx:
            await outbox.delivered(tx, slot, 1, ["7"])
        await room.stands_still()
    await old.leave()
    delivery = delivery_to(room, database, bus, new, tmp_path)
    delivery.wake()
    delivering = asyncio.create_task(delivery.run())
    await room.until(lambda: room.texts[1:] == ["hello"])
    await stop(delivering)
    assert room.again == [True]


async def test_whoever_was_not_followed_brings_nothing_again(database: Database) -> None:
    slot = await said(database)
    fence = await DeliveryFence.begin(database, LEASE)
    async with database.write() as tx:
        await outbox.delivered(tx, slot, 1, ["7"])
    with fence.editing(slot):
        pass
    await fence.leave()
    async with database.read() as tx:
        assert await outbox.pending(tx, "room", "1") == []
