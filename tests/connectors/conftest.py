"""A strict Bot API server, somebody who talks to the bot, and the connector."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.connector import OfferedCommand
from connectors.telegram import Telegram
from tests.connectors.telegram.case import MakeTelegram, Pauses
from tests.servers.telegram.server import BotApiServer, Person


@pytest.fixture
async def server() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def ada(server: BotApiServer) -> Person:
    return server.person(1001, "Ada")


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def make_telegram(server: BotApiServer, pauses: Pauses) -> AsyncIterator[MakeTelegram]:
    """Makes connectors to this test's server; they are closed in the end."""
    made: list[Telegram] = []

    def make(**changes: Any) -> Telegram:
        options: dict[str, Any] = {
            "api_base": server.url,
            "commands": (OfferedCommand("compact", "Make room"),),
            "sleep": pauses,
        }
        made.append(Telegram(server.token, **{**options, **changes}))
        return made[-1]

    yield make
    for telegram in made:
        await _let_go(telegram)


@pytest.fixture
def telegram(make_telegram: MakeTelegram) -> Telegram:
    return make_telegram()


async def _let_go(telegram: Telegram) -> None:
    """As `close` does, but without the quarter of a second that aiogram gives TLS, of which there is none here."""
    from aiogram.client.session.aiohttp import AiohttpSession  # slower to load than by the connector

    session = telegram._bot.session
    assert isinstance(session, AiohttpSession)
    if session._session is not None:
        await session._session.close()
