"""The connection to an endpoint: what is sent with each request, and how an answer is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from aiohttp import web

from bot.errors import ModelRefused
from bot.model.chat import wire
from bot.model.chat.wire import Connection, StatusError
from tests.unit.model.chat.endpoint import DONE, Answer, Endpoint, refused, said, streamed

PATH = "/chat/completions"


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with Endpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def connection(endpoint: Endpoint) -> AsyncIterator[Connection]:
    connection = Connection(endpoint.url, {"api-key": "ours"}, {"api-version": "1"}, silence=5)
    yield connection
    await connection.close()


async def heard(connection: Connection) -> tuple[list[Any], bool]:
    """What comes of one answer, and whether it was said to be all."""
    async with connection.post(PATH, {"model": "a-model"}) as chunks:
        return [chunk async for chunk in chunks], chunks.ended


async def test_headers_and_the_query_go_with_each_request_and_no_other_key(
    endpoint: Endpoint, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-another")
    await heard(connection)
    await connection.get("/models", seconds=5)
    assert [asked.path for asked in endpoint.asked] == [f"/v1{PATH}?api-version=1", "/v1/models?api-version=1"]
    for asked in endpoint.asked:
        assert (asked.headers["api-key"], asked.headers["user-agent"]) == ("ours", "palimpsest")
        assert "authorization" not in asked.headers


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain; charset=latin-1", "application/octet-stream", ""])
async def test_a_stream_is_read_whatever_it_is_called(endpoint: Endpoint, connection: Connection, kind: str) -> None:
    endpoint.answer = lambda _: Answer('data: {"said": "Grüße 🌷\u2028."}\r\n\r\n'.encode() + DONE, kind=kind)
    assert await heard(connection) == ([{"said": "Grüße 🌷\u2028."}], True)


async def test_an_event_may_be_larger_than_a_megabyte(endpoint: Endpoint, connection: Connection) -> None:
    endpoint.answer = lambda _: streamed([said("a" * 3_000_000)])
    [chunk], is_over = await heard(connection)
    assert chunk == said("a" * 3_000_000)
    assert is_over


async def test_what_nobody_said_is_all_is_told_apart(endpoint: Endpoint, connection: Connection) -> None:
    endpoint.answer = lambda _: streamed([said("Half")], end=b"")
    assert await heard(connection) == ([said("Half")], False)


async def test_nothing_is_read_behind_the_end(endpoint: Endpoint, connection: Connection) -> None:
    endpoint.answer = lambda _: streamed([said("All")], end=DONE + b"data: no JSON\n\n", hangs=True)
    async with asyncio.timeout(5):
        assert await heard(connection) == ([said("All")], True)
    await endpoint.wait_for(lambda endpoint: endpoint.hangups == 1)


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream"])
async def test_what_is_no_json_is_said_to_be_none(endpoint: Endpoint, connection: Connection, kind: str) -> None:
    endpoint.answer = lambda _: Answer(b"data: <h1>Welcome</h1>\n\n", kind=kind)
    with pytest.raises(ValueError, match=r"page|Expecting"):
        await heard(connection)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"message": "No."}}, {"message": "No."}),
        ({"detail": "No."}, {"detail": "No."}),
        ([{"error": {"message": "No."}}], [{"error": {"message": "No."}}]),
        ("No.", "No."),
    ],
)
async def test_an_error_has_what_its_body_says(
    endpoint: Endpoint, connection: Connection, body: Any, told: Any
) -> None:
    endpoint.answer = lambda _: refused(429, body, retry_after="7")
    with pytest.raises(StatusError) as raised:
        await heard(connection)
    error = raised.value
    assert (error.status_code, error.body, error.message) == (429, told, "Error code: 429")
    assert error.response.headers["retry-after"] == "7"
    with pytest.raises(StatusError):
        await connection.get("/models", seconds=5)


async def test_an_answer_at_once_is_its_json_or_its_text(endpoint: Endpoint, connection: Connection) -> None:
    answers = iter([Answer(b'{"data": []}', kind="application/json"), Answer(b"<h1>Hi</h1>", kind="text/html")])
    endpoint.answer = lambda _: next(answers)
    assert [await connection.get("/models", seconds=5) for _ in range(2)] == [{"data": []}, "<h1>Hi</h1>"]


@pytest.mark.parametrize(
    ("given", "proxy"),
    [
        ({"base_url": "http://[::1"}, ""),
        ({"headers": {"Authorization": "Bearer schlüssel…"}}, ""),
        ({}, "socks5://127.0.0.1:9"),
        ({}, "socks://127.0.0.1:9"),
    ],
)
async def test_an_address_a_proxy_or_a_key_that_cannot_be_is_refused_before_anything_is_sent(
    given: dict[str, Any], proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    values: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "headers": {}, "query": {}, "silence": 5, **given}
    connection = Connection(**values)
    with pytest.raises(ModelRefused, match="The model cannot be used"):
        await connection.get("/models", seconds=5)
    await connection.close()


async def test_what_moves_is_followed_on_the_same_host_and_nowhere_else(endpoint: Endpoint) -> None:
    async with Endpoint() as other:
        place = {"/v1/chat/completions": "/moved", "/moved": f"http://localhost:{other.url.rpartition(':')[2]}"}
        endpoint.answer = lambda asked: Answer(status=307, headers={"location": place[asked.path]})
        connection = Connection(endpoint.url, {"api-key": "ours"}, {}, silence=5)
        with pytest.raises(StatusError) as raised:
            await heard(connection)
        assert raised.value.body == f"It has moved to {place['/moved']}."
        assert (len(endpoint.asked), other.asked) == (2, [])
        endpoint.answer = lambda asked: (
            Answer(status=307, headers={"location": "/moved"}) if asked.path != "/moved" else streamed([said("Here.")])
        )
        assert await heard(connection) == ([said("Here.")], True)
        assert endpoint.asked[-1].body == {"model": "a-model"}
        endpoint.answer = lambda asked: Answer(status=308, headers={"location": asked.path})
        with pytest.raises(StatusError):
            await connection.get("/models", seconds=5)
        await connection.close()


async def test_of_an_error_whose_words_do_not_come_the_status_is_told(
    endpoint: Endpoint, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_ERROR_SECONDS", 0.1)
    endpoint.answer = lambda _: Answer(b"No cr", 402, "text/plain", {"content-length": "90"}, hangs=True)
    with pytest.raises(StatusError) as raised:
        await heard(connection)
    assert (raised.value.status_code, raised.value.body, raised.value.message) == (402, "", "Error code: 402")


async def test_one_connection_serves_what_is_asked_one_after_the_other() -> None:
    ports = list[int]()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport
        ports.append(request.transport.get_extra_info("peername")[1])
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for part in (b'data: {"said": "Hello."}\n\n', DONE):
            await response.write(part)
        return response

    application = web.Application()
    application.router.add_post(PATH, answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    connection = Connection(f"http://127.0.0.1:{runner.addresses[0][1]}", {}, {}, silence=5)
    for _ in range(3):
        assert await heard(connection) == ([{"said": "Hello."}], True)
    await connection.close()
    await runner.cleanup()
    assert len(ports) == 3
    assert len(set(ports)) == 1


async def test_where_nobody_listens_is_an_error_of_http() -> None:
    away = Connection("http://127.0.0.1:9/v1", {}, {}, silence=5)
    with pytest.raises(httpx2.HTTPError):
        await heard(away)
    await away.close()
