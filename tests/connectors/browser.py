"""A browser with the chat page open, as far as a test can be one: it loads the page, follows its stream, and does with
the events what `chat.js` does."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import unquote
from uuid import uuid4

import aiohttp
from typing_extensions import override

from tests.connectors.page_lines import Line, lines_of, text_of
from tests.servers.watched import Watched

PATIENCE = 60.0
_AGAIN_SECONDS = 0.05


class Tab(Watched):
    """One open page."""

    def __init__(self, browser: Browser, name: str) -> None:
        super().__init__()
        self.browser = browser
        self.name = name
        self.lines: list[Line] = []
        self.blocks: dict[str, list[str]] = {}
        self.grown: list[str] = []
        """Every text that a reply had while it grew."""
        self.events: list[tuple[str, Any]] = []
        self.meter = ""
        self.before = ""
        self.typing = False
        self.streams = 0
        self.is_book_there = True
        self.has_ended = False
        self._digest = ""
        self._cut: asyncio.Event = asyncio.Event()

    async def load(self) -> None:
        """As a browser that opens the address."""
        html = await self.browser.page(f"/chat/{self.name}")
        self.lines = lines_of(html)
        self.before = _attribute(html, "data-before")
        self._digest = _attribute(html, "data-seen")
        self.meter = text_of(html.partition('id="meter"')[2].partition(">")[2].partition("</div>")[0])
        self.changed()

    async def follow(self) -> None:
        """Listen to the stream, again and again, until cancelled or the session ends."""
        while not self.has_ended:
            try:
                await self._listen()
            except (aiohttp.ClientError, OSError, TimeoutError):
                await asyncio.sleep(_AGAIN_SECONDS)

    def cut(self) -> None:
        """The network goes away for a moment."""
        self._cut.set()

    async def _listen(self) -> None:
        self._cut.clear()
        async with self.browser.session.get(
            f"{self.browser.url}/chat/{self.name}/stream",
            headers={"Last-Event-ID": self._digest, "Accept": "text/event-stream"},
            timeout=aiohttp.ClientTimeout(total=None, sock_read=PATIENCE),
        ) as answer:
            answer.raise_for_status()
            self.streams += 1
            self.changed()
            reading = asyncio.create_task(self._read(answer))
            cutting = asyncio.create_task(self._cut.wait())
            try:
                await asyncio.wait({reading, cutting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (reading, cutting):
                    task.cancel()
                await asyncio.gather(reading, cutting, return_exceptions=True)

    async def _read(self, answer: aiohttp.ClientResponse) -> None:
        kind = ""
        async for raw in answer.content:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name == "id":
                self._digest = value
            elif name == "event":
                kind = value
            elif name == "data":
                self._heard(kind, json.loads(value))

    def _heard(self, kind: str, data: Any) -> None:
        self.events.append((kind, data))
        match kind:
            case "page":
                self._page(data)
            case "line":
                self._line(data)
            case "gone":
                self.lines = [line for line in self.lines if line.id != data["id"]]
            case "writing":
                self._writing(data)
            case "typing":
                self.typing = data["is"]
            case "meter":
                self.meter = text_of(data["html"])
            case "book":
                self.is_book_there = data["is"] == "there"
            case "ended":
                self.has_ended = True
            case _:
                raise AssertionError(f"an event that the page does not know: {kind}")
        self.changed()

    def _page(self, data: Any) -> None:
        fresh = lines_of(data["html"])
        first = next((at for at, line in enumerate(self.lines) if fresh and line.id == fresh[0].id), None)
        if first is None:
            self.before = data["before"]
        self.lines = [*(self.lines[:first] if first is not None else ()), *fresh]

    def _line(self, data: Any) -> None:
        (line,) = lines_of(data["html"])
        self.blocks[line.id] = re.findall(r'<div class="block">(.*?)</div>', line.html, re.DOTALL)
        if line.is_growing and line.text:
            self.grown.append(line.text)
        known = [one.id for one in self.lines]
        if line.id in known and (not data["after"] or known[known.index(line.id) - 1] == data["after"]):
            self.lines[known.index(line.id)] = line
            return
        self.lines = [one for one in self.lines if one.id != line.id]
        known = [one.id for one in self.lines]
        self.lines.insert(known.index(data["after"]) + 1 if data["after"] in known else len(known), line)

    def _writing(self, data: Any) -> None:
        line = next(line for line in self.lines if line.id == data["id"])
        before = self.blocks.get(line.id, [])
        self.blocks[line.id] = [*before[: data["from"]], *data["blocks"]]
        line.text = text_of("\n".join(self.blocks[line.id]))
        line.is_hidden = False
        self.grown.append(line.text)

    # What a test asks of it

    @property
    def texts(self) -> list[str]:
        """What is shown, in order."""
        return [line.text for line in self.lines if not line.is_hidden]

    @property
    def replies(self) -> list[Line]:
        """Of the model, whole."""
        return [line for line in self.lines if line.who == "model" and not line.is_growing]

    @property
    def notices(self) -> list[Line]:
        """Of the program."""
        return [line for line in self.lines if line.who == "program"]

    async def sees(self, condition: Any) -> None:
        """Wait until the page shows that."""
        await self.wait_for(lambda _: condition(self), PATIENCE)

    async def says(self, text: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """Send something; returns the status and what was said of it."""
        return await self.browser.post(self.name, {"text": text}, **more)

    async def presses(self, command: str) -> None:
        """Press a button."""
        assert (await self.browser.post(self.name, {"press": command}))[0] == 200

    async def asks(self, text: str, **more: Any) -> str:
        """Send something, and wait for the whole answer."""
        before = len(self.replies)
        status, said = await self.says(text, **more)
        assert status == 200, said
        await self.sees(lambda tab: len(tab.replies) > before)
        return self.replies[-1].text

    async def commands(self, text: str) -> Line:
        """Give a command, and wait for the program's answer."""
        before = len(self.notices)
        await self.says(text)
        await self.sees(lambda tab: len(tab.notices) > before)
        return self.notices[-1]

    @override
    def describe(self) -> str:
        shown = "\n".join(f"{line.id} {line.who}: {line.text}" for line in self.lines)
        return f"{shown}\nlast events: {self.events[-6:]}"


