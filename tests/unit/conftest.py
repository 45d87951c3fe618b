"""The embedded book, empty; a model server; and what a worker works with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.bus.bus import Bus
from bot.model import Link
from bot.model.anthropic import AnthropicModel
from bot.model.chain import Chain
from bot.store import Database
from tests.servers.messages.server import MessagesServer
from tests.unit.summary_run import HEAD
from workers.desk import Desk


@pytest.fixture
async def database(data_dir: Path) -> AsyncIterator[Database]:
    """SQLite in this test's folder, with all tables; its clock stands at 1,000 seconds."""
    database = Database.in_folder(data_dir, clock=lambda: 1_000.0)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    """A strict model server with a window of 20,000 tokens."""
    async with MessagesServer(window=20_000) as server:
        yield server


@pytest.fixture
async def desk(database: Database, server: MessagesServer, tmp_path: Path) -> AsyncIterator[Desk]:
    """A worker's desk; nobody hears its bell."""
    bus, model = Bus("redis://127.0.0.1:1", "test"), AnthropicModel(api_key="test-key", base_url=server.url)
    link = Link(model, HEAD.model)
    yield Desk(database, bus, Chain([link]), tmp_path, talkers=(link,))
    await model.close()
    await bus.close()
