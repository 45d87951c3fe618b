"""One program that serves Telegram for all tests that can share it, and programs of one's own for the others."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.servers.messages import MessagesServer
from tests.servers.telegram import BotApiServer
from tests.wire.program import KEY, Program, Programs
from tests.wire.talk import Brain, Talk

_numbers = itertools.count(1001)


@dataclass(frozen=True)
class Served:
    """A program that runs, and what it talks to."""

    programs: Programs
    program: Program
    model: MessagesServer
    telegram: BotApiServer
    brain: Brain


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """`palimpsest run` with a window of 3,000 tokens. It compacts only when it has to (never ahead of time)."""
    brain = Brain()
    async with MessagesServer(window=3_000, key=KEY, brain=brain) as model, BotApiServer() as telegram:
        programs = Programs(tmp_path_factory.mktemp("served"), model, telegram)
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
async def telegram() -> AsyncIterator[BotApiServer]:
    """A Telegram for this test alone."""
    async with BotApiServer() as server:
        yield server


@pytest_asyncio.fixture
async def programs(tmp_path: Path, model: MessagesServer) -> AsyncIterator[Programs]:
    """Processes on a new DATA_DIR, without a platform."""
    started = Programs(tmp_path, model)
    yield started
    await started.close()


@pytest_asyncio.fixture
async def telegram_programs(tmp_path: Path, model: MessagesServer, telegram: BotApiServer) -> AsyncIterator[Programs]:
    """Processes on a new DATA_DIR, with Telegram."""
    started = Programs(tmp_path, model, telegram)
    yield started
    await started.close()
