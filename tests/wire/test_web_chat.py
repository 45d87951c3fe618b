"""The chat page of the real program, as processes that die, stand by, and are reached by browsers all the same."""

from __future__ import annotations

import json
import signal

from tests.connectors.browser import Browser
from tests.servers.messages.server import MessagesServer
from tests.wire.program import PATIENCE, Program, Programs

PASSWORD = "a password of the tests"


def url_of(program: Program) -> str:
    """Where its page is."""
    return f"http://{json.loads(program.logged('http_listens')[0])['address']}"


async def test_an_answer_whose_program_is_killed_is_given_once_and_the_open_page_shows_it_once(
    programs: Programs, model: MessagesServer, free_port: int
) -> None:
    bind = {"HTTP_BIND": f"127.0.0.1:{free_port}"}
    first = await programs.serve(**bind)
    async with Browser(url_of(first)) as browser, browser.tab("killed") as tab:
        assert await tab.asks("The colour is blue.")
        model.hang(lambda request: "shape" in request.all_text, after=3)
        await tab.says("The shape is round.", key="killed-key-1")
        await tab.sees(lambda tab: tab.grown)
        await first.kill()
        model.clear_faults()
        await programs.serve(**bind)
        await tab.sees(lambda tab: len(tab.replies) == 2)
        assert (await tab.says("The shape is round.", key="killed-key-1"))[0] == 200
        assert await tab.asks("What is the colour?") == "The colour is blue."
        assert [line.who for line in tab.lines] == ["person", "model"] * 3
        async with browser.tab("killed") as fresh:
            assert fresh.texts == tab.texts


async def test_a_browser_at_the_gateway_that_stands_by_sees_and_sends_all_the_same(
    programs: Programs, model: MessagesServer
) -> None:
    working = await programs.serve("gateway", "agents", "worker", PAGE__PASSWORD=PASSWORD)
    await working.wait_for(lambda it: it.logged("gateway_started"), PATIENCE)
    standing_by = await programs.serve("gateway", PAGE__PASSWORD=PASSWORD)
    here, there = Browser(url_of(standing_by), PASSWORD), Browser(url_of(working), PASSWORD)
    async with here, there, here.tab("both") as tab, there.tab("both") as other:
        model.hang(lambda request: "colour" in request.all_text, after=3)
        await tab.says("The colour is blue.", files={"notes.txt": b"hello"})
        await tab.sees(lambda tab: tab.grown and tab.typing)
        await other.sees(lambda tab: tab.grown and tab.typing)
        model.release()
        await tab.sees(lambda tab: tab.replies and tab.lines[0].files and not tab.typing)
        await other.sees(lambda other: other.texts == tab.texts and other.meter == tab.meter)
        assert not standing_by.logged("gateway_started")
        await working.stop(signal.SIGTERM)
        await standing_by.wait_for(lambda it: it.logged("gateway_started"), PATIENCE)
        await programs.serve("agents", "worker")
        assert await tab.asks("What is the colour?") == "The colour is blue."
