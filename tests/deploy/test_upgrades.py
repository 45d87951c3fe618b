"""Programs of two versions on one book, and a database that is not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url, text
from typing_extensions import override

from bot.app.resources import open_resources
from bot.errors import ConfigurationError
from bot.runtime.settings import Settings
from bot.store import Database
from bot.store.book import database_of
from tests.chaos.processes import eventually
from tests.conftest import OpenHouse
from tests.house import Room, settings_for
from tests.servers.messages.server import MessagesServer
from tests.servers.proxy import Proxy

NEWER = (
    "ALTER TABLE entries ADD COLUMN added_later TEXT",
    "ALTER TABLE inbox ADD COLUMN added_later INTEGER NOT NULL DEFAULT 0",
    "UPDATE alembic_version SET version_num = '9999'",
)
"""What a newer version may do to tables: add, with a default."""


@asynccontextmanager
async def another(settings: Settings) -> AsyncIterator[Database]:
    database = database_of(settings)
    yield database
    await database.close()


async def test_a_program_that_runs_goes_on_when_a_newer_one_upgrades_the_tables(house: OpenHouse, room: Room) -> None:
    async with house() as opened:
        await room.asks("My dog is Rex.")
        async with opened.resources.database.write() as tx:
            for statement in NEWER:
                await tx.execute(text(statement))
        assert await room.asks("What is my dog?") == "The dog is Rex."
        async with another(opened.resources.settings) as database:
            with pytest.raises(ConfigurationError, match=r"of a newer version of this program \(9999\)\. Start"):
                await database.open()
        assert await room.asks("What is my dog?", chat="2") == "I do not know the dog."


class Knocking(Proxy):
    """Notices who wants to come in."""

    knocks = 0

    @override
    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.knocks += 1
        super()._accept(reader, writer)


async def test_a_program_that_starts_before_its_database_waits_for_it(
    postgres_database: str, model: MessagesServer, tmp_path: Path
) -> None:
    async with Knocking(f"{make_url(postgres_database).query['host']}/.s.PGSQL.5432") as proxy:
        proxy.cut()
        url = make_url(postgres_database).set(host="127.0.0.1", port=proxy.port, query={})
        early = settings_for(model, tmp_path / "early", database_url=url.render_as_string(hide_password=False))

        async def opens() -> None:
            await eventually(lambda: proxy.knocks > 1, 20, lambda: "it was tried once and given up")
            proxy.restore()

        async with asyncio.TaskGroup() as together:
            together.create_task(opens())
            together.create_task(_starts(early))


async def _starts(settings: Settings) -> None:
    async with open_resources(settings) as resources:
        await resources.database.ping()
