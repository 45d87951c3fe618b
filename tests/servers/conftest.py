"""A model server and a client of it."""

from collections.abc import AsyncIterator

import anthropic
import pytest_asyncio

from tests.servers.messages.server import MessagesServer


@pytest_asyncio.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with MessagesServer() as server:
        yield server


@pytest_asyncio.fixture
async def client(server: MessagesServer) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key="test-key", max_retries=0) as client:
        yield client
