"""What was said elsewhere is looked for by its keys, however much is in the book."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.messages import AgentId
from bot.store import Database
from bot.store.archive import moving_in
from tests.unit.store.plans import Planned

HERE = AgentId("terminal-trip")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database.in_folder(tmp_path / "data")
    await opened.open()
    yield opened
    await opened.close()


async def test_who_has_a_conversation_is_looked_up_by_its_key(database: Database) -> None:
    async with database.read() as tx:
        planned = Planned(tx)
        assert await moving_in.holders(planned, "chatgpt:1") == []
    assert planned.looks == ["SEARCH entries USING INDEX entries_key (key=?)"]


async def test_which_messages_are_there_is_looked_up_by_their_keys(database: Database) -> None:
    async with database.read() as tx:
        planned = Planned(tx)
        assert await moving_in.known(planned, HERE, [f"chatgpt:1:{number}" for number in range(600)]) == frozenset()
    assert set(planned.looks) == {"SEARCH entries USING INDEX entries_key (key=?)"}
