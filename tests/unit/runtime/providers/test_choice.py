"""Which model the settings mean, and at which provider."""

from __future__ import annotations

from typing import Any

import pytest

from bot.runtime.providers import ANTHROPIC, DEFAULT_MODEL, Choice, Unresolved, Wire, choice, providers
from bot.runtime.settings import Settings, load_settings

CLAUDE = {"ANTHROPIC_API_KEY": "sk-ant-x"}
PROXY = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1234"}
OPENAI = {"OPENAI_API_KEY": "sk-proj-x"}
GROQ = {"GROQ_API_KEY": "gsk_x"}
ROUTER = {"OPENROUTER_API_KEY": "sk-or-x"}


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers().values():
        for name in provider.variables:
            monkeypatch.delenv(name, raising=False)


def load(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], **values: Any) -> Settings:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return load_settings(_env_file=None, **values)


@pytest.mark.parametrize(
    ("given", "model", "provider", "name"),
    [
        # What was set before there was a second provider means what it meant.
        ({}, None, "", ""),
        ({}, "claude-opus-5", "", ""),
        (CLAUDE, None, ANTHROPIC, DEFAULT_MODEL),
        (CLAUDE, "claude-opus-5", ANTHROPIC, "claude-opus-5"),
        (PROXY, None, ANTHROPIC, DEFAULT_MODEL),
        (PROXY, "openai/gpt-oss-20b", ANTHROPIC, "openai/gpt-oss-20b"),
        (PROXY, "anthropic/claude-opus-5", ANTHROPIC, "anthropic/claude-opus-5"),
        (PROXY, "ollama/llama3.2", ANTHROPIC, "ollama/llama3.2"),
        (PROXY, "meta-llama/llama-4", ANTHROPIC, "meta-llama/llama-4"),
        # One key is enough, and Anthropic's comes first.
        (OPENAI, None, "openai", "gpt-6-sol"),
        ({"GOOGLE_API_KEY": "AIza"}, None, "gemini", "gemini-3.8-flash"),
        (CLAUDE | OPENAI, None, ANTHROPIC, DEFAULT_MODEL),
        (CLAUDE | OPENAI, "claude-opus-5", ANTHROPIC, "claude-opus-5"),
        (PROXY | OPENAI, "llama3", ANTHROPIC, "llama3"),
        (OPENAI, "gpt-4o", "openai", "gpt-4o"),
        # What stands before the slash is a provider where one was set.
        (OPENAI, "openai/gpt-4o", "openai", "gpt-4o"),
        (OPENAI | PROXY, "openai/gpt-4o", "openai", "gpt-4o"),
        (CLAUDE, "anthropic/claude-opus-5", ANTHROPIC, "claude-opus-5"),
        (CLAUDE | GROQ, "groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        (GROQ | OPENAI, "groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        # Otherwise it is a part of the name at the one that was.
        (GROQ, "openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        (ROUTER, "anthropic/claude-opus-5", "openrouter", "anthropic/claude-opus-5"),
        (ROUTER, "openai/gpt-6-sol", "openrouter", "openai/gpt-6-sol"),
        (ROUTER, "meta-llama/llama-4", "openrouter", "meta-llama/llama-4"),
        # A server of one's own wants no key, and has an address.
        ({}, "ollama/llama3.2:3b", "ollama", "llama3.2:3b"),
        (CLAUDE, "ollama/llama3.2:3b", "ollama", "llama3.2:3b"),
        (OPENAI, "lmstudio/openai/gpt-oss-20b", "lmstudio", "openai/gpt-oss-20b"),
        ({"OLLAMA_HOST": "0.0.0.0"}, None, "", ""),
        ({"OLLAMA_HOST": "0.0.0.0"}, "llama3.2", "ollama", "llama3.2"),
        ({"CUSTOM_BASE_URL": "http://h/v1"}, "custom/a/b", "custom", "a/b"),
    ],
)
def test_a_name_is_resolved(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], model: str | None, provider: str, name: str
) -> None:
    found = choice.talker(load(monkeypatch, given, model=model))
    assert (found.provider, found.name) == (provider, name)


@pytest.mark.parametrize(
    ("given", "model", "words"),
    [
        (OPENAI | GROQ, None, "MODEL=openai/gpt-6-sol or MODEL=groq/openai/gpt-oss-120b"),
        (OPENAI | GROQ, "gpt-4o", "MODEL=openai/gpt-4o or MODEL=groq/gpt-4o"),
        (OPENAI | GROQ, "anthropic/claude-opus-5", "ANTHROPIC_API_KEY"),
        ({}, "openai/gpt-4o", "OPENAI_API_KEY"),
        ({}, "ollma/qwen3:8b", "MODEL=ollama/qwen3:8b"),
        (CLAUDE, "openai/gpt-4o", "OPENAI_API_KEY"),
        (CLAUDE, "custom/a", "CUSTOM_BASE_URL"),
        ({"AZURE_OPENAI_API_KEY": "k"}, "azure/mine", "AZURE_OPENAI_ENDPOINT"),
        ({"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com"}, "azure/mine", "AZURE_OPENAI_API_KEY"),
        (OPENAI | {"OPENAI_BASE_URL": "http://h/v1"}, None, "MODEL=openai/NAME"),
    ],
)
def test_what_cannot_be_resolved_says_what_to_write(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], model: str | None, words: str
) -> None:
    settings = load(monkeypatch, given, model=model)
    with pytest.raises(Unresolved) as refused:
        choice.talker(settings)
    assert words in str(refused.value)
    assert not settings.uses_local_model


