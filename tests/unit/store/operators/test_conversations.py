"""What operators ask of all conversations, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.estimate.meter import MeterRecord
from bot.messages import Address, AgentId, Inbound
from bot.store import Database, agents, inbox
from bot.store.operators import conversations
from tests.wire.command_line import ADA, BOB, NOON, ran, talked, undone

EVE = Address("discord", "7", "9")


@pytest.fixture
async def database(book: Mapping[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """Three conversations, in a book of either kind."""
    opened = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "data")
    await opened.open()
    await talked(opened, ADA, "one", "two", at=NOON)
    await talked(opened, BOB, "one", at=NOON + 1)
    await talked(opened, EVE, "one", at=NOON - 1)
    await ran(opened, "aa11", ADA)
    async with opened.write() as tx:
        for number, name in enumerate(("Ada 100%", "Ада", "Ada 100%")):
            event = Inbound(ADA, f"message:1001:{number}", "message", number, "1001", "hi", name)
            await inbox.add(tx, event, now=NOON)
        for address, share in ((ADA, 0.25), (EVE, 0.75)):
            meter = MeterRecord(total=1, limit=1, share=share, level="ok", source="usage", parts=())
            await agents.remember(tx, address.agent_id, meter=meter)
    yield opened
    await opened.close()


async def ids(database: Database, **options: Any) -> list[str]:
    async with database.read() as tx:
        return [one.agent_id for one in await conversations.listed(tx, **options)]


async def test_the_latest_or_the_fullest_come_first_and_what_is_not_known_last(database: Database) -> None:
    ada, bob, eve = ADA.agent_id, BOB.agent_id, EVE.agent_id
    assert await ids(database) == [bob, ada, eve]
    assert await ids(database, order="fill") == [eve, ada, bob]
    assert await ids(database, most=1, offset=1) == [ada]


async def test_they_are_found_by_their_ids_and_by_the_names_of_people(database: Database) -> None:
    ada = ADA.agent_id
    assert await ids(database, like="DISCORD") == [EVE.agent_id]
    assert await ids(database, like="100%") == [ada]
    assert await ids(database, like="Ад") == [ada]
    assert await ids(database, like="1_0") == []
    async with database.read() as tx:
        assert (await conversations.count(tx), await conversations.count(tx, "telegram")) == (3, 2)


async def test_one_of_them_has_its_counts_and_the_names_of_who_wrote_last(database: Database) -> None:
    await undone(database, "aa11")
    async with database.read() as tx:
        found = await conversations.get(tx, ADA.agent_id)
        [layer] = await conversations.layers_of(tx, ADA.agent_id)
        assert await conversations.get(tx, AgentId("telegram-1")) is None
        assert await conversations.layers_of(tx, BOB.agent_id) == []
    assert found
    assert (found.address, found.entries, found.compactions, found.waiting) == (ADA, 2, 1, 3)
    assert found.people == ("Ada 100%", "Ада")
    assert (layer.number, layer.run, layer.removed_at) == (1, "aa11", NOON)