class Browser:
    """One session at ``url``. ``host``: what it believes the page to be called."""

    def __init__(self, url: str, password: str = "") -> None:
        self.url = url
        self._password = password
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.csrf = ""

    async def __aenter__(self) -> Self:
        if self._password:
            async with self.session.post(f"{self.url}/login", data={"password": self._password}) as answer:
                assert answer.status in (200, 404), await answer.text()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def page(self, path: str) -> str:
        """The HTML of a page."""
        async with self.session.get(f"{self.url}{path}") as answer:
            html = await answer.text()
            assert answer.status == 200, html
        self.csrf = _attribute(html, "data-csrf") or self.csrf
        return html

    @asynccontextmanager
    async def tab(self, name: str) -> AsyncIterator[Tab]:
        """A page that is open until the end of the block."""
        tab = Tab(self, name)
        await tab.load()
        following = asyncio.create_task(tab.follow())
        await tab.sees(lambda one: one.streams)
        try:
            yield tab
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def post(
        self,
        name: str,
        fields: Mapping[str, str],
        *,
        key: str | None = None,
        files: Mapping[str, bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        """A form as `chat.js` sends it; returns the status and the answer."""
        form = aiohttp.FormData(quote_fields=False)  # as browsers write names of files
        for field_, value in {"key": key or uuid4().hex, **fields}.items():
            form.add_field(field_, value)
        for file, content in (files or {}).items():
            form.add_field("files", content, filename=file)
        if not files:
            form.add_field("files", b"", filename="")
        given = {"Accept": "application/json", "X-CSRF-Token": self.csrf, **(headers or {})}
        async with self.session.post(f"{self.url}/chat/{name}", data=form, headers=given) as answer:
            return answer.status, await answer.json()

    async def saved(self, url: str) -> tuple[str, bytes]:
        """The name and the content of a file that is to be saved."""
        status, headers, body = await self.get(url)
        assert status == 200, body
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-type"] == "application/octet-stream"
        disposition, _, encoded = headers["content-disposition"].partition("filename*=UTF-8''")
        assert disposition.startswith("attachment;")
        return unquote(encoded), body

    async def get(self, path: str) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body."""
        async with self.session.get(f"{self.url}{path}") as answer:
            return answer.status, answer.headers, await answer.read()


def _attribute(html: str, name: str) -> str:
    found = re.search(rf'{name}="([^"]*)"', html)
    return found[1] if found else ""
