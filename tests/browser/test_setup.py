"""`palimpsest setup` in a real browser: from nothing to a chat with the program that it started."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, flaws
from tests.ports import free_port
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.setup.conftest import CODE, discord, environment, folder, telegram
from tests.setup.test_browser import address_of
from tests.wire.forked import Forked, fork

__all__ = ["discord", "environment", "folder", "telegram"]

KEY = "test-key"


@pytest.fixture
async def program(folder: Path, environment: dict[str, str]) -> AsyncIterator[Forked]:
    environment["HTTP_BIND"] = f"127.0.0.1:{free_port()}"
    process = await fork(("setup", "--browser"), folder, environment)
    yield process
    os.kill(process.pid, signal.SIGTERM)
    async with asyncio.timeout(PATIENCE_MS / 1000):
        await process.wait()


@pytest.fixture
async def window(chromium: Browser) -> AsyncIterator[Page]:
    context = await chromium.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(PATIENCE_MS)
    yield await context.new_page()
    await context.close()


async def test_from_nothing_to_a_chat_without_a_second_terminal(
    window: Page, program: Forked, folder: Path, telegram: BotApiServer, model: MessagesServer
) -> None:
    await window.goto(await address_of(program.stdout))
    found = await flaws(window)
    await window.click("text=Change it")
    found += await flaws(window)
    await window.click("text=Anthropic")
    await window.fill("#key", "not-the-key")
    await window.click("text=Try and keep it")
    await expect(window.locator("main")).to_contain_text("does not accept our key")
    found += await flaws(window)
    await window.fill("#key", KEY)
    await window.click("text=Try and keep it")
    await expect(window.locator("main")).to_contain_text("claude-sonnet-5 answers")
    await window.click("text=Telegram")
    found += await flaws(window)
    await window.fill("#token", telegram.token)
    await window.click("text=Try and keep it")
    await expect(window.locator("main")).to_contain_text("and press START")
    found += await flaws(window)
    code = CODE.search(await window.inner_text("main"))
    assert code
    telegram.person(1001, "Ada").says(f"/start {code[0]}")
    await expect(window.locator("main")).to_contain_text("Ada (telegram:1001) is an admin now.")
    await window.click("text=Go on")
    await window.click("button:has-text('Start')")
    await expect(window.locator("h1")).to_have_text("It starts now")
    assert found == []

    telegram.person(1001, "Ada").says("Hello from Telegram")
    answered = lambda server: any("Noted" in text for text in server.texts(1001))  # noqa: E731
    await telegram.wait_for(answered, timeout=PATIENCE_MS / 1000)
    await window.click("text=chat with it here")
    await window.wait_for_url("**/chat**")
    assert "ADMINS=telegram:1001" in (folder / ".env").read_text(encoding="utf-8")
    assert model.requests
