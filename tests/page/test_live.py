"""What is new is told to an open page, for as long as its session lasts. Over a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import delete

from bot.app.http import HttpServer
from bot.page.routes import page_app
from bot.page.updates import MOST_OF_ONE
from bot.runtime.settings import PageSettings
from bot.store.schema import page_sessions
from tests.conftest import MakeSettings
from tests.house import House, Room, open_house
from tests.page.conftest import PASSWORD, log_in

PATIENCE = 60.0


@asynccontextmanager
async def served(house: House, port: int, **page: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser at a server of this program's page."""
    settings = house.resources.settings.model_copy(update={"page": PageSettings.model_validate(page)})
    app = page_app(settings, house.resources.database, house.resources.bus, house.resources.jobs)
    serving = asyncio.create_task(HttpServer(f"127.0.0.1:{port}", {}, page=app).run())
    transport = httpx2.AsyncHTTPTransport(retries=5)
    try:
        async with httpx2.AsyncClient(
            transport=transport, base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE
        ) as client:
            yield client
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def event_of(stream: httpx2.Response, kind: str, lines: AsyncIterator[str]) -> str:
    """Read until such an event; returns its id."""
    identity = ""
    async with asyncio.timeout(PATIENCE):
        async for line in lines:
            if line.startswith("id: "):
                identity = line.removeprefix("id: ")
            if line == f"event: {kind}":
                return identity
    raise AssertionError("the stream ended before")


async def test_an_open_page_is_told_of_what_happens_and_when_its_session_ends(
    settings: MakeSettings, room: Room, free_port: int, book: dict[str, Any]
) -> None:
    async with open_house(settings(), room) as house:
        await room.asks("hello")
        async with served(house, free_port, password=PASSWORD) as client:
            assert (await log_in(client)).status_code == 303
            async with client.stream("GET", "/live/conversations/room-1") as stream:
                lines = stream.aiter_lines()
                assert stream.headers["content-type"].startswith("text/event-stream")
                first = await event_of(stream, "changed", lines)
                await room.asks("and now?")
                assert await event_of(stream, "changed", lines) != first
            async with client.stream("GET", "/live/overview") as stream:
                lines = stream.aiter_lines()
                seen = await event_of(stream, "changed", lines)
            headers = {"last-event-id": seen}
            async with client.stream("GET", "/live/overview", headers=headers) as stream:
                lines = stream.aiter_lines()
                await room.asks("something new", chat="2")
                assert await event_of(stream, "changed", lines) != seen
                async with house.resources.database.write() as tx:
                    await tx.execute(delete(page_sessions))
                await room.asks("and more", chat="2")
                await event_of(stream, "ended", lines)
            assert (await client.get("/live/overview", headers={"accept": "text/event-stream"})).status_code == 401


async def test_one_session_has_so_many_streams_and_a_server_that_ends_waits_for_none(
    settings: MakeSettings, room: Room, free_port: int, tmp_path: Path
) -> None:
    async with open_house(settings(), room) as house, served(house, free_port) as client:
        await client.get("/")
        streams = [client.stream("GET", "/live/overview") for _ in range(MOST_OF_ONE)]
        opened = [await stream.__aenter__() for stream in streams]
        read = [stream.aiter_lines() for stream in opened]
        for lines in read:
            assert (await anext(lines)).startswith("retry:")
        assert (await client.get("/live/overview")).status_code == 503
        await streams[0].__aexit__(None, None, None)
        async with asyncio.timeout(PATIENCE):
            while True:
                async with client.stream("GET", "/live/overview") as again:
                    if again.status_code == 200:
                        break
        for stream in streams[1:]:
            await stream.__aexit__(None, None, None)


async def test_the_overview_says_whether_a_worker_is_there(settings: MakeSettings, room: Room, free_port: int) -> None:
    async def worker(client: httpx2.AsyncClient) -> str:
        return str((await client.get("/overview.json")).json()["worker"])

    async with open_house(settings(), room, ("gateway", "agents")) as house, served(house, free_port) as client:
        assert await worker(client) == "missing"
        assert "No worker is there" in (await client.get("/")).text
    async with open_house(settings(), room) as house, served(house, free_port) as client:
        async with asyncio.timeout(PATIENCE):
            while await worker(client) != "there":
                pass
        assert "Nothing is wrong right now." in (await client.get("/")).text
