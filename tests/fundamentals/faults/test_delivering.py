"""What becomes of messages that a platform does not take, and of a platform that falls over."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bot.connector import Intake
from bot.errors import ChatClosed, DeliveryUncertain
from bot.messages import Outbound, Say
from bot.store import Database, tenures
from tests.conftest import OpenHouse
from tests.house import PATIENCE, Room
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import MessagesRequest, Reply, ToolCall


class Moody(Room):
    """Fails with ``error`` for messages that hold ``word``; its receiving falls over ``falls`` times."""

    error: Exception | None = None
    word = "poison"
    falls = 0
    tries = 0

    async def run(self, intake: Intake) -> None:
        if self.falls:
            self.falls -= 1
            raise RuntimeError("a defect")
        await super().run(intake)

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        if self.error and isinstance(outbound, Say) and self.word in outbound.text and not outbound.partial:
            async with self._changed:
                self.tries += 1
                self._changed.notify_all()
            raise self.error
        return await super().deliver(outbound)


@pytest.fixture
def room() -> Moody:
    """In place of the usual one."""
    return Moody()


def sends_a_file(request: MessagesRequest) -> Reply:
    """A model that sends what it got, once."""
    if "goes to the chat" in request.all_text:
        return Reply("Done.")
    return Reply("", [ToolCall("send_file", {"path": "files/notes.txt", "caption": "poison"})])


async def test_a_file_whose_fate_stays_unknown_is_given_up_soon_and_the_chat_goes_on(
    house: OpenHouse, room: Moody, model: MessagesServer
) -> None:
    room.error = DeliveryUncertain("no answer")
    model.brain = sends_a_file
    async with house():
        await room.says("send it back", files={"notes.txt": b"hello"})
        await room.until(room.replies)
        await room.asks("and now?")
    assert room.tries == 2


async def test_a_chat_that_is_closed_is_left_alone_until_somebody_says_something_there(
    house: OpenHouse, room: Moody
) -> None:
    room.error = ChatClosed("blocked")
    async with house():
        await room.says("/poison")
        await room.until(lambda: room.tries)
        await room.asks("hello", chat="2")
        room.error = None
        assert room.notices() == []
        await room.asks("I am back")
    assert room.tries == 1


async def test_a_connector_that_falls_over_is_begun_again(house: OpenHouse, room: Moody) -> None:
    room.falls = 2
    async with house():
        await room.asks("hello")


async def test_a_gateway_that_has_the_lease_again_after_another_one_had_it_delivers_on(
    house: OpenHouse, room: Room
) -> None:
    async with house() as running:
        await room.asks("one")
        async with running.resources.database.write() as tx:
            await tenures.begin(tx, "connector:room")  # as a gateway does that took over and died
        await room.asks("two")
        assert len(room.replies()) == 2


@pytest.mark.parametrize("book", ["external"], indirect=True)
async def test_a_gateway_keeps_its_lease_while_the_book_takes_long_to_let_it_begin(
    house: OpenHouse, room: Room, book: Mapping[str, Any]
) -> None:
    database, name = Database(book["database_url"]), "connector:room"
    await database.open()
    async with database.write(long=True) as tx:
        await tenures.begin(tx, name)  # and nobody else can before this is committed
        async with house(("gateway",)) as running, asyncio.timeout(PATIENCE):
            left = 0.0
            while not left:
                left = (await running.resources.bus.leases.left([name])).get(name, 0.0)
            while (now := (await running.resources.bus.leases.left([name])).get(name, 0.0)) <= left:
                assert now, "it fell"
                left = now
    await database.close()
