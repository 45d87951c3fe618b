"""The adapter of the second wire against an endpoint on loopback: what it asks, what it gives back, what it says when
it gets none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bot.errors import Cause, ModelError, ModelOverflow, ModelRefused, ModelUnavailable
from bot.history import Usage
from bot.messages import Message, text_block
from bot.model import DEFAULT_ANSWER, Head, Limits, Model, SettingNames
from bot.model.calls import Silence
from bot.model.chat.client import ChatModel
from bot.runtime.providers import Quirks
from tests.unit.model.chat.endpoint import Answer, Asked, Endpoint, ended, refused, said, streamed

TOOLS = ({"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},)
HEAD = Head("a-model", 500, "Be kind.", TOOLS)
HELLO = [Message(role="user", content=[text_block("hello")])]
NAMES = SettingNames("SOME_API_KEY", "SOME_BASE_URL")
WORDS = (text_block("Hello, and how are you?"),)
SPOKEN = (said("Hello,"), said(" and how"), said(" are you?"), ended())


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with Endpoint() as endpoint:
        endpoint.answer = lambda _: streamed(SPOKEN)
        yield endpoint


def model_of(endpoint: Endpoint, **more: Any) -> ChatModel:
    return ChatModel(**{"api_key": "test-key", "base_url": endpoint.url, "names": NAMES, **more})


@pytest.fixture
async def asked(endpoint: Endpoint) -> AsyncIterator[Model]:
    model = model_of(endpoint)
    yield model
    await model.close()


async def error_of(model: Model, expected: type[ModelError]) -> ModelError:
    with pytest.raises(expected) as raised:
        await model.ask(HEAD, HELLO)
    return raised.value


# --- asking ---


async def test_a_reply_has_its_text_its_usage_and_why_it_ended(endpoint: Endpoint, asked: Model) -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    endpoint.answer = lambda _: streamed([*SPOKEN, {"choices": [], "usage": told}])
    reply = await asked.ask(HEAD, HELLO)
    assert (reply.blocks, reply.stop_reason) == (WORDS, "end_turn")
    assert reply.usage == Usage(input=40, cache_read=60, output=7)


async def test_what_is_asked_is_sent_as_this_wire_has_it(endpoint: Endpoint, asked: Model) -> None:
    await asked.ask(HEAD, HELLO)
    [request] = endpoint.asked
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "a-model",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}],
        "max_completion_tokens": 500,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look",
                    "description": "Looks.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_the_text_so_far_is_told_while_it_is_written(asked: Model) -> None:
    texts: list[str] = []
    await asked.ask(HEAD, HELLO, texts.append)
    assert texts == ["", "Hello,", "Hello, and how", "Hello, and how are you?"]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


async def test_nothing_is_told_of_this_machine_or_of_another_provider(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: of-another")
    model = model_of(endpoint, api_key="ours", key_header="api-key", query={"api-version": "1"})
    await model.ask(HEAD, HELLO)
    await model.close()
    [request] = endpoint.asked
    assert "of-another" not in str(request)
    assert not [name for name in request.headers if "stainless" in name]
    assert request.headers["api-key"] == "ours"
    assert "authorization" not in request.headers, "where a key has a place of its own, a bearer's is for other tokens"
    assert request.path == "/v1/chat/completions?api-version=1"


def effort_refused(model: str) -> Answer:
    """https://github.com/BerriAI/litellm/pull/34569"""
    words = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use"
    words += " function tools, use /v1/responses or set reasoning_effort to 'none'."
    return refused(400, {"error": {"message": words, "type": "invalid_request_error", "param": "reasoning_effort"}})


def none_refused() -> Answer:
    """As https://github.com/livekit/agents/pull/7169 has it of another effort."""
    words = "Unsupported value: 'reasoning_effort' does not support 'none' with this model. It supports: 'low'."
    return refused(400, {"error": {"message": words, "type": "invalid_request_error", "param": "reasoning_effort"}})


