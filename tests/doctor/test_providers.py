"""Wrong configurations as a new user writes them: each ends in one sentence that leads to a right one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.app.doctor.model import check_model
from bot.errors import ConfigurationError
from bot.runtime.checks import Finding, as_line
from bot.runtime.env_file import EnvFile
from bot.runtime.providers import providers
from bot.runtime.settings_check import check, checked_settings
from tests.doctor.conftest import MakeCase
from tests.ports import free_port
from tests.servers.chat.manners import MANNERS
from tests.servers.messages.server import MessagesServer

KEY = "test-key"


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers().values():
        for name in provider.variables:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("MODEL", raising=False)


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    """An endpoint of both wires; ``manner`` makes one of a provider of it."""
    async with MessagesServer(window=12_000) as server:
        yield server


@dataclass(frozen=True)
class Wrong:
    """What somebody sets, with ``URL`` in the place of the server's address, and what has to be said of it."""

    given: Mapping[str, str]
    words: tuple[str, ...]
    manner: str = "openai"
    change: Mapping[str, Any] = field(default_factory=dict)


WRONG = {
    "a wrong key": Wrong(
        {"OPENAI_API_KEY": "sk-proj-wrong", "OPENAI_BASE_URL": "URL/v1", "MODEL": "openai/gpt-5.2"},
        ("does not accept the key in OPENAI_API_KEY", "platform.openai.com/api-keys", "set OPENAI_API_KEY"),
    ),
    "no key at all": Wrong(
        {"MODEL": "openai/gpt-6-sol"}, ("wants OPENAI_API_KEY, which is not set", "platform.openai.com/api-keys")
    ),
    "the key of another provider": Wrong(
        {"OPENAI_API_KEY": "gsk_abc", "MODEL": "openai/gpt-6-sol"},
        ("OPENAI_API_KEY looks like a key of Groq", "Set GROQ_API_KEY"),
    ),
    "two keys and a bare name": Wrong(
        {"OPENAI_API_KEY": "a", "GROQ_API_KEY": "b", "MODEL": "gpt-6-sol"},
        ("may be at OpenAI or Groq", "MODEL=openai/gpt-6-sol or MODEL=groq/gpt-6-sol"),
    ),
    "two keys and no name": Wrong(
        {"OPENAI_API_KEY": "a", "GROQ_API_KEY": "b"}, ("MODEL is not", "MODEL=openai/gpt-6-sol or MODEL=groq/")
    ),
    "/v1 is missing": Wrong(
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "URL", "MODEL": "openai/gpt-5.2"}, ("Write", "/v1")
    ),
    "/v1 twice": Wrong(
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "URL/v1/v1", "MODEL": "openai/gpt-5.2"},
        ("has its version twice", "Write OPENAI_BASE_URL=URL/v1."),
    ),
    "the whole path": Wrong(
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "URL/v1/chat/completions", "MODEL": "openai/gpt-5.2"},
        ("ends in a path that is added to it", "Write OPENAI_BASE_URL=URL/v1."),
    ),
    "a model that is not there": Wrong(
        {"GROQ_API_KEY": KEY, "GROQ_BASE_URL": "URL/openai/v1", "MODEL": "groq/openai/gpt-oss-12b"},
        ("has no model openai/gpt-oss-12b", "MODEL to one that it has, e.g. groq/openai/gpt-oss-120b"),
        manner="groq",
    ),
    "a model that was not pulled": Wrong(
        {"OLLAMA_HOST": "URL", "MODEL": "ollama/qwen3:14b"},
        ("`ollama pull qwen3:14b`", "ollama/qwen3:8b"),
        manner="ollama",
        change={"key": None},
    ),
    "a model without tools": Wrong(
        {"OLLAMA_HOST": "URL", "MODEL": "ollama/qwen3:8b"},
        ("takes no tools", "Set MODEL to a model that takes tools"),
        manner="ollama",
        change={"key": None, "takes_tools": False},
    ),
    "a model that takes no tools on this wire": Wrong(
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "URL/v1", "MODEL": "openai/gpt-5.4-pro"},
        ("takes no tools", "Set MODEL to another one", "openrouter/openai/gpt-5.4-pro"),
        change={"known_models": frozenset({"gpt-5.4-pro"})},
    ),
    "a fallback whose key is not set": Wrong(
        {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": "URL/v1",
            "MODEL": "openai/gpt-5.2",
            "MODEL_FALLBACK": "groq/openai/gpt-oss-120b",
        },
        ("Fallback: ", "has no model groq/openai/gpt-oss-120b", "at Groq, set GROQ_API_KEY"),
    ),
    "fallbacks that are not separated by commas": Wrong(
        {"OPENAI_API_KEY": KEY, "MODEL": "openai/gpt-5.2", "MODEL_FALLBACK": "openai/gpt-6-sol; ollama/qwen3:8b"},
        ("separated by commas", "Write MODEL_FALLBACK=openai/gpt-6-sol,ollama/qwen3:8b."),
    ),
    "a fallback that is the model itself": Wrong(
        {"OPENAI_API_KEY": KEY, "MODEL": "openai/gpt-5.2", "MODEL_FALLBACK": "gpt-5.2"},
        ("MODEL_FALLBACK=gpt-5.2 is the model that talks",),
    ),
    "a fallback of nobody": Wrong(
        {"MODEL_FALLBACK": "banana"}, ("MODEL_FALLBACK=banana is ignored", "MODEL_FALLBACK=provider/banana")
    ),
    "a misspelt provider": Wrong(
        {"OPENAI_API_KEY": "a", "GROQ_API_KEY": "b", "MODEL": "opanai/gpt-5.2"},
        ("there is no provider opanai", "Write MODEL=openai/gpt-5.2."),
    ),
    "https where http is spoken": Wrong(
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "SECURE/v1", "MODEL": "openai/gpt-5.2"},
        ("It speaks http", "write OPENAI_BASE_URL=URL/v1."),
    ),
    "a server that does not run": Wrong(
        {"OLLAMA_HOST": "NOBODY", "MODEL": "ollama/llama3.2"}, ("cannot be reached", "`ollama serve`", "OLLAMA_HOST")
    ),
    "a wire that it does not speak": Wrong(
        {"ANTHROPIC_BASE_URL": "URL/elsewhere", "ANTHROPIC_API_KEY": KEY, "MODEL": "llama"},
        ("does not speak the Messages API", "ANTHROPIC_BASE_URL"),
    ),
    "no endpoint of Azure": Wrong(
        {"AZURE_OPENAI_API_KEY": KEY, "MODEL": "azure/mine"}, ("wants AZURE_OPENAI_ENDPOINT", "openai.azure.com")
    ),
    "an address that is none": Wrong(
        {"CUSTOM_BASE_URL": "localhost/v1", "MODEL": "custom/a"},
        ("CUSTOM_BASE_URL=localhost/v1 is no address", "e.g. http://127.0.0.1:8000/v1."),
    ),
    "a key with a line break": Wrong(
        {"XAI_API_KEY": "xai-one\ntwo", "MODEL": "xai/grok-4.5"}, ("XAI_API_KEY has spaces, line breaks",)
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_configuration_ends_in_a_sentence_that_leads_to_a_right_one(
    name: str, case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = WRONG[name]
    server.manner = MANNERS[wrong.manner]
    server.known_models = frozenset({server.manner.model})
    for attribute, value in wrong.change.items():
        setattr(server, attribute, value)
    nobody = f"http://127.0.0.1:{free_port()}"

    def placed(text: str) -> str:
        secure = server.url.replace("http:", "https:")
        return text.replace("=URL/", f"={server.url}/").replace("NOBODY", nobody).replace("SECURE", secure)

    given = {name: placed(re.sub("^URL", server.url, value)) for name, value in wrong.given.items()}
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    patient = case(variables=given)
    found = [*check(patient.settings, given, EnvFile()), *await check_model(patient)]
    lines = [as_line(one) for one in found if one.state in ("problem", "warning")]
    assert any(all(placed(word) in line for word in wrong.words) for line in lines), lines
    assert all(KEY not in line for line in lines)


def test_no_program_starts_with_settings_that_do_not_say_who_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a")
    monkeypatch.setenv("GROQ_API_KEY", "b")
    with pytest.raises(ConfigurationError, match="Write MODEL=openai/gpt-6-sol or MODEL=groq/openai/gpt-oss-120b"):
        checked_settings(_env_file=None)
    monkeypatch.setenv("MODEL", "groq/openai/gpt-oss-120b")
    assert checked_settings(_env_file=None)[0].talker.provider == "groq"


def test_a_misspelt_variable_in_env_is_named(case: MakeCase) -> None:
    file = EnvFile({"OPENAI_APIKEY": (1,), "OPENAI_API_BASE": (2,)})
    given = dict.fromkeys(file.lines, "x")
    advice = [one.advice for one in check(case(variables=given).settings, given, file)]
    assert sorted(advice) == ["Did you mean OPENAI_API_KEY?", "Did you mean OPENAI_BASE_URL?"]


async def test_a_right_configuration_is_well(
    case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.manner = MANNERS["groq"]
    for variable, value in {
        "GROQ_API_KEY": KEY,
        "GROQ_BASE_URL": server.chat_url,
        "MODEL": f"groq/{server.manner.model}",
        "OPENAI_API_KEY": "sk-proj-unused",
    }.items():
        monkeypatch.setenv(variable, value)
    found: list[Finding] = [*await check_model(case())]
    assert [one.state for one in found] == ["ok", "ok"]
    assert "window 12,000 tokens" in found[0].sentence
    assert found[1].sentence == "OPENAI_API_KEY is set and not used."


async def test_a_doctor_asks_no_model(case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.manner = MANNERS["vllm"]
    monkeypatch.setenv("VLLM_BASE_URL", server.chat_url)
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    monkeypatch.setenv("MODEL", f"vllm/{server.manner.model}")
    await check_model(case())
    assert [record for record in server.requests if record.outcome == "completed"] == []


async def test_an_endpoint_of_which_nothing_is_known_is_asked_what_a_chat_asks(
    case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.manner = MANNERS["openai"]  # which refuses `max_tokens`, and says what it wants
    monkeypatch.setenv("CUSTOM_BASE_URL", server.chat_url)
    monkeypatch.setenv("CUSTOM_API_KEY", KEY)
    monkeypatch.setenv("MODEL", f"custom/{server.manner.model}")
    assert [one.state for one in await check_model(case()) if one.state == "problem"] == []
    outcomes = [record.outcome for record in server.requests]
    assert outcomes == ["refused", "refused", "completed"], "one that is empty, and the question in two ways"
    server.manner, server.takes_tools = replace(server.manner, wordings=MANNERS["ollama"].wordings), False
    [line] = [as_line(one) for one in await check_model(case())]
    name, place = server.manner.model, server.chat_url.removeprefix("http://")
    assert line == (
        f"{name} at {place} refuses what a chat asks: The model '{name}' takes no tools there (stablelm2:latest does "
        "not support tools). Set MODEL to one that does."
    )


REFUSED = {
    "its key is wrong": ("sk-wrong", "", "{} does not accept the key in CUSTOM_API_KEY ({}). Make a new one, and set "),
    "it wants a key": ("", "", "{} wants a key, and CUSTOM_API_KEY is not set. Set CUSTOM_API_KEY."),
    "it wants to be paid": (KEY, "quota", "Nothing is left to pay your endpoint with ({}). Add credit, or raise"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_an_endpoint_refuses_that_lists_its_models_to_everybody_is_told_once(
    name: str, case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, fault, wanted = REFUSED[name]
    server.lists_to_all = True
    if fault:
        server.fail_as(fault, times=None)
    monkeypatch.setenv("CUSTOM_BASE_URL", server.chat_url)
    monkeypatch.setenv("CUSTOM_API_KEY", key)
    monkeypatch.setenv("MODEL", f"custom/{server.manner.model}")
    [line] = [as_line(one) for one in await check_model(case())]
    place = f"Your endpoint at {server.chat_url.removeprefix('http://')}"
    begins, _, ends = wanted.removeprefix("{}").partition("{}")
    assert line.startswith(f"{place}{begins}" if wanted.startswith("{}") else begins)
    assert ends in line
    assert "answers" not in line


async def test_an_endpoint_that_takes_long_may_be_loading_its_model(
    case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.hang()
    monkeypatch.setenv("CUSTOM_BASE_URL", server.chat_url)
    monkeypatch.setenv("CUSTOM_API_KEY", KEY)
    monkeypatch.setenv("MODEL", f"custom/{server.manner.model}")
    assert [one.state for one in await check_model(case(answer_seconds=0.1))] == ["warning"], "of its window alone"


async def test_an_address_that_is_none_is_told_in_the_same_words_by_both_checks(
    case: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"CUSTOM_BASE_URL": "localhost/v1", "MODEL": "custom/a"}
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    patient = case(variables=given)
    found = [*check(patient.settings, given, EnvFile()), *await check_model(patient)]
    lines = [as_line(one) for one in found if one.state == "problem"]
    assert len(lines) == 2
    assert lines[0] == lines[1]


async def test_a_page_in_the_place_of_an_endpoint_is_no_endpoint(
    case: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def welcome(_: web.Request) -> web.Response:
        return web.Response(text="<html><body>Welcome to nginx!</body></html>", content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", welcome)
    async with TestServer(app) as server:
        place = f"127.0.0.1:{server.port}/v1"
        monkeypatch.setenv("CUSTOM_BASE_URL", f"http://{place}")
        monkeypatch.setenv("MODEL", "custom/a")
        [line] = [as_line(one) for one in await check_model(case())]
    assert line == (
        f"{place} answers, and does not speak Chat Completions: there is no /chat/completions. Set CUSTOM_BASE_URL to "
        "the address of an endpoint that does, up to its /v1."
    )


async def test_the_window_of_a_fallback_and_of_summaries_is_looked_at_too(
    case: MakeCase, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("MODEL_FALLBACK", "ollama/llama3.2")
    monkeypatch.setenv("COMPACTION_MODEL", "custom/small")
    monkeypatch.setenv("CUSTOM_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")
    lines = [as_line(one) for one in await check_model(case()) if one.state == "problem"]
    assert len(lines) == 2
    assert any("Fallback: Ollama" in line for line in lines)
    assert any("Summaries: Your endpoint" in line for line in lines)
