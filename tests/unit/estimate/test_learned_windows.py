"""What a refusal states of a model's window holds for everybody, until something shows that it holds no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.errors import ModelOverflow
from bot.estimate.learned_windows import REMEMBERED_SECONDS, Learned, place_of
from bot.messages import Message
from bot.model import DEFAULT_ANSWER, Head, Limits, Model
from bot.model.anthropic import AnthropicModel
from bot.store import Database
from bot.store.windows import BookWindows, all_of
from tests.servers.messages.server import MessagesServer

HEAD = Head("claude-test", 100, "Be kind.")
HELLO = [Message(role="user", content="Hello.")]
LONG = [Message(role="user", content="Hello. " * 2_000)]
WORDED = "prompt is too long: 9000 tokens > 5000 maximum"
HERE = ("models.example.com", "claude-test")


async def refused(model: Model, messages: list[Message] = HELLO) -> None:
    with pytest.raises(ModelOverflow):
        await model.ask(HEAD, messages)


async def test_every_process_on_the_book_knows_it_also_after_a_restart(
    database: Database, server: MessagesServer
) -> None:
    first = AnthropicModel(api_key="test-key", base_url=server.url, windows=BookWindows(database))
    second = AnthropicModel(api_key="test-key", base_url=server.url, windows=BookWindows(database))
    server.fail(400, "invalid_request_error", WORDED)
    await refused(first)
    assert await second.limits("claude-test") == Limits(5_000, DEFAULT_ANSWER, known=True)
    assert (await second.limits("claude-test")).refusal == WORDED
    assert (await second.limits("claude-other")).window == 20_000
    elsewhere = AnthropicModel(api_key="test-key", base_url=f"{server.url}/elsewhere", windows=BookWindows(database))
    assert (await elsewhere.limits("claude-test")).refusal == ""
    for model in (first, second, elsewhere):
        await model.close()


async def test_an_answer_to_a_larger_request_forgets_it(database: Database, server: MessagesServer) -> None:
    model = AnthropicModel(api_key="test-key", base_url=server.url, windows=BookWindows(database))
    server.fail(400, "invalid_request_error", "prompt is too long: 2000 tokens > 1000 maximum")
    await refused(model)
    await model.ask(HEAD, HELLO)
    assert (await model.limits("claude-test")).window == 1_000
    await model.ask(HEAD, LONG)
    assert (await model.limits("claude-test")) == Limits(20_000, DEFAULT_ANSWER, known=True)
    await model.close()


async def test_another_listed_window_forgets_it(database: Database, server: MessagesServer) -> None:
    windows = BookWindows(database)
    model = AnthropicModel(api_key="test-key", base_url=server.url, windows=windows)
    await windows.learn(model.place, "claude-test", Learned(5_000, WORDED, listed=10_000))
    assert (await model.limits("claude-test")).window == 20_000
    await model.close()


async def test_a_refusal_without_a_number_says_that_what_is_listed_holds(
    database: Database, server: MessagesServer
) -> None:
    model = AnthropicModel(api_key="test-key", base_url=server.url, windows=BookWindows(database))
    assert not (await model.limits("claude-test")).refusal
    server.fail(400, "invalid_request_error", "context length")
    await refused(model)
    limits = await model.limits("claude-test")
    assert (limits.window, limits.refusal) == (20_000, "context length")
    await model.close()


async def test_after_a_week_it_is_looked_at_anew(tmp_path: Path) -> None:
    now = [1_000.0]
    book = Database.in_folder(tmp_path / "data", clock=lambda: now[0])
    await book.open()
    windows = BookWindows(book)
    await windows.learn(*HERE, Learned(5_000, WORDED))
    now[0] += REMEMBERED_SECONDS
    assert await windows.learned(*HERE) == Learned(5_000, WORDED, at=1_000.0)
    now[0] += 1
    assert await windows.learned(*HERE) is None
    async with book.read() as tx:
        assert await all_of(tx, now=now[0]) == []
    await windows.learn(*HERE, Learned(4_000, WORDED))
    async with book.read() as tx:
        assert [one.window for _, _, one in await all_of(tx, now=now[0])] == [4_000]
    await book.close()


async def test_while_the_book_is_away_what_was_read_of_it_holds(tmp_path: Path) -> None:
    book = Database.in_folder(tmp_path / "data")
    await book.open()
    windows = BookWindows(book)
    await windows.learn(*HERE, Learned(5_000, WORDED))
    await book.close()
    assert await windows.learned(*HERE) == Learned(5_000, WORDED)
    await windows.learn(*HERE, Learned(4_000, WORDED))
    assert await windows.learned(*HERE) == Learned(4_000, WORDED)
    await windows.forget(*HERE)
    assert await windows.learned(*HERE) is None


def test_a_place_has_no_login_in_it() -> None:
    assert place_of("https://ada:secret@models.example.com:8443/v/") == "models.example.com:8443/v"
    assert place_of(None) == "api.anthropic.com"
