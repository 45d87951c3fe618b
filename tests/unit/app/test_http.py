"""What platforms call, over a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import httpx2

from bot.app.http import HttpServer
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
