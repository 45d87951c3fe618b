"""A browser before a running program. Without Playwright, which is installed by `make browser` alone, nothing here is
collected."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.connectors.web_house import WebHouse, open_web_house
from tests.house import settings_for
from tests.ports import free_port
from tests.servers.messages.server import MessagesServer

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

PASSWORD = "correct horse battery staple"
PATIENCE_MS = 30_000.0
_GRAVE = {"serious", "critical"}


@pytest.fixture
async def model() -> AsyncIterator[MessagesServer]:
    """A strict model server that writes slowly enough to be watched."""
    async with MessagesServer(window=6_000, delta_delay=0.02, pieces=20) as server:
        yield server


@pytest.fixture
async def house(model: MessagesServer, tmp_path: Path) -> AsyncIterator[WebHouse]:
    """The whole program, with a page that wants a password."""
    settings = settings_for(
        model,
        tmp_path / "data",
        http_bind=f"127.0.0.1:{free_port()}",
        page={"password": PASSWORD},
        agents={"compact_ahead": False},
        access="pairing",
    )
    async with open_web_house(settings) as house:
        yield house


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    """The browser of this machine: `CHROMIUM`, or what is called chromium."""
    from playwright.async_api import async_playwright

    path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    assert path, "There is no Chromium here: install it, or say where it is by CHROMIUM=PATH."
    async with async_playwright() as playwright:
        # As root, and in containers without user namespaces, its own sandbox does not start.
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture
async def page(chromium: Browser, house: WebHouse) -> AsyncIterator[Page]:
    """A window at the program, not logged in. What the browser complains of fails the test."""
    complaints: list[str] = []
    window = await opened(chromium, house, complaints)
    yield window
    await window.context.close()
    assert complaints == []


async def opened(chromium: Browser, house: WebHouse, complaints: list[str], **options: Any) -> Page:
    """A window of its own; errors of its scripts and its console go to ``complaints``."""
    sizes = {"width": 390, "height": 844} if options.get("is_mobile") else {"width": 1280, "height": 860}
    context = await chromium.new_context(base_url=house.url, viewport=sizes, **options)
    context.set_default_timeout(PATIENCE_MS)
    window = await context.new_page()
    window.on("pageerror", lambda error: complaints.append(f"{window.url}: {error}"))
    window.on(
        "console",
        lambda said: complaints.append(f"{window.url}: {said.text}") if said.type in ("error", "warning") else None,
    )
    return window


async def log_in(window: Page) -> None:
    """Through the door, to the overview."""
    await window.goto("/")
    await window.fill("#password", PASSWORD)
    await window.click("main button.primary")
    await window.wait_for_url("**/")


async def begin(window: Page, name: str) -> None:
    """A conversation of the chat page."""
    await window.goto("/chat")
    await window.fill("#name", name)
    await window.click("text=Open")
    await window.wait_for_url("**/chat/*")


async def says(window: Page, text: str, *, answers: int = 1) -> None:
    """Say it at the chat page, and wait for the whole answer of the model."""
    from playwright.async_api import expect

    there = window.locator(".line.model:not([data-growing])")
    before = await there.count()
    await window.fill("#text", text)
    await window.press("#text", "Enter")
    await expect(there).to_have_count(before + answers)
    await expect(window.locator("#stop")).to_be_hidden()


async def flaws(window: Page) -> list[str]:
    """What axe-core finds that keeps people out."""
    from axe_playwright_python.async_playwright import Axe

    found = await Axe().run(window)
    return [
        f"{window.url}: {flaw['id']} at {[node['target'] for node in flaw['nodes'][:3]]}"
        for flaw in found.response["violations"]
        if flaw["impact"] in _GRAVE
    ]
