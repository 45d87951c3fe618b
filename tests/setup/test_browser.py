"""`palimpsest setup --browser`: the same steps over HTTP, for one browser of this machine and nobody else."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.page.conftest import csrf_of
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.setup.conftest import CODE, KEY, WRONG_TOKEN
from tests.until import until
from tests.wire.forked import Forked, fork
from tests.wire.program import PATIENCE


@pytest.fixture
async def program(folder: Path, environment: dict[str, str]) -> AsyncIterator[Forked]:
    process = await fork(("setup", "--browser", "--no-start"), folder, environment)
    yield process
    if process.returncode is None:
        os.kill(process.pid, signal.SIGTERM)
        await process.wait()


async def address_of(out: asyncio.StreamReader) -> str:
    """What it says on standard output."""
    said = ""
    while line := (await out.readline()).decode():
        said += line
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError(said)


async def press(browser: httpx2.AsyncClient, action: str, page: str = "", **fields: str) -> httpx2.Response:
    """Fill in the form of a page, by default that of its own address, and send it; follows to where that leads."""
    shown = await browser.get(page or action)
    return await browser.post(action, data={"csrf": csrf_of(shown.text), **fields})


async def test_everything_is_answered_in_a_browser(program: Forked, folder: Path, telegram: BotApiServer) -> None:
    address = await address_of(program.stdout)
    base = address.partition("/?")[0]
    async with httpx2.AsyncClient(base_url=base, follow_redirects=True, timeout=PATIENCE) as browser:
        assert "Set it up" in (await browser.get(address)).text
        assert "does not accept our key" in (await press(browser, "/model/anthropic", key="sk-wrong", model="")).text
        assert not (folder / ".env").exists()
        kept = (await press(browser, "/model/anthropic", key=KEY, model="claude-sonnet-5")).text
        assert "claude-sonnet-5 answers" in kept
        assert "ANTHROPIC_API_KEY=sk-…1c09" in kept
        assert "is no token of a bot" in (await press(browser, "/platform/telegram", token="a.b.c")).text
        assert "does not know the token" in (await press(browser, "/platform/telegram", token=WRONG_TOKEN)).text
        shown = await press(browser, "/platform/telegram", token=telegram.token)
        while "Connecting" in shown.text:
            shown = await browser.get(shown.url)
        code = CODE.search(shown.text)
        assert code
        telegram.person(1001, "Ada").says(f"/start {code[0]}")
        while "is an admin now" not in shown.text:
            shown = await browser.get(shown.url)
        assert "ADMINS=telegram:1001" in (await browser.get("/")).text
        page = await browser.get("/")
        assert KEY not in page.text
        done = await browser.post("/start", data={"csrf": csrf_of(page.text)})
        assert "palimpsest run" in done.text
    async with asyncio.timeout(PATIENCE):
        assert await program.wait() == 0
    lines = [line for line in (folder / ".env").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    assert lines == [
        f"ANTHROPIC_API_KEY={KEY}",
        "MODEL=claude-sonnet-5",
        f"TELEGRAM_TOKEN={telegram.token}",
        "ADMINS=telegram:1001",
    ]


async def test_of_an_endpoint_no_name_is_wanted_before_it_was_asked_which_models_it_has(
    program: Forked, folder: Path, model: MessagesServer
) -> None:
    address = await address_of(program.stdout)
    model.listed = frozenset({"another-model"})
    async with httpx2.AsyncClient(
        base_url=address.partition("/?")[0], follow_redirects=True, timeout=PATIENCE
    ) as browser:
        await browser.get(address)
        asked = (await browser.get("/model/custom")).text
        assert "Model (empty: its only one)" in asked
        form = {"base_url": model.chat_url, "key": KEY}
        listed = (await press(browser, "/model/custom", **form, model="")).text
        assert f"It has another-model, {model.manner.model}." in listed
        assert model.chat_url in listed, "the address is still asked for"
        kept = (await press(browser, "/model/custom", **form, model=model.manner.model)).text
        assert f"{model.manner.model} answers" in kept
    assert f"MODEL=custom/{model.manner.model}" in (folder / ".env").read_text(encoding="utf-8")


async def test_it_is_for_the_browser_that_opened_the_address_first(program: Forked, folder: Path) -> None:
    address = await address_of(program.stdout)
    base = address.partition("/?")[0]
    async with httpx2.AsyncClient(base_url=base, timeout=PATIENCE) as stranger:
        for path in ("/", "/model", "/platform/telegram", "/?key=guess"):
            assert (await stranger.get(path)).status_code == 403
        assert (await stranger.get(address, headers={"host": "evil.example"})).status_code == 421
    async with httpx2.AsyncClient(base_url=base, timeout=PATIENCE) as browser:
        opened = await browser.get(address)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        page = await browser.get("/")
        assert page.headers["x-frame-options"] == "DENY"
        form = {"csrf": csrf_of(page.text)}
        assert (await browser.post("/start", data={"csrf": "0" * 64})).status_code == 403
        elsewhere = {"origin": "http://evil.example"}
        assert (await browser.post("/start", data=form, headers=elsewhere)).status_code == 403
    async with httpx2.AsyncClient(base_url=base, timeout=PATIENCE) as second:
        assert (await second.get(address)).status_code == 403
    assert not (folder / ".env").exists()
    await until(lambda: program.returncode is None)


async def test_a_port_that_is_taken_is_said(program: Forked, folder: Path, environment: dict[str, str]) -> None:
    port = (await address_of(program.stdout)).partition("/?")[0].rpartition(":")[2]
    second = await fork(("setup", "--browser", "--port", port), folder, environment)
    second.stdin.close()
    err = (await second.stderr.read()).decode()
    assert await second.wait() == 1
    assert f"127.0.0.1:{port} cannot be listened on" in err
    assert err.count("\n") == 1
