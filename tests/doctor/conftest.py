"""A patient: settings with something wrong in them, and what the doctor says of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.app.doctor.case import Case
from bot.app.doctor.web import Web
from bot.runtime.checks import Finding
from bot.runtime.settings import Settings, load_settings
from bot.store.book import bell_of, database_of
from tests.servers.discord.routes import Route
from tests.servers.discord.server import DiscordServer
from tests.servers.fixtures import telegram
from tests.servers.messages.server import MessagesServer

__all__ = ["telegram"]
MakeCase = Callable[..., Case]


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[MakeCase]:
    """Makes a case of these settings; ``ahead``: how many seconds our clock is ahead."""
    async with aiohttp.ClientSession() as session:

        def make(
            *,
            variables: dict[str, str] | None = None,
            probe: bool = False,
            ahead: float = 0.0,
            answer_seconds: float = 60.0,
            **settings: Any,
        ) -> Case:
            found = load_settings(**{"_env_file": None, "data_dir": tmp_path / "data", **settings})
            web = Web(session, lambda: time.time() + ahead)
            return Case(found, web, variables or {}, probe, probe_seconds=1, answer_seconds=answer_seconds)

        yield make


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    """A strict Discord that also lists the bot's servers: ``guilds``."""
    server = DiscordServer()
    guilds: list[dict[str, str]] = [{"id": "5000"}]
    server.guilds = guilds  # type: ignore[attr-defined]
    routes = server._application.routes()
    route = Route("get_guilds", "GET", "/users/@me/guilds", lambda _: guilds)
    server._application.routes = lambda: [*routes, route]  # type: ignore[method-assign]
    async with server:
        yield server


@pytest.fixture
async def models() -> AsyncIterator[MessagesServer]:
    """A strict model server."""
    async with MessagesServer(window=3_000) as server:
        yield server


async def said(check: Callable[[Case], Awaitable[Sequence[Finding]]], case: Case) -> list[str]:
    """What a check finds, a line each: its state and its sentence."""
    return [f"{finding.state}: {finding.sentence}" for finding in await check(case)]


async def the_one(check: Callable[[Case], Awaitable[Sequence[Finding]]], case: Case, state: str) -> Finding:
    """The only finding of this state."""
    found = [finding for finding in await check(case) if finding.state == state]
    assert len(found) == 1, found
    return found[0]


async def bell_of_a_new_book(settings: Settings) -> str:
    """What the processes of these settings are called in Redis."""
    database = database_of(settings)
    await database.open()
    try:
        return await bell_of(database)
    finally:
        await database.close()
