"""What the model adapter tries again, for how long, and what it says when it gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.errors import ModelRefused, ModelUnavailable
from bot.messages import Message, text_block
from bot.model import Head, Model
from bot.model.anthropic import AnthropicModel
from tests.servers.messages.server import MessagesServer, Reply

HEAD = Head("claude-test", 500, "Be kind.")
HELLO = [Message(role="user", content=[text_block("hello")])]
ANSWER = (text_block("Hello, and how are you?"),)
SOON = 0.01


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with MessagesServer(brain=lambda _: Reply("Hello, and how are you?")) as server:
        yield server


@pytest.fixture
async def model(server: MessagesServer) -> AsyncIterator[Model]:
    model = AnthropicModel(api_key="test-key", base_url=server.url)
    yield model
    await model.close()


@pytest.mark.parametrize(
    ("status", "type_"),
    [(429, "rate_limit_error"), (529, "overloaded_error"), (500, "api_error"), (503, "api_error"), (504, "x")],
)
async def test_what_passes_is_tried_again(server: MessagesServer, model: Model, status: int, type_: str) -> None:
    server.fail(status, type_, "not now", retry_after=SOON, times=2)
    assert (await model.ask(HEAD, HELLO)).blocks == ANSWER
    assert len(server.requests) == 3


async def test_after_four_tries_it_gives_up_and_says_why(server: MessagesServer, model: Model) -> None:
    server.fail(529, "overloaded_error", "Overloaded, friend", retry_after=SOON, times=None)
    with pytest.raises(ModelUnavailable, match=r"not available.*Overloaded, friend"):
        await model.ask(HEAD, HELLO)
    assert len(server.requests) == 4


async def test_a_wait_that_is_too_long_is_not_waited(server: MessagesServer, model: Model) -> None:
    server.fail(429, "rate_limit_error", "come back tomorrow", retry_after=3_600, times=None)
    with pytest.raises(ModelUnavailable, match="come back tomorrow"):
        await model.ask(HEAD, HELLO)
    assert len(server.requests) == 1


async def test_it_waits_as_long_as_the_server_says(server: MessagesServer, model: Model) -> None:
    server.fail(429, "rate_limit_error", "wait", retry_after=0.25)
    await model.ask(HEAD, HELLO)
    first, second = server.requests
    assert first.ended is not None
    assert asyncio.get_running_loop().time() - first.ended >= 0.24
    assert second.outcome == "completed"


@pytest.mark.parametrize("type_", ["overloaded_error", "api_error"])
async def test_an_error_in_the_stream_begins_the_answer_again(server: MessagesServer, model: Model, type_: str) -> None:
    server.error_in_stream(type_, "Overloaded", after=3)
    texts: list[str] = []
    assert (await model.ask(HEAD, HELLO, texts.append)).blocks == ANSWER
    assert texts.count("") == 2, "who watches is told that it starts again"
    again = len(texts) - 1 - texts[::-1].index("")
    assert again > 1
    assert texts[again + 1] != texts[again - 1]
    assert len(server.requests) == 2


async def test_an_error_in_the_stream_that_will_not_pass_is_not_tried_again(
    server: MessagesServer, model: Model
) -> None:
    server.error_in_stream("invalid_request_error", "no such thing")
    with pytest.raises(ModelRefused, match="no such thing"):
        await model.ask(HEAD, HELLO)
    assert len(server.requests) == 1


@pytest.mark.parametrize("after", [0, 3])
async def test_a_stream_that_is_cut_begins_again(server: MessagesServer, model: Model, after: int) -> None:
    server.cut_stream(after=after)
    texts: list[str] = []
    assert (await model.ask(HEAD, HELLO, texts.append)).blocks == ANSWER
    assert texts[-1] == "Hello, and how are you?"
    assert [record.outcome for record in server.requests] == ["cut", "completed"]


async def test_a_server_that_comes_back_is_found_again() -> None:
    async with MessagesServer() as gone:
        pass
    model = AnthropicModel(api_key="test-key", base_url=gone.url)
    began = asyncio.Event()
    asking = asyncio.create_task(model.ask(HEAD, HELLO, lambda _: began.set()))
    await began.wait()
    async with MessagesServer(port=gone.port, brain=lambda _: Reply("Back.")):
        assert (await asking).blocks == (text_block("Back."),)
    await model.close()


async def test_a_server_that_stays_away_is_unavailable_in_a_sentence() -> None:
    async with MessagesServer() as gone:
        pass
    model = AnthropicModel(api_key="test-key", base_url=gone.url)
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await model.ask(HEAD, HELLO)
    await model.close()


async def test_waiting_for_the_next_try_can_be_cancelled(server: MessagesServer, model: Model) -> None:
    server.fail(529, "overloaded_error", "Overloaded", retry_after=30, times=None)
    asking = asyncio.create_task(model.ask(HEAD, HELLO))
    await server.wait_for(lambda it: it.requests and it.requests[0].ended)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(server.requests) == 1