@pytest.mark.parametrize("told", ["", "none"])
@pytest.mark.parametrize("wants", ["", "none"])
async def test_a_model_is_told_the_effort_that_it_takes_tools_with_whatever_it_is_called(
    endpoint: Endpoint, told: str, wants: str
) -> None:
    def answer(asked: Asked) -> Answer:
        effort = asked.body.get("reasoning_effort", "")
        if effort == wants:
            return streamed([said("Hello."), ended()])
        return effort_refused("mine") if wants else none_refused()

    endpoint.answer = answer
    quirks = Quirks(effort_with_tools=told, effort_models=".*")
    model = model_of(endpoint, quirks=quirks)
    for _ in range(2):
        assert (await model.ask(HEAD, HELLO)).blocks == (text_block("Hello."),)
    await model.close()
    efforts = [asked.body.get("reasoning_effort", "") for asked in endpoint.asked]
    assert efforts == [*dict.fromkeys((told, wants)), wants], "it is known from then on"


@pytest.mark.parametrize("told", ["", "none"])
async def test_a_model_that_takes_tools_with_no_effort_is_said_to_take_none(endpoint: Endpoint, told: str) -> None:
    endpoint.answer = lambda it: none_refused() if "reasoning_effort" in it.body else effort_refused("mine")
    model = model_of(endpoint, quirks=Quirks(effort_with_tools=told, effort_models=".*"))
    for _ in range(2):
        with pytest.raises(ModelRefused, match=r"takes no tools there .* Set MODEL to one that does") as caught:
            await model.ask(HEAD, HELLO)
        assert caught.value.cause is Cause.MODEL
    await model.close()
    assert len(endpoint.asked) <= 3


NOT_TAKEN = {
    "openai": "Unsupported parameter: '{}' is not supported with this model. Use '{}' instead.",
    "groq": "property '{}' is unsupported",
    "azure": "Unrecognized request argument supplied: {}",
}


@pytest.mark.parametrize("words", [*NOT_TAKEN.values(), "pydantic"])
@pytest.mark.parametrize("wants", ["max_tokens", "max_completion_tokens"])
async def test_a_model_is_sent_its_longest_answer_under_the_name_that_it_takes(
    endpoint: Endpoint, wants: str, words: str
) -> None:
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[wants]

    def answer(asked: Asked) -> Answer:
        if other not in asked.body:
            return streamed([said("Hello."), ended()])
        if words == "pydantic":
            row = {"type": "extra_forbidden", "loc": ["body", other], "msg": "Extra inputs are not permitted"}
            return refused(422, {"detail": [row]})
        return refused(400, {"error": {"message": words.format(other, wants), "type": "invalid_request_error"}})

    endpoint.answer = answer
    model = model_of(endpoint, quirks=Quirks(answer_field=other, effort_with_tools="none", effort_models=".*"))
    for _ in range(2):
        assert (await model.ask(HEAD, HELLO)).blocks == (text_block("Hello."),)
    await model.close()
    assert [asked.body.get(wants) for asked in endpoint.asked] == [None, HEAD.max_tokens, HEAD.max_tokens]
    assert [asked.body["reasoning_effort"] for asked in endpoint.asked] == ["none"] * 3


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 750. This model supports at most 500 completion tokens.",
        "Invalid 'max_tokens': integer below minimum value.",
        "Unsupported parameter: 'max_tokens'. Unsupported parameter: 'max_completion_tokens'.",
    ],
)
async def test_a_refusal_that_no_other_name_would_help_is_told(endpoint: Endpoint, words: str) -> None:
    endpoint.answer = lambda _: refused(400, {"error": {"message": words, "type": "invalid_request_error"}})
    model = model_of(endpoint, quirks=Quirks(answer_field="max_tokens"))
    assert words in str(await error_of(model, ModelRefused))
    await model.close()
    assert len(endpoint.asked) == 1 + ("completion_tokens'" in words)


def refusing(words: str) -> Answer:
    """As pydantic says it, or as others do."""
    if words.startswith("body."):
        row = {"type": "extra_forbidden", "loc": words.split("."), "msg": "Extra inputs are not permitted"}
        return refused(422, {"detail": [row]})
    return refused(400, {"error": {"message": words, "type": "invalid_request_error"}})


