"""A model server and its clients."""

from collections.abc import AsyncIterator

import anthropic
import openai
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


@pytest_asyncio.fixture
async def chat(server: MessagesServer) -> AsyncIterator[openai.AsyncOpenAI]:
    """Of Chat Completions, at OpenAI's own base."""
    async with openai.AsyncOpenAI(base_url=server.chat_url, api_key="test-key", max_retries=0) as client:
        yield client
