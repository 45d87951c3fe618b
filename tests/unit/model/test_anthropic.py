"""The model adapter, with the real SDK against a strict server: what it asks, what it gives back, what it learns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.errors import ModelError, ModelOverflow, ModelRefused
from bot.history import Usage
from bot.messages import Message, text_block
from bot.model import DEFAULT_ANSWER, DEFAULT_WINDOW, Head, Limits, Model
from bot.model.anthropic import AnthropicModel
from tests.servers.messages.server import MessagesServer, Reply, ToolCall

TOOLS = ({"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},)
HEAD = Head("claude-test", 500, "Be kind.", TOOLS)
HELLO = [Message(role="user", content=[text_block("hello")])]


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with MessagesServer(brain=lambda _: Reply("Hello, and how are you?")) as server:
        yield server


@pytest.fixture
async def asked(server: MessagesServer) -> AsyncIterator[Model]:
    model = AnthropicModel(api_key="test-key", base_url=server.url)
    yield model
    await model.close()


async def error_of(model: Model, expected: type[ModelError], head: Head = HEAD) -> str:
    with pytest.raises(expected) as raised:
        await model.ask(head, HELLO)
    return str(raised.value)


# --- asking ---


@pytest.mark.parametrize("token", [None, "a-token"])
async def test_an_endpoint_of_ones_own_finds_the_key_where_any_of_them_looks(
    token: str | None,
) -> None:
    seen: list[tuple[str | None, str | None]] = []

    async def look(request: web.Request) -> web.Response:
        seen.append((request.headers.get("authorization"), request.headers.get("x-api-key")))
        return web.json_response({"type": "error", "error": {"type": "authentication_error"}}, status=401)

    app = web.Application()
    app.router.add_post("/v1/messages", look)
    async with TestServer(app) as other:
        model = AnthropicModel(api_key="a-key", auth_token=token, base_url=str(other.make_url("")).rstrip("/"))
        await error_of(model, ModelRefused)
        await model.close()
    assert seen == [(f"Bearer {token or 'a-key'}", "a-key")]


async def test_a_reply_has_its_text_its_usage_and_why_it_ended(server: MessagesServer, asked: Model) -> None:
    reply = await asked.ask(HEAD, HELLO)
    assert reply.blocks == (text_block("Hello, and how are you?"),)
    assert reply.stop_reason == "end_turn"
    [record] = server.requests
    counted = record.usage
    assert reply.usage == Usage(
        counted.input_tokens,
        counted.cache_read_input_tokens,
        counted.cache_creation_input_tokens,
        counted.output_tokens,
    )
    assert reply.usage.context == record.request.tokens


async def test_what_is_asked_is_sent_as_it_is(server: MessagesServer, asked: Model) -> None:
    await asked.ask(HEAD, HELLO)
    body = server.requests[0].request.body
    assert (body["model"], body["max_tokens"], body["stream"]) == ("claude-test", 500, True)
    assert server.requests[0].request.system == "Be kind."
    assert body["messages"] == HELLO
    assert [tool["name"] for tool in body["tools"]] == ["look"]
    assert body["cache_control"] == {"type": "ephemeral"}


async def test_a_head_without_tools_and_prompt_sends_none(server: MessagesServer, asked: Model) -> None:
    await asked.ask(Head("claude-test", 500, ""), HELLO)
    assert {"tools", "system"}.isdisjoint(server.requests[0].request.body)


async def test_the_text_so_far_is_told_while_it_is_written(server: MessagesServer, asked: Model) -> None:
    texts: list[str] = []
    await asked.ask(HEAD, HELLO, texts.append)
    assert (texts[0], texts[-1]) == ("", "Hello, and how are you?")
    assert len(texts) > 2
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


async def test_tool_calls_come_back_as_they_are_sent_again(server: MessagesServer, asked: Model) -> None:
    server.brain = lambda request: Reply("I look.", [ToolCall("look", {"where": ["under", 1]}, "toolu_1")])
    reply = await asked.ask(HEAD, HELLO)
    assert reply.stop_reason == "tool_use"
    assert reply.blocks == (
        text_block("I look."),
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"where": ["under", 1]}},
    )
    server.brain = lambda request: Reply("A fox.")
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a fox"}
    await asked.ask(
        HEAD,
        [*HELLO, Message(role="assistant", content=list(reply.blocks)), Message(role="user", content=[result])],
    )
    assert server.refused == []


async def test_the_same_beginning_is_read_from_the_cache(server: MessagesServer, asked: Model) -> None:
    long = [Message(role="user", content=[text_block("a long story, " * 2_000)])]
    await asked.ask(HEAD, long)
    answer = Message(role="assistant", content=[text_block("Hello, and how are you?")])
    again = await asked.ask(HEAD, [*long, answer, *HELLO])
    assert again.usage.cache_read > 0.9 * again.usage.context


async def test_a_prompt_that_is_to_be_kept_for_an_hour_is_written_for_an_hour(server: MessagesServer) -> None:
    model = AnthropicModel(api_key="test-key", base_url=server.url, remembered="1h")
    reply = await model.ask(HEAD, [*HELLO, Message(role="assistant", content=[text_block("Yes?")]), *HELLO])
    await model.close()
    [record] = server.completed
    assert reply.usage.hourly == reply.usage.cache_creation == record.usage.prompt_tokens
    assert record.usage.cache_creation == {
        "ephemeral_5m_input_tokens": 0,
        "ephemeral_1h_input_tokens": record.usage.prompt_tokens,
    }


async def test_an_answer_that_was_cut_off_at_its_longest_says_so(server: MessagesServer, asked: Model) -> None:
    server.brain = lambda request: Reply("Once upon", stop_reason="max_tokens")
    assert (await asked.ask(HEAD, HELLO)).stop_reason == "max_tokens"


async def test_a_call_in_which_the_answer_ended_is_shown_and_not_to_be_acted_on(
    server: MessagesServer, asked: Model
) -> None:
    calls = [ToolCall("look", {"at": "a"}, "toolu_1"), ToolCall("look", {"at": "a", "in": "the wood"}, "toolu_2", 22)]
    server.brain = lambda _: Reply("I look.", calls, "max_tokens")
    reply = await asked.ask(HEAD, HELLO)
    assert reply.blocks[-1]["input"]["at"] == "a"
    assert reply.broken == {"toolu_2"}
    assert reply.stop_reason == "max_tokens"
    server.brain = lambda _: Reply("", [ToolCall("look", {}, "toolu_1"), ToolCall("look", {}, "toolu_2")], "max_tokens")
    assert (await asked.ask(HEAD, HELLO)).broken == {"toolu_2"}
    server.brain = lambda _: Reply("", [ToolCall("look", {}, "toolu_1")])
    assert (await asked.ask(HEAD, HELLO)).broken == set()


async def test_cancelling_closes_the_stream(server: MessagesServer, asked: Model) -> None:
    server.hang(after=2)
    asking = asyncio.create_task(asked.ask(HEAD, HELLO))
    await server.wait_for(lambda it: it.requests and it.requests[0].deltas == 2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await server.wait_for(lambda it: it.hangups == 1)
    assert server.running == 0


async def test_cancelling_before_the_first_word_closes_the_request(server: MessagesServer, asked: Model) -> None:
    server.hang()
    asking = asyncio.create_task(asked.ask(HEAD, HELLO))
    await server.wait_for(lambda it: it.running)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await server.wait_for(lambda it: it.hangups == 1)


# --- what does not help to try again ---


async def test_a_wrong_key_is_refused_once_and_the_setting_is_named(server: MessagesServer) -> None:
    model = AnthropicModel(api_key="wrong", base_url=server.url)
    assert "ANTHROPIC_API_KEY" in await error_of(model, ModelRefused)
    assert len(server.requests) == 1
    await model.close()


async def test_a_wrong_token_names_its_own_setting(server: MessagesServer) -> None:
    model = AnthropicModel(api_key=None, auth_token="wrong", base_url=server.url)
    assert "ANTHROPIC_AUTH_TOKEN" in await error_of(model, ModelRefused)
    await model.close()


async def test_a_token_lets_in_as_well_as_a_key(server: MessagesServer) -> None:
    model = AnthropicModel(api_key=None, auth_token="test-key", base_url=server.url)
    assert (await model.ask(HEAD, HELLO)).stop_reason == "end_turn"
    await model.close()


async def test_a_key_is_in_no_error(server: MessagesServer) -> None:
    model = AnthropicModel(api_key="sk-very-secret", base_url=server.url)
    assert "sk-very-secret" not in await error_of(model, ModelRefused)
    await model.close()


async def test_an_unknown_model_is_named_with_the_setting(server: MessagesServer, asked: Model) -> None:
    server.known_models = frozenset({"claude-other"})
    said = await error_of(asked, ModelRefused)
    assert "'claude-test'" in said
    assert "MODEL" in said
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "type_"), [(400, "invalid_request_error"), (403, "permission_error"), (402, "billing_error")]
)
async def test_a_bad_request_is_not_tried_again(server: MessagesServer, asked: Model, status: int, type_: str) -> None:
    server.fail(status, type_, "no such thing", times=None)
    assert "no such thing" in await error_of(asked, ModelRefused)
    assert len(server.requests) == 1


# --- the window ---


async def test_a_context_that_is_too_long_is_an_overflow_that_says_its_size(
    server: MessagesServer, asked: Model
) -> None:
    server.window = 10
    with pytest.raises(ModelOverflow) as overflow:
        await asked.ask(HEAD, HELLO)
    assert overflow.value.asked == server.requests[0].request.tokens
    assert len(server.requests) == 1


async def test_what_an_overflow_says_about_the_window_is_learned(server: MessagesServer, asked: Model) -> None:
    server.window = 10
    server.known_models = None
    assert await error_of(asked, ModelOverflow)
    assert await asked.limits("claude-test") == Limits(10, DEFAULT_ANSWER, known=True)


async def test_an_overflow_makes_no_window_larger(server: MessagesServer, asked: Model) -> None:
    server.window = 10
    await asked.limits("claude-test")
    server.fail(400, "invalid_request_error", "prompt is too long: 90000 tokens > 50000 maximum")
    assert await error_of(asked, ModelOverflow)
    assert (await asked.limits("claude-test")).window == 10


async def test_fixed_limits_stay_as_they_are(server: MessagesServer) -> None:
    server.window = 10
    fixed = Limits(4_096, 512)
    model = AnthropicModel(api_key="test-key", base_url=server.url, fixed=fixed)
    assert await error_of(model, ModelOverflow)
    assert await model.limits("claude-test") == fixed
    await model.close()


@pytest.mark.parametrize(
    "said",
    ["prompt is too long: 5 tokens > 4 maximum", "input length and `max_tokens` exceed context limit: 5 + 1 > 4"],
)
async def test_an_overflow_in_the_stream_is_an_overflow(server: MessagesServer, asked: Model, said: str) -> None:
    server.error_in_stream("invalid_request_error", said)
    assert await error_of(asked, ModelOverflow)
    assert len(server.requests) == 1


async def test_an_answer_that_runs_into_the_end_of_the_window_is_an_overflow(
    server: MessagesServer, asked: Model
) -> None:
    server.brain = lambda request: Reply("Once", stop_reason="model_context_window_exceeded")
    assert await error_of(asked, ModelOverflow)


async def test_the_limits_come_from_the_provider_and_are_asked_once(server: MessagesServer, asked: Model) -> None:
    server.window, server.max_tokens = 123_456, 4_321
    assert await asked.limits("claude-test") == Limits(123_456, 4_321, known=True)
    server.window = 1
    assert (await asked.limits("claude-test")).window == 123_456


async def test_the_models_that_an_endpoint_lists_are_named_whole_and_none_where_it_has_no_list() -> None:
    seen: list[tuple[str, str | None]] = []

    async def list_models(request: web.Request) -> web.Response:
        seen.append((request.query["limit"], request.headers.get("x-api-key")))
        rows = [{"type": "model", "id": "claude-b"}, {"type": "model", "id": "claude-a"}]
        return web.json_response({"data": rows, "has_more": False})

    app = web.Application()
    app.router.add_get("/v1/models", list_models)
    async with TestServer(app) as other:
        listing, without = (
            AnthropicModel(api_key="a-key", base_url=f"http://127.0.0.1:{other.port}{path}") for path in ("", "/else")
        )
        assert list(await listing.names()) == ["claude-a", "claude-b"]
        assert list(await without.names()) == []
        await listing.close()
        await without.close()
    assert seen == [("1000", "a-key")]


async def test_limits_that_a_server_does_not_know_are_guessed(server: MessagesServer, asked: Model) -> None:
    server.known_models = frozenset()
    assert await asked.limits("claude-test") == Limits(DEFAULT_WINDOW, DEFAULT_ANSWER, known=False)


async def test_limits_of_a_server_that_is_away_are_asked_again_when_it_is_back(server: MessagesServer) -> None:
    async with MessagesServer() as gone:
        pass
    model = AnthropicModel(api_key="test-key", base_url=gone.url)
    assert not (await model.limits("claude-test")).known
    async with MessagesServer(window=7_000, port=gone.port):
        assert await model.limits("claude-test") == Limits(7_000, 8_192, known=True)
    await model.close()


# --- heads ---


def test_equal_heads_have_one_digest_and_come_back_from_the_book() -> None:
    assert Head.from_json(HEAD.as_json()) == HEAD
    assert Head.from_json(HEAD.as_json()).digest == HEAD.digest
    others: list[dict[str, Any]] = [{"system": "Be brief."}, {"model": "x"}, {"max_tokens": 1}, {"tools": ()}]
    assert len({HEAD.digest, *(replace(HEAD, **other).digest for other in others)}) == 5


async def test_a_model_that_was_never_asked_can_be_closed() -> None:
    await AnthropicModel(api_key="test-key").close()