@pytest.mark.parametrize(
    "words",
    [
        "Unrecognized request argument supplied: stream_options",
        "Unknown parameter: 'stream_options'.",
        "body.stream_options",
    ],
)
async def test_an_endpoint_that_knows_no_options_of_a_stream_is_asked_without_them(
    endpoint: Endpoint, words: str
) -> None:
    def answer(asked: Asked) -> Answer:
        return refusing(words) if "stream_options" in asked.body else streamed([said("Hello."), ended()])

    endpoint.answer = answer
    model = model_of(endpoint)
    for _ in range(2):
        assert (await model.ask(HEAD, HELLO)).blocks == (text_block("Hello."),)
    await model.close()
    assert ["stream_options" in asked.body for asked in endpoint.asked] == [True, False, False]


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: {}. This model supports at most 300 completion tokens, whereas you provided {}.",
        "Invalid max_tokens value {}: the valid range of max_tokens is [1, 300], which is the maximum",
        "`max_tokens` must be at most 300; gpt-4-0314 was asked for {} (limit 1,000,000 in a day)",
    ],
)
async def test_a_model_that_gives_shorter_answers_is_asked_for_those(endpoint: Endpoint, words: str) -> None:
    def answer(asked: Asked) -> Answer:
        wanted = asked.body["max_tokens"]
        return refusing(words.format(wanted, wanted)) if wanted > 300 else streamed([said("Hello."), ended()])

    endpoint.answer = answer
    model = model_of(endpoint, quirks=Quirks(answer_field="max_tokens"))
    for _ in range(2):
        assert (await model.ask(HEAD, HELLO)).blocks == (text_block("Hello."),)
    assert (await model.ask(replace(HEAD, max_tokens=50), HELLO)).blocks == (text_block("Hello."),)
    await model.close()
    wanted = [asked.body["max_tokens"] for asked in endpoint.asked]
    assert (wanted[0], wanted[-3:]) == (HEAD.max_tokens, [300, 300, 50])


@pytest.mark.parametrize("begins", [False, True])
async def test_a_server_that_says_nothing_is_away_and_not_waited_for_again(endpoint: Endpoint, begins: bool) -> None:
    endpoint.answer = lambda _: streamed(SPOKEN[:1], end=b"", hangs=True, begins=begins)
    model = model_of(endpoint, silence=Silence(1.0, 1.0))
    assert "said nothing for 1 seconds" in str(await error_of(model, ModelUnavailable))
    await model.close()
    assert len(endpoint.asked) == 1


async def test_an_endpoint_that_does_not_stream_is_heard_too(endpoint: Endpoint, asked: Model) -> None:
    whole = '{"choices": [{"message": {"role": "assistant", "content": "All at once."}, "finish_reason": "stop"}]}'
    endpoint.answer = lambda _: Answer(whole.encode(), kind="application/json; charset=utf-8")
    texts: list[str] = []
    reply = await asked.ask(HEAD, HELLO, texts.append)
    assert reply.blocks == (text_block("All at once."),)
    assert texts == ["", "All at once."]


async def test_what_keeps_a_connection_alive_is_no_part_of_the_answer(endpoint: Endpoint, asked: Model) -> None:
    kept = [b": OPENROUTER PROCESSING\n\n", b"data:\n\n", *SPOKEN[:1], b": ping\n\n", b"event: ping\ndata: \n\n"]
    endpoint.answer = lambda _: streamed([*kept, *SPOKEN[1:]])
    assert (await asked.ask(HEAD, HELLO)).blocks == WORDS


async def test_an_end_that_is_announced_needs_no_reason(endpoint: Endpoint, asked: Model) -> None:
    endpoint.answer = lambda _: streamed(SPOKEN[:-1])
    reply = await asked.ask(HEAD, HELLO)
    assert (reply.blocks, reply.stop_reason) == (WORDS, "end_turn")


async def test_an_answer_that_nobody_ended_is_asked_for_again(endpoint: Endpoint, asked: Model) -> None:
    answers = iter([streamed(SPOKEN[:1], end=b""), streamed(SPOKEN)])
    endpoint.answer = lambda _: next(answers)
    texts: list[str] = []
    assert (await asked.ask(HEAD, HELLO, texts.append)).blocks == WORDS
    assert texts[:3] == ["", "Hello,", ""]


