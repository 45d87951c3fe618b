"""The Bot API server, a real client of it, calls without a client, and a person."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer

from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.server import BotApiServer, Person


@pytest_asyncio.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        yield server


@pytest_asyncio.fixture
async def bot(telegram: BotApiServer) -> AsyncIterator[Bot]:
    session = AiohttpSession(api=TelegramAPIServer.from_base(telegram.url))
    async with Bot(telegram.token, session=session) as bot:
        yield bot


@pytest.fixture
def raw(telegram: BotApiServer) -> RawCalls:
    return RawCalls(telegram)


@pytest.fixture
def ada(telegram: BotApiServer) -> Person:
    return telegram.person(1001, "Ada")
