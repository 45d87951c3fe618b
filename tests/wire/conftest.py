"""One program that serves Telegram for all tests that can share it, and programs of one's own for the others."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from bot.app.embedded.valkey import EmbeddedValkey
from tests.conftest import new_database
from tests.servers.fixtures import telegram
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import KEY, Program, Programs
from tests.wire.talk import Brain, Talk

__all__ = ["telegram"]
_numbers = itertools.count(1001)
Book = Mapping[str, str]

EXTERNAL = os.environ.get("BOOK") == "external"
"""`BOOK=external make test ARGS=tests/wire`: the same on PostgreSQL and a Valkey of its own."""

if EXTERNAL:
    collect_ignore = ["test_processes.py", "test_damage.py"]  # the embedded stores


@dataclass(frozen=True)
class Served:
    """A program that runs, and what it talks to."""

    programs: Programs
    program: Program
    model: MessagesServer
    telegram: BotApiServer
    brain: Brain


@asynccontextmanager
async def _external(folder: Path, postgres_url: str) -> AsyncIterator[Book]:
    """An empty PostgreSQL database, and a Valkey that no program started."""
    valkey = EmbeddedValkey(folder)
    await valkey.start()
    async with new_database(postgres_url) as url:
        yield {"DATABASE_URL": url, "REDIS_URL": valkey.url}
    await valkey.stop()


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def served_book(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[Book]:
    """The stores of the shared program, as environment."""
    if not EXTERNAL:
        yield {}
        return
    async with _external(tmp_path_factory.mktemp("external"), request.getfixturevalue("postgres_url")) as book:
        yield book


@pytest_asyncio.fixture
async def own_book(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[Book]:
    """The stores of a test's own programs, as environment."""
    if not EXTERNAL:
        yield {}
        return
    async with _external(tmp_path_factory.mktemp("external"), request.getfixturevalue("postgres_url")) as book:
        yield book


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def served(tmp_path_factory: pytest.TempPathFactory, served_book: Book) -> AsyncIterator[Served]:
    """`palimpsest run` with a window of 3,000 tokens. It compacts only when it has to (never ahead of time)."""
    brain = Brain()
    async with MessagesServer(window=3_000, key=KEY, brain=brain) as model, BotApiServer() as telegram:
        programs = Programs(tmp_path_factory.mktemp("served"), model, telegram, book=served_book)
        program = await programs.serve(AGENTS__COMPACT_AHEAD="false")
        yield Served(programs, program, model, telegram, brain)
        await programs.close()


@pytest.fixture
def ada(served: Served) -> Iterator[Talk]:
    """Somebody who never talked to the shared program before."""
    yield Talk(served.telegram, served.model, next(_numbers))
    served.model.clear_faults()


@pytest_asyncio.fixture
async def model() -> AsyncIterator[MessagesServer]:
    """A strict model server with a window of 3,000 tokens, for this test alone."""
    async with MessagesServer(window=3_000, key=KEY) as server:
        yield server


@pytest_asyncio.fixture
async def programs(tmp_path: Path, model: MessagesServer, own_book: Book) -> AsyncIterator[Programs]:
    """Processes on a new DATA_DIR, without a platform."""
    started = Programs(tmp_path, model, book=own_book)
    yield started
    await started.close()


@pytest_asyncio.fixture
async def telegram_programs(
    tmp_path: Path, model: MessagesServer, telegram: BotApiServer, own_book: Book
) -> AsyncIterator[Programs]:
    """Processes on a new DATA_DIR, with Telegram."""
    started = Programs(tmp_path, model, telegram, book=own_book)
    yield started
    await started.close()