async def test_cancelling_closes_the_stream(endpoint: Endpoint, asked: Model) -> None:
    endpoint.answer = lambda _: streamed(SPOKEN[:1], end=b"", hangs=True)
    begun = asyncio.Event()
    asking = asyncio.create_task(asked.ask(HEAD, HELLO, lambda text: begun.set() if text else None))
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await endpoint.wait_for(lambda it: it.hangups == 1)


# --- what went wrong ---


async def test_a_wrong_key_is_refused_once_and_the_setting_is_named(endpoint: Endpoint, asked: Model) -> None:
    body = {"error": {"message": "Incorrect API key", "type": "invalid_request_error", "code": "invalid_api_key"}}
    endpoint.answer = lambda _: refused(401, body)
    error = await error_of(asked, ModelRefused)
    assert "SOME_API_KEY" in str(error)
    assert (error.cause, len(endpoint.asked)) == (Cause.KEY, 1)


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (429, {"error": {"message": "Your quota", "code": "insufficient_quota"}}, Cause.CREDIT),
        (402, {"error": {"message": "Insufficient Balance"}}, Cause.CREDIT),
        (404, {"error": {"message": "no such model", "code": "model_not_found"}}, Cause.MODEL),
        (400, {"error": {"message": "bad", "type": "invalid_request_error"}}, Cause.REQUEST),
        (400, [{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}], Cause.REQUEST),
    ],
)
async def test_what_does_not_help_to_try_again(
    endpoint: Endpoint, asked: Model, status: int, body: Any, cause: Cause
) -> None:
    endpoint.answer = lambda _: refused(status, body)
    assert (await error_of(asked, ModelRefused)).cause is cause
    assert len(endpoint.asked) == 1


async def test_a_context_that_is_too_long_is_an_overflow_that_says_its_size(endpoint: Endpoint, asked: Model) -> None:
    words = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    body = {"error": {"message": words, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    endpoint.answer = lambda _: refused(400, body)
    with pytest.raises(ModelOverflow) as overflow:
        await asked.ask(HEAD, HELLO)
    assert (overflow.value.asked, overflow.value.window) == (9000, 8192)
    assert (await asked.limits("a-model")).window == 8192


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"error": {"message": "context_length_exceeded: prompt is too long", "code": 400}}, ModelOverflow),
        ({"error": {"message": "Insufficient credits", "code": 402}}, ModelRefused),
        (
            {"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 401, "message": "key"}}]},
            ModelRefused,
        ),
        ({"object": "error", "message": "bad parameter", "code": 400}, ModelRefused),
    ],
)
async def test_an_error_in_the_stream_is_what_its_code_says(
    endpoint: Endpoint, asked: Model, broken: Mapping[str, Any], expected: type[ModelError]
) -> None:
    endpoint.answer = lambda _: streamed([*SPOKEN[:1], broken])
    await error_of(asked, expected)
    assert [it.path for it in endpoint.asked].count("/v1/chat/completions") == 1


async def test_an_error_in_the_stream_that_passes_is_tried_again(endpoint: Endpoint, asked: Model) -> None:
    answers = iter([streamed([*SPOKEN[:1], {"error": {"message": "busy", "code": 429}}]), streamed(SPOKEN)])
    endpoint.answer = lambda _: next(answers)
    assert (await asked.ask(HEAD, HELLO)).blocks == WORDS


async def test_a_wait_that_the_endpoint_names_is_kept(endpoint: Endpoint, asked: Model) -> None:
    endpoint.answer = lambda _: refused(429, {"error": {"message": "slow down"}}, retry_after="3600")
    assert (await error_of(asked, ModelUnavailable)).cause is Cause.BUSY
    assert len(endpoint.asked) == 1


async def test_a_key_that_cannot_be_sent_is_said_to_be_none(endpoint: Endpoint) -> None:
    model = model_of(endpoint, api_key="schlüssel…")
    assert "The model cannot be used" in str(await error_of(model, ModelRefused))
    assert await model.names() == ()
    assert endpoint.asked == []
    await model.close()


