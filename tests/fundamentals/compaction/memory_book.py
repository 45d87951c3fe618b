"""What a conversation that is compacted by memory knows: in the book, and in the model's requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.compaction.facts.checkpoint import HEADING
from bot.compaction.facts.fact import Candidate, Fact
from bot.messages import Address
from bot.store import facts, histories
from bot.store.facts import MemoryRow
from tests.house import PATIENCE, House, Room
from tests.servers.messages.server import MessagesRequest, MessagesServer
from tests.servers.messages.wire import texts_of

MEMORY = {"strategy": "memory", "compact_ahead": False}
QUIET = {"visibility": "off"}
LINE = "This is line {} and it talks about the weather in a town, which is mild, and about nothing else at all."
CODE = "My locker code is QX-5512."
FLIGHT = "My flight is BA117."


async def book(house: House, chat: str = "1") -> tuple[MemoryRow, tuple[Fact, ...], tuple[Candidate, ...], int]:
    agent_id = Address("room", chat).agent_id
    async with house.resources.database.read() as tx:
        row, known = await facts.get(tx, agent_id), await facts.load(tx, agent_id)
        return row, known, await facts.candidates(tx, agent_id), await histories.last_seq(tx, agent_id)


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until the book or the disk says so."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110  # a refresh rings no bell
            await asyncio.sleep(0.01)


async def read_all(house: House, chat: str = "1") -> tuple[Fact, ...]:
    """Wait until everything that was said is taken in; the facts then."""

    async def is_read() -> bool:
        row, _, _, last = await book(house, chat)
        return row.upto == last

    await until(is_read)
    return (await book(house, chat))[1]


async def told(house: House, room: Room, *lines: str, chat: str = "1") -> tuple[Fact, ...]:
    for line in lines:
        await room.asks(line, chat=chat)
        await read_all(house, chat)
    return await read_all(house, chat)


async def compacted(room: Room) -> None:
    before = sum("Compacted:" in notice for notice in room.notices())
    await room.commands("/compact")
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices()) > before)


def texts(known: tuple[Fact, ...]) -> list[str]:
    return [item.text for item in known if not item.forgotten]


def read(request: MessagesRequest) -> list[str]:
    return [text for message in request.messages for text in texts_of(message["content"])]


def checkpoint(model: MessagesServer) -> str:
    """What the last request holds of memory."""
    return next((text for text in read(model.requests[-1].request) if text.startswith(HEADING)), "")
