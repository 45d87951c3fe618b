"""The model's endpoint, asked without a request of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from bot.app.doctor.model import check_model
from bot.app.models import link_to
from bot.estimate.learned_windows import CUT, Learned
from bot.runtime.env_file import EnvFile
from bot.runtime.settings_check import check
from bot.store.book import database_of
from bot.store.windows import BookWindows
from tests.doctor.conftest import MakeCase, said, the_one
from tests.servers.messages.server import MessagesServer

CHECK_KEY = "Check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL."
KEY = "test-key"


async def test_a_model_that_answers_is_well(case: MakeCase, models: MessagesServer) -> None:
    patient = case(anthropic_api_key=KEY, anthropic_base_url=models.url, model="claude-sonnet-5")
    assert await said(check_model, patient) == [
        f"ok: claude-sonnet-5 answers at 127.0.0.1:{models.port}, window 3,000 tokens."
    ]
    assert models.requests == []


async def test_the_model_of_the_summaries_is_asked_for_too(case: MakeCase, models: MessagesServer) -> None:
    models.known_models = frozenset({"claude-sonnet-5"})
    patient = case(anthropic_api_key=KEY, anthropic_base_url=models.url, compaction_model="claude-small")
    lines = await said(check_model, patient)
    assert lines[0].startswith("ok: claude-sonnet-5 answers")
    assert lines[1] == f"problem: 127.0.0.1:{models.port} has no model claude-small."


async def test_a_prefix_that_belongs_to_no_name_there_is_told_of(case: MakeCase, models: MessagesServer) -> None:
    given = {"anthropic_api_key": KEY, "anthropic_base_url": models.url, "model": "anthropic/claude-sonnet-5"}
    models.known_models = frozenset({"anthropic/claude-sonnet-5"})
    assert (await said(check_model, case(**given)))[0].startswith("ok: anthropic/claude-sonnet-5 answers")
    models.known_models = frozenset({"claude-sonnet-5"})
    found = await the_one(check_model, case(**given), "problem")
    assert found.advice.endswith("the whole of MODEL is the name there: write MODEL=claude-sonnet-5.")


async def test_an_endpoint_of_its_own_for_summaries_is_looked_at_too(case: MakeCase, models: MessagesServer) -> None:
    async with _listing("llama3.2:3b") as url:
        settings = {"anthropic_api_key": KEY, "anthropic_base_url": models.url}
        own = {"base_url": url, "api_key": "key-of-the-small-one"}
        lines = await said(check_model, case(**settings, compaction_model="llama3.2:3b", compaction=own))
        assert lines[1] == f"ok: llama3.2:3b is there, at {url.removeprefix('http://')}."
        found = await the_one(check_model, case(**settings, compaction_model="llama", compaction=own), "problem")
        assert found.advice == "Set COMPACTION_MODEL to one that it has, e.g. llama3.2:3b."
    found = await the_one(check_model, case(**settings, compaction_model="llama3.2:3b", compaction=own), "problem")
    assert found.sentence.startswith("Summaries: ")
    assert "COMPACTION__BASE_URL" in found.advice
    assert "key-of-the-small-one" not in str(found)


async def test_an_endpoint_for_summaries_without_a_model_is_a_problem(case: MakeCase) -> None:
    settings = case(anthropic_api_key=KEY, compaction={"base_url": "http://127.0.0.1:11434"}).settings
    [found] = [one for one in check(settings, {}, EnvFile()) if "COMPACTION__BASE_URL" in one.sentence]
    assert "does nothing without COMPACTION_MODEL" in found.sentence


async def test_a_limit_above_the_window_is_told_of(case: MakeCase, models: MessagesServer) -> None:
    settings = {"anthropic_api_key": KEY, "anthropic_base_url": models.url}
    patient = case(**settings, agents={"emergency_context_limit": 16_000})
    found = await the_one(check_model, patient, "warning")
    assert "AGENTS__EMERGENCY_CONTEXT_LIMIT=16000 is above its window of 3,000 tokens" in found.sentence


async def test_the_window_that_a_refusal_stated_is_told_with_the_setting_that_is_above_it(
    case: MakeCase, models: MessagesServer
) -> None:
    models.window = 0  # it says nothing of it
    settings = {
        "anthropic_api_key": KEY,
        "anthropic_base_url": models.url,
        "agents": {"emergency_context_limit": 16_000},
    }
    patient = case(**settings, model="claude-sonnet-5")
    database = database_of(patient.settings)
    await database.open()
    place = link_to(patient.settings.talker, patient.settings).model.place
    await BookWindows(database).learn(place, "claude-sonnet-5", Learned(8_192, "prompt is too long: 9 > 8192 maximum"))
    await database.close()
    found = await the_one(check_model, patient, "warning")
    assert found.sentence.startswith("claude-sonnet-5 takes no more than 8,192 tokens")
    assert "AGENTS__EMERGENCY_CONTEXT_LIMIT=16000 is above that" in found.sentence
    assert [one.state for one in await check_model(case(**settings, model="claude-opus-5"))] == ["ok"]


async def test_a_window_that_was_learned_from_a_prompt_that_was_cut_is_not_called_a_refusal(
    case: MakeCase, models: MessagesServer
) -> None:
    patient = case(anthropic_api_key=KEY, anthropic_base_url=models.url, model="claude-sonnet-5")
    database = database_of(patient.settings)
    await database.open()
    place = link_to(patient.settings.talker, patient.settings).model.place
    said = f"Ollama{CUT}6,100 tokens for claude-sonnet-5 to 4,096."
    await BookWindows(database).learn(place, "claude-sonnet-5", Learned(4_096, said, listed=32_768))
    await database.close()
    (told, *_) = [one.sentence for one in await check_model(patient) if "4,096" in one.sentence]
    assert "its server cut a longer prompt, and said nothing; it lists a window of 32,768" in told
    assert "refused" not in told


async def test_a_wrong_key_is_a_problem_and_not_repeated(case: MakeCase, models: MessagesServer) -> None:
    patient = case(anthropic_api_key="a-wrong-key-of-mine", anthropic_base_url=models.url)
    finding = await the_one(check_model, patient, "problem")
    assert "does not accept our key" in finding.sentence
    assert (finding.advice, "ANTHROPIC_API_KEY" in finding.sentence) == (CHECK_KEY, False)
    assert "a-wrong-key-of-mine" not in str(finding)


async def test_a_server_that_does_not_answer_is_a_problem(case: MakeCase) -> None:
    async with MessagesServer() as server:
        url = server.url
    finding = await the_one(check_model, case(anthropic_base_url=url), "problem")
    assert "cannot be reached" in finding.sentence
    assert "ANTHROPIC_BASE_URL" in finding.advice


async def test_a_model_without_a_window_wants_to_be_told(case: MakeCase, models: MessagesServer) -> None:
    models.window = 0
    settings = {"anthropic_api_key": KEY, "anthropic_base_url": models.url}
    assert "AGENTS__EMERGENCY_CONTEXT_LIMIT" in (await the_one(check_model, case(**settings), "warning")).advice
    told = case(**settings, agents={"emergency_context_limit": 16_000})
    assert [finding.state for finding in await check_model(told)] == ["ok"]


async def test_a_model_that_a_server_of_ones_own_does_not_list_is_a_problem(case: MakeCase) -> None:
    async with _listing("llama-3", "qwen-coder") as url:
        finding = await the_one(check_model, case(anthropic_base_url=url, model="qwen-code"), "problem")
        assert finding.sentence.endswith("has no model qwen-code.")
        assert "qwen-coder" in finding.advice
        known = case(anthropic_base_url=url, model="llama-3", agents={"emergency_context_limit": 16_000})
        assert [found.state for found in await check_model(known)] == ["ok"]


async def test_a_base_that_ends_in_v1_is_told(case: MakeCase, models: MessagesServer) -> None:
    patient = case(anthropic_api_key=KEY, anthropic_base_url=f"{models.url}/v1")
    assert "Take /v1 from the end" in (await the_one(check_model, patient, "problem")).advice


async def test_without_a_key_the_toy_model_is_named(case: MakeCase) -> None:
    (line,) = await said(check_model, case())
    assert line.startswith("ok: No key is set")
    ignored = await the_one(check_model, case(model="claude-sonnet-5"), "warning")
    assert "MODEL=claude-sonnet-5 is ignored" in ignored.sentence


@asynccontextmanager
async def _listing(*names: str) -> AsyncIterator[str]:
    """A server of the Messages API that lists its models and describes none, as some do."""

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name} for name in names]})

    async def messages(_: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "messages: field required"}}, status=400)

    app = web.Application()
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/messages", messages)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()
