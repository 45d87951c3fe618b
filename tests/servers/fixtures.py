"""Platforms for one test, for the conftest.py of whoever talks to them: ``from tests.servers.fixtures import …``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.servers.discord.server import DiscordServer
from tests.servers.telegram.server import BotApiServer


@pytest_asyncio.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """A strict Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest_asyncio.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    """A strict Discord."""
    async with DiscordServer() as server:
        yield server
