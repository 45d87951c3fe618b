"""What platforms call, over a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import httpx2
import structlog

from bot.app.http import HttpServer, another, serve_where_free
from bot.runtime.tasks import stop

MOST = 4_000_000


async def test_a_platforms_call_is_taken_whole_or_not_at_all(free_port: int) -> None:
    taken: list[tuple[str, bytes]] = []

    async def hook(headers: Mapping[str, str], body: bytes) -> int:
        taken.append((headers["x-secret"], body))
        return 202

    async def of_no_length(size: int) -> AsyncIterator[bytes]:
        yield b"x" * MOST
        yield b"x" * (size - MOST)

    place, secret = f"http://127.0.0.1:{free_port}/hook", {"x-secret": "word"}
    serving = asyncio.create_task(HttpServer(f"127.0.0.1:{free_port}", {}, {"/hook": hook}).run())
    try:
        async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(retries=5), timeout=30) as client:
            assert (await client.post(place, content=b"what happened", headers=secret)).status_code == 202
            assert (await client.post(place, content=of_no_length(MOST + 1), headers=secret)).status_code == 413
            assert (await client.get(place)).status_code == 405
    finally:
        await stop(serving)
    assert taken == [("word", b"what happened")]


async def test_who_wants_to_know_is_told_once_it_listens_and_never_where_the_address_is_taken(free_port: int) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    bind = f"127.0.0.1:{free_port}"
    serving = asyncio.create_task(HttpServer(bind, {}, heard=heard.put_nowait).run())
    try:
        assert await asyncio.wait_for(heard.get(), 60) == bind
        second = HttpServer(bind, {}, heard=heard.put_nowait)
        with structlog.testing.capture_logs() as logged:
            await serve_where_free(second, needed=False, beside=None, without="the page and health endpoints")
        assert heard.empty()
    finally:
        await stop(serving)
    (line,) = [line for line in logged if line["event"] == "http_off"]
    assert f"e.g. HTTP_BIND={another(bind)}." in line["reason"]
    assert line["reason"].endswith("This process goes on without the page and health endpoints.")


def test_a_taken_address_is_shown_with_an_example_of_another_one() -> None:
    assert another("127.0.0.1:8080") == "127.0.0.1:8081"
    assert another("[::1]:65535") == "[::1]:8081"
