"""After a compaction a conversation rests for two messages. FEATURES T5."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import func, select

from bot.compaction import Plan, PlanContext
from bot.estimate import Level, Meter
from bot.history import Entry
from bot.store.schema import compactions as table
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

LINE = "This is line {0} and it talks about the weather in a town, which is mild, and about nothing else at all. " * 4
OVERFLOW = "prompt is too long: 3205 tokens > 3000 maximum"


@dataclass(frozen=True)
class Eager:
    """Wants a compaction before every request, and hides the oldest exchange each time."""

    options: None = None
    name: str = "eager"

    def level(self, meter: Meter) -> Level:
        return Level.WARNING

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        if len(view) <= 2:
            return None
        return Plan(self.name, view[-1].seq, view[2].seq, hidden=((1, view[1].seq),))


@pytest.fixture
async def eager(house: OpenHouse) -> AsyncIterator[House]:
    strategy = "tests.fundamentals.compaction.test_cooldown:Eager"
    async with house(agents={"strategy": strategy, "compact_ahead": False}) as running:
        yield running


async def compactions(house: House) -> int:
    """How many the book has; one before an answer is in it before the answer."""
    async with house.resources.database.read() as tx:
        count = await tx.execute(select(func.count()).where(table.c.state == "done"))
        return int(count.scalar_one())


async def compacted_at(house: House, messages: range) -> list[int]:
    """Says something for each number; returns those before whose answer a compaction was made."""
    found = []
    for number in messages:
        before = await compactions(house)
        await house.room.asks(LINE.format(number))
        if await compactions(house) > before:
            found.append(number)
    return found


async def compact(room: Room, made: int) -> None:
    """Asks for the compaction with this number."""
    await room.says("/compact")
    await room.until(lambda: sum("Compacted:" in notice for notice in room.notices()) == made)


async def test_two_messages_after_a_compaction_are_skipped_and_the_third_is_compacted_for(eager: House) -> None:
    assert await compacted_at(eager, range(1, 13)) == [2, 5, 8, 11]


async def test_whoever_asks_for_a_compaction_does_not_wait_for_two_messages(eager: House) -> None:
    assert await compacted_at(eager, range(1, 4)) == [2]
    for made in (2, 3):
        await compact(eager.room, made)
        await eager.room.asks(LINE.format("in between"))


async def test_a_recovery_does_not_wait_for_two_messages(eager: House, model: MessagesServer) -> None:
    assert await compacted_at(eager, range(1, 4)) == [2]
    model.fail(400, "invalid_request_error", OVERFLOW)
    assert await compacted_at(eager, range(4, 5)) == [4]