async def test_a_page_of_a_proxy_is_no_answer(endpoint: Endpoint, asked: Model) -> None:
    answers = iter([Answer(b"<html>Welcome</html>", kind="text/html"), streamed(SPOKEN)])
    endpoint.answer = lambda _: next(answers)
    assert (await asked.ask(HEAD, HELLO)).blocks == WORDS
    assert len(endpoint.asked) == 2


# --- the window ---


async def test_a_window_is_read_where_the_endpoint_lists_one(endpoint: Endpoint, asked: Model) -> None:
    endpoint.answer = lambda _: Answer(b'{"id": "a/model", "max_model_len": 4096}', kind="application/json")
    assert await asked.limits("a/model") == Limits(4096, DEFAULT_ANSWER, known=True)
    assert await asked.look_up("a/model") == 4096
    assert endpoint.asked[0].path == "/v1/models/a%2Fmodel"


async def test_a_model_is_looked_for_in_the_whole_list_where_there_is_no_other(endpoint: Endpoint) -> None:
    rows = b'{"data": [{"id": "models/here", "context_length": 9}, {"id": "there"}]}'
    only_list = Answer(rows, kind="application/json")
    endpoint.answer = lambda it: only_list if it.path == "/v1/models" else refused(404, {"detail": "Not Found"})
    model = model_of(endpoint)
    assert [await model.look_up(name) for name in ("here", "there", "nowhere")] == [9, 0, None]
    assert await model.limits("there") == Limits()
    await model.close()


async def test_a_look_of_the_providers_own_comes_first(endpoint: Endpoint) -> None:
    async def look(model: str) -> Limits | None:
        return Limits(1234, 5, known=True) if model == "known" else Limits()

    endpoint.answer = lambda _: refused(404, {})
    model = model_of(endpoint, look=look)
    assert await model.look_up("known") == 1234
    assert await model.look_up("unknown") is None
    assert await model.limits("known") == Limits(1234, 5, known=True)
    await model.close()


async def test_a_key_that_is_refused_is_said_when_a_model_is_looked_up(endpoint: Endpoint, asked: Model) -> None:
    endpoint.answer = lambda _: refused(401, {"error": {"message": "no"}})
    with pytest.raises(ModelRefused):
        await asked.look_up("a-model")
    assert await asked.limits("a-model") == Limits()


@pytest.mark.parametrize(
    "answer",
    [
        refused(401, {"error": {"message": "no"}}),
        refused(404, {}),
        Answer(b"<html>", kind="text/html"),
        Answer(b"{", kind="application/json"),
        Answer(b'{"data": 7}', kind="application/json"),
    ],
)
async def test_where_there_is_no_list_no_model_is_named(endpoint: Endpoint, asked: Model, answer: Answer) -> None:
    endpoint.answer = lambda _: answer
    assert list(await asked.names()) == []


async def test_the_models_of_a_list_are_named_in_their_order_and_each_once(endpoint: Endpoint) -> None:
    rows = b'{"data": [{"id": "models/b"}, {"id": "a"}, {"id": "b"}, {"id": 7}, {}, 8]}'
    endpoint.answer = lambda _: Answer(rows, kind="application/json")
    model = model_of(endpoint, key_header="api-key")
    assert list(await model.names()) == ["a", "b"]
    [request] = endpoint.asked
    assert request.path == "/v1/models"
    assert request.headers["api-key"] == "test-key", "it is shown the key as in every request"
    await model.close()


async def test_no_endpoint_of_this_wire_counts(asked: Model) -> None:
    assert await asked.count(HEAD, HELLO) is None


async def test_usage_is_not_asked_for_where_that_is_no_parameter(endpoint: Endpoint) -> None:
    model = model_of(endpoint, quirks=Quirks(reports_usage=False, answer_field="max_tokens"))
    await model.ask(HEAD, HELLO)
    await model.close()
    body = endpoint.asked[0].body
    assert "stream_options" not in body
    assert body["max_tokens"] == 500
