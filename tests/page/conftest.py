"""The page before a running program, and a browser that is as strict as it has to be."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bot.page.routes import page_app
from bot.runtime.settings import Settings
from bot.store import Database
from tests.house import House

PASSWORD = "correct horse battery staple"
HERE = "http://127.0.0.1:8080"


class _Jobs:
    """A worker is there, and has nothing to do."""

    async def has_worker(self) -> bool:
        """As it says."""
        return True


class _NoBus:
    """A bell that nobody hears: these tests have no agents."""

    def ring(self, *topics: str) -> None:
        """Nobody listens."""


@asynccontextmanager
async def browser_of(app: Any, base: str = HERE, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser at this page, with cookies of its own."""
    transport = httpx2.ASGITransport(app=app, client=(options.pop("address", "127.0.0.1"), 40_000))
    async with httpx2.AsyncClient(transport=transport, base_url=base, **options) as client:
        yield client


@asynccontextmanager
async def visiting(house: House, **page: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser at the page of this program."""
    opened = house.resources
    settings = opened.settings.model_copy(update={"page": opened.settings.page.model_copy(update=page)})
    async with browser_of(page_app(settings, opened.database, opened.bus, opened.jobs)) as client:
        yield client


@pytest.fixture
async def database(data_dir: Path) -> AsyncIterator[Database]:
    """An empty book."""
    book = Database.in_folder(data_dir)
    await book.open()
    yield book
    await book.close()


@pytest.fixture
def page(database: Database, tmp_path: Path) -> Callable[..., Any]:
    """Makes a page with these `PAGE__*` settings on the empty book."""

    def make(*, on: Database = database, **values: Any) -> Any:
        bus: Any = _NoBus()
        jobs: Any = _Jobs()
        return page_app(Settings(_env_file=None, data_dir=tmp_path / "data", page=values), on, bus, jobs)

    return make


@pytest.fixture
def logged_in(page: Callable[..., Any]) -> Callable[..., AbstractAsyncContextManager[httpx2.AsyncClient]]:
    """A browser that has given the password."""

    @asynccontextmanager
    async def open_(**values: Any) -> AsyncIterator[httpx2.AsyncClient]:
        async with browser_of(page(password=PASSWORD, **values)) as client:
            assert (await log_in(client)).status_code == 303
            yield client

    return open_


async def log_in(client: httpx2.AsyncClient, password: str = PASSWORD, **more: str) -> httpx2.Response:
    """Give the password."""
    return await client.post("/login", data={"password": password, **more})


def csrf_of(text: str) -> str:
    """What the forms of a page carry."""
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', text)
    assert found, "there is a form"
    return found[1]


async def press(client: httpx2.AsyncClient, page: httpx2.Response, action: str, **fields: str) -> httpx2.Response:
    """Send a form of this page."""
    return await client.post(action, data={"csrf": csrf_of(page.text), **fields})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


class Read:
    """A page as a browser takes it apart."""

    def __init__(self, html: str) -> None:
        reader = _Reader()
        reader.feed(html)
        self.tags = reader.tags
        self.text = " ".join("".join(reader.text).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of this name."""
        return [attributes for name, attributes in self.tags if name == tag]
