"""The table of providers: whole, and of one form."""

from __future__ import annotations

import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from bot.runtime.providers import Provider, Wire, providers

NAMES = (
    *("anthropic", "openai", "gemini", "openrouter", "groq", "mistral", "deepseek", "xai", "together", "azure"),
    *("ollama", "lmstudio", "vllm", "llamacpp", "custom"),
)


def test_all_are_there_and_anthropic_is_the_first() -> None:
    assert tuple(providers()) == NAMES


@pytest.mark.parametrize("provider", providers().values(), ids=NAMES)
def test_a_row_is_whole(provider: Provider) -> None:
    assert urlsplit(provider.documentation).scheme == "https"
    assert provider.base_url or provider.base_setting
    assert provider.keys
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", name) for name in (*provider.keys, provider.base_setting))
    assert not provider.base_url.endswith("/")
    assert provider.get_key or not provider.needs_key
    for pattern in (provider.quirks.call_ids, provider.quirks.effort_models):
        re.compile(pattern)


def test_no_variable_is_that_of_two_providers() -> None:
    names = [name for one in providers().values() for name in (*one.keys, one.base_setting)]
    assert len(set(names)) == len(names)


def test_claude_at_openrouter_is_asked_on_the_wire_of_messages() -> None:
    openrouter = providers()["openrouter"]
    assert openrouter.wire_of("anthropic/claude-sonnet-5") is Wire.MESSAGES
    assert openrouter.wire_of("openai/gpt-6-sol") is Wire.CHAT
    assert providers()["openai"].wire_of("anthropic/claude") is Wire.CHAT


@pytest.mark.parametrize(
    ("model", "told"),
    [("gpt-6-sol", True), ("gpt-5.6-terra", True), ("gpt-5", False), ("gpt-5-mini", False), ("gpt-4o", False)],
)
def test_who_has_to_be_told_not_to_reason_with_tools(model: str, told: bool) -> None:
    quirks = providers()["openai"].quirks
    assert bool(re.match(quirks.effort_models, model)) is told


def test_the_table_loads_no_library() -> None:
    code = "import sys, bot.runtime.providers as t; t.providers(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {"openai", "anthropic", "aiohttp"} & {name.partition(".")[0] for name in loaded.split()} == set()
