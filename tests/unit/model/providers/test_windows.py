"""How large a window is, asked of servers that say it as each kind does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.model import Limits
from bot.model.providers.windows import look
from bot.runtime import prices
from bot.runtime.providers import providers
from tests.servers.chat.manners import MANNERS
from tests.servers.messages.server import MessagesServer

KEY = "test-key"


@pytest.mark.parametrize("name", ["gemini", "openrouter", "groq", "mistral", "vllm", "llamacpp", "ollama"])
async def test_a_provider_is_asked_as_it_wants_to_be(name: str) -> None:
    async with MessagesServer(window=12_000) as server:
        server.manner = MANNERS[name]
        found = await look(providers()[name], server.chat_url, KEY, server.manner.model)
    assert found is not None
    assert (found.window, found.known) == (12_000, True)


@pytest.mark.parametrize("kind", ["vllm", "llamacpp", "ollama"])
async def test_an_endpoint_of_which_nothing_is_known_is_asked_in_every_way(kind: str) -> None:
    async with MessagesServer(window=12_000) as server:
        server.manner = MANNERS[kind]
        found = await look(providers()["custom"], server.chat_url, KEY, server.manner.model)
    assert found is not None
    assert (found.window, found.known) == (12_000, True)


async def test_lm_studio_says_what_is_loaded_and_is_asked_again_where_nothing_is() -> None:
    listed = {"data": [{"id": "qwen", "state": "not-loaded", "max_context_length": 262_144}]}
    async with _serving({"/api/v0/models": listed}) as url:
        assert await look(providers()["lmstudio"], f"{url}/v1", None, "qwen") is None
        listed["data"][0] |= {"state": "loaded", "loaded_context_length": 4_096}
        found = await look(providers()["lmstudio"], f"{url}/v1", None, "qwen")
    assert found == Limits(4_096, 4_096, known=True)


async def test_an_older_ollama_says_what_the_file_of_a_model_sets() -> None:
    pages = {
        "/api/ps": {"models": []},
        "/api/generate": {"done": True},
        "/api/show": {"parameters": "stop x\nnum_ctx                        16384"},
    }
    async with _serving(pages) as url:
        found = await look(providers()["ollama"], f"{url}/v1", None, "qwen")
    assert found is not None
    assert (found.window, found.known) == (16_384, True)


async def test_a_server_that_says_nothing_has_a_guess_that_is_said_to_be_one() -> None:
    async with _serving({"/v1/models": {"data": [{"id": "a"}]}}) as url:
        assert await look(providers()["custom"], f"{url}/v1", None, "a") == Limits()
        # A name that documentation knows says nothing of what somebody else has loaded under it.
        assert await look(providers()["openai"], f"{url}/v1", None, "gpt-6-sol") == Limits()


async def test_a_server_of_ones_own_that_is_away_is_asked_again() -> None:
    async with _serving({}) as url:
        pass
    assert await look(providers()["vllm"], f"{url}/v1", None, "a") is None


async def test_what_cannot_be_asked_is_taken_from_documentation() -> None:
    for name, model, window in [
        ("openai", "gpt-6-sol", 922_000),
        ("openai", "gpt-4o-2024-08-06", 128_000),
        ("deepseek", "deepseek-v4-flash", 1_000_000),
        ("xai", "grok-4.5", 500_000),
    ]:
        provider = providers()[name]
        found = await look(provider, provider.base_url, KEY, model)
        assert found is not None
        assert (found.window, found.known) == (window, True)
    assert await look(providers()["openai"], providers()["openai"].base_url, KEY, "a-model-of-2030") == Limits()


async def test_what_openrouter_lists_as_a_price_is_learned() -> None:
    pricing = {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002"}
    row = {
        "id": "maker/one",
        "context_length": 9_000,
        "top_provider": {"max_completion_tokens": 800},
        "pricing": pricing,
    }
    async with _serving({"/api/v1/models": {"data": [row]}}) as url:
        found = await look(providers()["openrouter"], f"{url}/api/v1", KEY, "maker/one")
    assert found == Limits(9_000, 800, known=True)
    from bot.history import Usage

    assert prices.cost("maker/one", Usage(input=1_000_000, cache_read=1_000_000)) == pytest.approx(2.2)


@asynccontextmanager
async def _serving(pages: Mapping[str, Any]) -> AsyncIterator[str]:
    """A server with these pages, for whoever asks."""

    async def answer(request: web.Request) -> web.Response:
        found = pages.get(request.path)
        return web.json_response(found if found is not None else {"error": "not found"}, status=200 if found else 404)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
