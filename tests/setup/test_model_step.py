"""Which model answers: what is typed in several ways, and what an endpoint of which nothing is known says."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from bot.app.doctor.web import Web
from bot.app.setup.env_lines import TAKEN_OUT
from bot.app.setup.model_step import ModelAnswer, ModelStep
from bot.app.setup.settings_file import SettingsFile
from tests.servers.chat.manners import GROQ, LLAMACPP, OLLAMA, OPENAI
from tests.servers.messages.server import MessagesServer

KEY = "test-key"


@pytest.fixture
async def model() -> AsyncIterator[MessagesServer]:
    """An endpoint that refuses `max_tokens`, and has one model."""
    async with MessagesServer() as server:
        server.manner = OPENAI
        yield server


@pytest.fixture
async def step(tmp_path: Path) -> AsyncIterator[ModelStep]:
    async with aiohttp.ClientSession() as session:
        yield ModelStep(SettingsFile(tmp_path / ".env"), Web(session, time.time))


@pytest.mark.parametrize("typed", ["gpt-5.2", "custom/gpt-5.2", ""])
async def test_a_name_is_taken_as_it_is_listed_or_with_its_provider_and_the_only_one_by_itself(
    step: ModelStep, model: MessagesServer, typed: str
) -> None:
    answer = ModelAnswer("custom", typed, KEY, model.chat_url)
    trial = await step.attempt(answer)
    assert trial.state == "works", trial.findings
    assert step.keep(answer)["MODEL"] == "custom/gpt-5.2"
    assert model.requests[-1].outcome == "completed"


async def test_a_name_that_begins_as_its_provider_is_called_stays_where_it_is_listed(
    step: ModelStep, model: MessagesServer
) -> None:
    model.manner = replace(GROQ, model="groq/compound")
    answer = ModelAnswer("groq", "groq/compound", KEY, model.chat_url)
    assert (await step.attempt(answer)).state == "works"
    assert step.keep(answer)["MODEL"] == "groq/groq/compound"


async def test_a_key_that_the_endpoint_does_not_take_is_wrong_and_never_repeated(
    step: ModelStep, model: MessagesServer
) -> None:
    model.key = KEY
    trial = await step.attempt(ModelAnswer("custom", "gpt-5.2", "a-key-of-nobody", model.chat_url))
    told = " ".join(f"{finding.sentence} {finding.advice}" for finding in trial.findings)
    assert (trial.state, "key" in told) == ("wrong", True)
    assert "a-key-of-nobody" not in told


async def test_an_endpoint_that_refuses_what_a_chat_asks_is_wrong(step: ModelStep, model: MessagesServer) -> None:
    model.manner, model.takes_tools = replace(OPENAI, wordings=OLLAMA.wordings), False
    trial = await step.attempt(ModelAnswer("custom", "gpt-5.2", KEY, model.chat_url))
    assert trial.state == "wrong"
    assert any("refuses what a chat asks" in finding.sentence for finding in trial.findings)


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_refused_key_of_an_endpoint_of_ones_own_is_told_once_and_what_is_said_of_it_fits(
    step: ModelStep, model: MessagesServer, is_open: bool
) -> None:
    model.key = KEY
    model.lists_to_all = is_open
    trial = await step.attempt(ModelAnswer("custom", "gpt-5.2", "a-key-of-nobody", model.chat_url))
    [refused] = [finding for finding in trial.findings if finding.state == "problem"]
    assert "does not accept the key in CUSTOM_API_KEY" in refused.sentence
    assert "log" not in refused.advice


async def test_an_address_without_its_path_is_looked_for_and_kept_where_it_is(
    step: ModelStep, model: MessagesServer
) -> None:
    root = model.chat_url.removesuffix("/v1")
    assert root != model.chat_url
    answer = ModelAnswer("custom", "", KEY, root)
    assert list(await step.models(replace(answer, model="-"))) == ["gpt-5.2"]
    trial = await step.attempt(answer)
    assert trial.state == "works", trial.findings
    assert f"It is at {model.chat_url}." in [finding.sentence for finding in trial.findings]
    assert step.keep(answer)["CUSTOM_BASE_URL"] == model.chat_url


async def test_where_a_server_speaks_at_its_root_too_the_usual_place_is_kept(
    step: ModelStep, model: MessagesServer
) -> None:
    model.manner = replace(LLAMACPP, model="gpt-5.2")
    answer = ModelAnswer("custom", "gpt-5.2", KEY, model.chat_url.removesuffix("/v1"))
    trial = await step.attempt(answer)
    assert trial.state == "works", trial.findings
    assert step.keep(answer)["CUSTOM_BASE_URL"] == model.chat_url


async def test_a_key_that_is_set_can_be_let_go_of(step: ModelStep, model: MessagesServer, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CUSTOM_API_KEY=a-key-of-nobody\n", encoding="utf-8")
    assert step.keep(ModelAnswer("custom", "gpt-5.2", None, model.chat_url))["CUSTOM_API_KEY"] is TAKEN_OUT
    assert "a-key-of-nobody" not in (tmp_path / ".env").read_text(encoding="utf-8")
