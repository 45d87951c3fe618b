"""What of the settings reaches the book."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.errors import StoreUnavailable
from bot.runtime.settings import load_settings
from bot.store import Database
from bot.store.book import database_of
from bot.store.database import _MIGRATION_LOCK
from bot.store.tx import Tx

MOST = 4


async def _connections(tx: Tx) -> int:
    """How many the server has of this database, but for the one that asks."""
    await tx.execute(text("SELECT pg_stat_clear_snapshot()"))
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    return int((await tx.execute(text(count))).scalar_one())


async def _until(tx: Tx, connections: int) -> None:
    async with asyncio.timeout(30):
        while await _connections(tx) != connections:  # noqa: ASYNC110 - a server says nothing of them by itself
            await asyncio.sleep(0.01)


async def test_a_process_has_as_many_connections_to_its_server_as_it_is_told_and_one_more_to_begin(
    postgres_book: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_CONNECTIONS", str(MOST))
    book, looking = database_of(load_settings(data_dir=tmp_path, database_url=postgres_book)), Database(postgres_book)
    monkeypatch.setattr(book._book._engine.sync_engine.pool, "_timeout", 0.05)  # type: ignore[union-attr]  # not 30 s
    async with looking.write(long=True) as there, AsyncExitStack() as stack:
        for _ in range(MOST):
            await stack.enter_async_context(book.read())
        with pytest.raises(StoreUnavailable, match="in use"):
            await stack.enter_async_context(book.read())
        assert await _connections(there) == MOST
        await there.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _MIGRATION_LOCK})
        opening = asyncio.create_task(book.open())
        await _until(there, MOST + 1)
        await there.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _MIGRATION_LOCK})
        await opening
        await _until(there, MOST)
    await book.close()
    await looking.close()
