"""The embedded book, empty."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import Database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """SQLite in this test's folder, with all tables; its clock stands at 1,000 seconds."""
    database = Database.in_folder(tmp_path / "data", clock=lambda: 1_000.0)
    await database.open()
    yield database
    await database.close()
