"""The models that the settings name are opened: with which client, where, by whose key, in which order."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from bot.app.models import link_to, links, names_for, open_chains, summary_link
from bot.errors import ModelRefused
from bot.estimate.learned_windows import OwnWindows
from bot.messages import Message, text_block
from bot.model import Head
from bot.model.anthropic import AnthropicModel
from bot.model.chat.client import ChatModel
from bot.runtime.providers import providers
from bot.runtime.settings import Settings, load_settings
from tests.servers.chat.manners import MANNERS
from tests.servers.messages.server import MessagesServer

KEY = "test-key"
TOOLS = ({"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},)


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers().values():
        for name in provider.variables:
            monkeypatch.delenv(name, raising=False)


def load(tmp_path: Path, **values: Any) -> Settings:
    return load_settings(_env_file=None, data_dir=tmp_path, **values)


@pytest.mark.parametrize("name", MANNERS)
async def test_each_provider_is_asked_by_its_row_as_it_wants_to_be(tmp_path: Path, name: str) -> None:
    async with MessagesServer(window=12_000, key=None if name == "ollama" else KEY) as server:
        server.manner = MANNERS[name]
        own = {"key": KEY, "base_url": server.chat_url}
        settings = load(tmp_path, providers={name: own}, model=f"{name}/{server.manner.model}")
        link = link_to(settings.talker, settings, OwnWindows())
        try:
            head = Head(link.name, 400, "Be kind.", TOOLS)
            reply = await link.model.ask(head, [Message(role="user", content=[text_block("hello")])])
            limits = await link.model.limits(link.name)
        finally:
            await link.model.close()
        assert reply.stop_reason == "end_turn"
        assert server.refused == []
        assert limits.window == 12_000 or not server.manner.windows
    assert link.called == f"{providers()[name].title} {server.manner.model}"


@pytest.mark.parametrize(
    ("model", "called", "takes"),
    [
        ("custom/friendly-1", "friendly-1 at your endpoint", {"image"}),
        ("openai/gpt-6-sol", "OpenAI gpt-6-sol", {"image", "document"}),
        ("deepseek/deepseek-v4-flash", "DeepSeek deepseek-v4-flash", set[str]()),
    ],
)
def test_a_link_is_called_by_its_provider_and_knows_what_its_server_takes(
    tmp_path: Path, model: str, called: str, takes: set[str]
) -> None:
    own = {"key": KEY, "base_url": "http://127.0.0.1:9/v1"}
    settings = load(tmp_path, providers={model.partition("/")[0]: own}, model=model)
    link = link_to(settings.talker, settings)
    assert link.called == link.described == called
    assert link.takes == takes


async def test_azure_before_v1_has_a_path_for_each_deployment(tmp_path: Path) -> None:
    own = {"key": KEY, "base_url": "https://r.openai.azure.com", "version": "2024-10-21"}
    settings = load(tmp_path, providers={"azure": own}, model="azure/mine", compaction_model="azure/other")
    assert link_to(settings.talker, settings).model.place == "r.openai.azure.com/openai/deployments/mine"
    other = summary_link(settings)
    assert other is not None
    assert other.model.place == "r.openai.azure.com/openai/deployments/other"


def test_each_wire_has_its_client(tmp_path: Path) -> None:
    keys = {name: {"key": KEY} for name in ("openai", "openrouter")}
    settings = load(
        tmp_path,
        anthropic_api_key="sk-ant-x",
        providers=keys,
        model_fallback=(
            "openrouter/anthropic/claude-opus-5",
            "openrouter/openai/gpt-6-sol",
            "ollama/qwen3:8b",
            "claude-small",
        ),
    )
    found = links(settings, OwnWindows())
    assert [type(link.model) for link in found] == [AnthropicModel, ChatModel, ChatModel, AnthropicModel]
    assert [link.model.place for link in found] == [
        "openrouter.ai/api",
        "openrouter.ai/api/v1",
        "127.0.0.1:11434/v1",
        "api.anthropic.com",
    ]
    assert [link.is_by_anthropic for link in found] == [False, False, False, True]


def test_a_sentence_names_the_variables_that_were_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza")
    settings = load(tmp_path, model_fallback=("gemini/gemini-3.8-flash",))
    names = names_for(settings.talker, settings)
    assert (names.key, names.base, names.model) == ("GOOGLE_API_KEY", "GEMINI_BASE_URL", "MODEL")


async def test_the_chain_is_that_of_the_settings_and_summaries_have_their_own(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        anthropic_api_key="sk-ant-x",
        providers={"openai": {"key": KEY}},
        model_fallback=("openai/gpt-6-sol",),
        compaction_model="openai/gpt-6-luna",
    )
    async with AsyncExitStack() as stack:
        chain, summaries = await open_chains(settings, stack)
        assert [link.name for link in chain.links] == ["claude-sonnet-5", "gpt-6-sol"]
        assert [link.name for link in summaries.links] == ["gpt-6-luna", "claude-sonnet-5", "gpt-6-sol"]


async def test_another_model_at_the_endpoint_of_the_one_that_talks_shares_its_client(tmp_path: Path) -> None:
    settings = load(tmp_path, providers={"openai": {"key": KEY}}, compaction_model="gpt-6-luna")
    assert summary_link(settings) is None
    async with AsyncExitStack() as stack:
        chain, summaries = await open_chains(settings, stack)
        assert summaries.first.model is chain.first.model
        assert summaries.first.called == "OpenAI gpt-6-luna"


async def test_a_key_goes_to_its_own_provider_alone(tmp_path: Path) -> None:
    async with MessagesServer(key="another-key") as server:
        own = {"openai": {"key": "key-of-openai"}, "vllm": {"base_url": f"{server.url}/v1"}}
        settings = load(tmp_path, anthropic_api_key="sk-ant-x", providers=own, model="vllm/a")
        link = link_to(settings.talker, settings)
        try:
            with pytest.raises(ModelRefused, match="VLLM_API_KEY"):
                await link.model.ask(Head("a", 10, ""), [Message(role="user", content=[text_block("hello")])])
        finally:
            await link.model.close()


async def test_a_server_of_the_messages_api_that_lists_no_window_is_asked_what_it_has_loaded(tmp_path: Path) -> None:
    async with MessagesServer(window=12_000) as server:
        server.manner, server.known_models = MANNERS["ollama"], frozenset()
        settings = load(tmp_path, anthropic_base_url=server.url, anthropic_api_key=KEY, model=server.manner.model)
        link = link_to(settings.talker, settings)
        try:
            limits = await link.model.limits(link.name)
        finally:
            await link.model.close()
    assert (limits.window, limits.known) == (12_000, True)