@pytest.mark.parametrize(
    ("given", "model", "provider", "name"),
    [
        (CLAUDE, "claude-small", ANTHROPIC, "claude-small"),
        (CLAUDE, "ollama/llama3.2", "ollama", "llama3.2"),
        (CLAUDE | OPENAI, "openai/gpt-6-luna", "openai", "gpt-6-luna"),
        (PROXY, "openai/gpt-oss-20b", ANTHROPIC, "openai/gpt-oss-20b"),
        (ROUTER | {"MODEL": "openrouter/x/y"}, "openai/gpt-6-luna", "openrouter", "openai/gpt-6-luna"),
        (OPENAI, "gpt-6-luna", "openai", "gpt-6-luna"),
        (OPENAI, None, "openai", "gpt-6-sol"),
        ({}, "claude-small", "", ""),
    ],
)
def test_a_bare_name_for_summaries_is_at_the_endpoint_of_the_one_that_talks(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], model: str | None, provider: str, name: str
) -> None:
    found = choice.summaries(load(monkeypatch, given, compaction_model=model))
    assert (found.provider, found.name) == (provider, name)


def test_a_conversation_chooses_at_the_endpoint_of_the_one_that_talks(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, CLAUDE | OPENAI | GROQ, model="openai/gpt-6-sol")
    assert choice.chosen(settings, "gpt-4o").provider == "openai"
    assert choice.chosen(settings, "groq/llama-4").provider == "groq"
    assert choice.chosen(settings, "anthropic/claude-opus-5").provider == ANTHROPIC


def test_fallbacks_are_resolved_by_the_same_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_FALLBACK", "openai/gpt-6-luna, ollama/llama3.2,claude-haiku-4-5")
    found = choice.fallbacks(load(monkeypatch, CLAUDE | OPENAI))
    assert [(one.provider, one.name) for one in found] == [
        ("openai", "gpt-6-luna"),
        ("ollama", "llama3.2"),
        (ANTHROPIC, "claude-haiku-4-5"),
    ]


@pytest.mark.parametrize(
    ("name", "written", "address"),
    [
        ("ollama", "0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("ollama", ":1234", "http://127.0.0.1:1234/v1"),
        ("ollama", "box", "http://box:11434/v1"),
        ("ollama", "http://0.0.0.0:11500/", "http://127.0.0.1:11500/v1"),
        ("ollama", "https://ollama.example.com/v1", "https://ollama.example.com/v1"),
        ("azure", "https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1"),
        ("groq", "https://api.groq.com", "https://api.groq.com/openai/v1"),
        ("openai", "http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
    ],
)
def test_an_address_may_be_written_as_the_providers_own_programs_read_it(name: str, written: str, address: str) -> None:
    assert choice.whole_address(providers()[name], written) == address


def test_what_is_set_and_not_asked_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, CLAUDE | OPENAI | GROQ, model_fallback=("groq/x",))
    assert choice.unused(settings) == ("OPENAI_API_KEY",)


def test_keys_of_providers_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, OPENAI | GROQ)
    assert set(settings.secrets) == {"sk-proj-x", "gsk_x"}
    assert "gsk_x" not in repr(settings)


def test_a_variable_called_like_the_field_is_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, {"PROVIDERS": "{"}).providers == {}


def test_only_anthropic_itself_is_taken_for_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choice.talker(load(monkeypatch, CLAUDE)).is_by_anthropic
    assert not choice.talker(load(monkeypatch, PROXY)).is_by_anthropic
    assert not Choice("openrouter", "anthropic/claude").is_by_anthropic


@pytest.mark.parametrize(
    ("given", "values", "spoken"),
    [
        ({}, {}, {Wire.MESSAGES}),
        (CLAUDE | OPENAI, {}, {Wire.MESSAGES}),
        (OPENAI, {}, {Wire.CHAT}),
        (ROUTER, {"model": "anthropic/claude-opus-5"}, {Wire.MESSAGES}),
        (ROUTER, {"model": "openai/gpt-6-sol"}, {Wire.CHAT}),
        (CLAUDE, {"model_fallback": ("ollama/qwen3:8b",)}, {Wire.MESSAGES, Wire.CHAT}),
        (CLAUDE | OPENAI, {"compaction_model": "openai/gpt-6-luna"}, {Wire.MESSAGES, Wire.CHAT}),
        (OPENAI, {"compaction_model": "small", "compaction": {"api_key": "x"}}, {Wire.MESSAGES, Wire.CHAT}),
    ],
)
def test_which_wires_are_spoken(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], values: dict[str, Any], spoken: set[Wire]
) -> None:
    assert choice.wires(load(monkeypatch, given, **values)) == spoken
