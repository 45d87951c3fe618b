"""The platform and the intake in memory that are shipped: they do what a real one does, and fail when they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.bus import topics
from bot.bus.bus import Bus
from bot.connector import Connector, Intake
from bot.errors import ChatClosed, DeliveryDelayed, DeliveryRefused, DeliveryUncertain, StoreUnavailable
from bot.gateway.admission import Admission
from bot.gateway.gateway import Gateway
from bot.messages import Address, Attachment, Edit, Inbound, Say, Typing, Withdraw
from bot.runtime.access import Access
from bot.runtime.tasks import stop
from bot.store import Database, agents, inbox, outbox
from bot.store.inbox import Waiting
from connectors.memory import MemoryConnector, MemoryIntake

HERE = Address("memory", "1")
HELLO = Inbound(HERE, "message:1:1", "message", 1, "ada", "Hello 🙂", "Ada")


@pytest.fixture
async def database(data_dir: Path) -> AsyncIterator[Database]:
    book = Database.in_folder(data_dir)
    await book.open()
    yield book
    await book.close()


@pytest.fixture
async def bus(external_valkey: str) -> AsyncIterator[Bus]:
    bus = Bus(external_valkey, "test", listen=("memory",))
    hearing = asyncio.create_task(bus.run())
    await bus.connected()
    yield bus
    await stop(hearing)
    await bus.close()


@pytest.fixture
async def platform(database: Database, bus: Bus, tmp_path: Path) -> AsyncIterator[MemoryConnector]:
    """At work, with a real gateway and a real book."""
    connector = MemoryConnector()
    gateway = Gateway(
        connector,
        database,
        bus,
        Admission(Access("open", frozenset())),
        lease_name="connector:memory",
        folder=lambda agent_id: tmp_path / agent_id,
        most_bytes=100,
    )
    running = asyncio.create_task(gateway.run())
    yield connector
    await stop(running)


async def to_be_said(database: Database, bus: Bus, text: str) -> None:
    """As an agent does."""
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=0)
        await outbox.say(tx, HERE, text, now=0)
    bus.ring(topics.outbox("memory"))


async def undelivered(database: Database) -> int:
    async with database.read() as tx:
        return await outbox.undelivered(tx, HERE.agent_id)


async def test_what_people_say_is_in_the_book_once_with_its_files(
    platform: MemoryConnector, database: Database, bus: Bus, tmp_path: Path
) -> None:
    files = {"notes.txt": b"hello", "long.txt": b"x" * 101}
    async with bus.bell(topics.inbox(HERE.agent_id)) as bell:
        assert [await platform.says("read this", key="message:1:1", files=files) for _ in range(2)] == [1, 0]
        async with asyncio.timeout(30):
            waiting: list[Waiting] = []
            while not waiting:
                await bell.wait(1.0)
                async with database.read() as tx:
                    waiting = list(await inbox.waiting(tx, HERE.agent_id))
    (message,) = waiting
    assert message.text == "read this"
    assert [path.read_bytes() for path in (tmp_path / HERE.agent_id).rglob("*.txt")] == [b"hello"]


async def test_what_is_to_be_said_is_delivered_in_order_and_what_arrived_unseen_is_not_said_twice(
    platform: MemoryConnector, database: Database, bus: Bus
) -> None:
    platform.fails(DeliveryDelayed("slow down", 0.0))
    platform.fails(DeliveryUncertain("no answer"), arrives=True)
    platform.fails(DeliveryUncertain("no answer"))
    for text in ("the first", "the second"):
        await to_be_said(database, bus, text)
    async with bus.bell(topics.DELIVERED) as bell, asyncio.timeout(30):
        while await undelivered(database):
            await bell.wait(1.0)
    assert platform.notices() == ["the first", "the second"]
    said = [one for one in platform.delivered if isinstance(one, Say)]
    assert [one.text for one in said] == ["the first", "the second"]


async def test_a_chat_that_is_closed_gets_nothing_more(platform: MemoryConnector, database: Database, bus: Bus) -> None:
    platform.fails(ChatClosed("blocked"))
    for text in ("the first", "the second"):
        await to_be_said(database, bus, text)
    async with bus.bell(topics.DELIVERED) as bell, asyncio.timeout(30):
        while await undelivered(database):
            await bell.wait(1.0)
    assert platform.delivered == []


async def test_whoever_speaks_while_nobody_listens_waits_for_the_next_gateway() -> None:
    platform, intake = MemoryConnector(), MemoryIntake()
    saying = asyncio.create_task(platform.says("Hello"))
    first = asyncio.create_task(platform.run(intake))
    assert await saying == 1
    await stop(first)
    saying = asyncio.create_task(platform.says("again"))
    second = asyncio.create_task(platform.run(intake))
    assert await saying == 1
    await stop(second)
    assert intake.texts == ["Hello", "again"]


async def test_people_see_a_message_that_is_said_twice_two_times_and_a_withdrawn_one_no_more() -> None:
    platform = MemoryConnector()
    refs = [ref for _ in range(2) for ref in await platform.deliver(Say(HERE, "Hello", "7"))]
    assert len(set(refs)) == len(platform.shown["1"]) == 2
    assert await platform.find(Say(HERE, "Hello", "7"), None, frozenset()) == ("7",)
    assert await platform.find(Say(HERE, "Hello", "8"), None, frozenset()) is None
    await platform.deliver(Edit(HERE, (refs[0],), "Hello!", "9"))
    assert platform.shown["1"][refs[0]].texts == ["Hello", "Hello!"]
    await platform.deliver(Withdraw(HERE, tuple(refs), ""))
    assert platform.shown["1"] == {}
    with pytest.raises(DeliveryRefused):
        await platform.deliver(Edit(HERE, (refs[0],), "Hello?", "10"))


async def test_a_signal_fails_for_nobody_and_a_draft_is_no_message() -> None:
    platform = MemoryConnector(drafts=True)
    platform.fails(DeliveryRefused("no"))
    await platform.deliver(Typing(HERE, on=True))
    assert platform.is_typing()
    with pytest.raises(DeliveryRefused, match="no"):
        await platform.deliver(Say(HERE, "Hel", "7", partial=True))
    assert await platform.deliver(Say(HERE, "Hel", "7", partial=True)) == ()
    assert (await platform.deliver(Say(HERE, "Hello", "7")), platform.replies()) == (("7",), ["Hello"])


async def test_what_nobody_attached_is_gone(tmp_path: Path) -> None:
    with pytest.raises(DeliveryRefused, match="gone"):
        await MemoryConnector().fetch(Attachment("1/a.txt", "a.txt"), tmp_path / "a.txt", most_bytes=9)


async def test_an_intake_keeps_each_event_once_and_is_away_for_as_long_as_it_is_told() -> None:
    intake = MemoryIntake(refusals=2)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await intake.store([HELLO])
        await intake.until_back(1.0)
    assert [await intake.store([HELLO], cursor="4"), await intake.store([HELLO])] == [1, 0]
    assert (intake.inbounds, intake.again, intake.refused) == ([HELLO], [HELLO], [HELLO, HELLO])
    assert (await intake.cursor(), await intake.chats(9)) == ("4", [HERE])
    assert [await intake.heard(HERE, since) for since in (1, 2)] == [{HELLO.key: 1}, {}]


async def test_what_never_comes_is_told_with_what_there_is() -> None:
    intake = MemoryIntake(patience=0.01)
    await intake.store([HELLO])
    with pytest.raises(AssertionError, match="Hello 🙂"):
        await intake.until(lambda: len(intake.inbounds) == 2)


def test_they_are_what_they_stand_for() -> None:
    connector: Connector = MemoryConnector("anything")
    intake: Intake = MemoryIntake()
    assert (connector.name, intake) == ("anything", intake)
