"""What an operator and a person at the chat page do, from the log-in to the undo of a compaction."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect

from bot.messages import Address
from tests.browser.conftest import PASSWORD, PATIENCE_MS, begin, flaws, log_in, opened, says
from tests.connectors.web_house import WebHouse
from tests.servers.messages.server import MessagesServer

LINES = (
    "We plan the garden behind the house. The budget is 1,200 euros, and the gate code is 4711.",
    "Which roses stand half shade? I remember 'Ghislaine de Féligonde' from my grandmother.",
    "The path along the wall is 14 metres long. How much gravel do we need for 5 centimetres?",
    "Anna wants a bench under the walnut tree, and a place for the two bicycles.",
    "What have we decided so far?",
)
expect.set_options(timeout=PATIENCE_MS)


async def _talk(page: Page, name: str = "garden") -> None:
    await begin(page, name)
    for line in LINES:
        await says(page, line)


async def test_a_conversation_is_watched_while_it_is_compacted_and_the_compaction_is_read_and_undone(
    page: Page, model: MessagesServer
) -> None:
    await log_in(page)
    chat = await page.context.new_page()
    await _talk(chat)
    await page.goto(f"/conversations/{Address('web', 'garden').agent_id}")
    await expect(page.locator("#live-sign")).to_have_text("live")
    model.hang(lambda request: request.is_summary)
    await chat.fill("#text", "/compact the gate code")
    await chat.press("#text", "Enter")
    await expect(page.locator("#said-by-program")).to_contain_text("Compacting this conversation")
    model.release()
    await expect(page.locator("#said-by-program")).to_contain_text("Compacted: ")
    await expect(page.locator("#layers")).to_contain_text("on")
    await expect(chat.get_by_role("log").get_by_text("Compacted: ")).to_be_visible()

    await page.locator("#layers a").first.click()
    await expect(page.locator("#facts")).to_contain_text("A person asked for it.")
    await expect(page.locator("#facts")).to_contain_text("the gate code")
    await expect(page.locator("main")).to_contain_text("4711")

    await page.locator("#facts").get_by_role("button", name="Undo").click()
    await page.wait_for_url("**/conversations/**")
    await expect(page.locator("#layers")).to_contain_text("taken off")
    await expect(chat.get_by_role("log").get_by_text("Took the last compaction back")).to_be_visible()


async def test_the_chat_page_takes_a_file_streams_an_answer_and_stops_it(page: Page, model: MessagesServer) -> None:
    await log_in(page)
    await begin(page, "work")
    await page.set_input_files(
        "#files", [{"name": "Отчёт <img src=x>.txt", "mimeType": "text/plain", "buffer": b"The code is 4711."}]
    )
    await says(page, "What is in this file?")
    assert "The code is 4711." in model.requests[-1].request.all_text
    await expect(page.locator(".line.person").first).to_contain_text("Отчёт <img src=x>.txt")

    model.delta_delay = 0.5
    await page.fill("#text", "Tell me a long story")
    await page.press("#text", "Enter")
    await expect(page.locator("[data-growing]:not([hidden])")).to_be_visible()
    await page.click("#stop")
    await expect(page.locator(".line.model:has-text('(stopped)')")).to_be_visible()


async def test_a_page_that_was_asked_for_comes_after_the_log_in_and_who_logs_out_is_out(page: Page) -> None:
    await page.goto("/compactions")
    await page.fill("#password", PASSWORD)
    await page.click("main button.primary")
    await page.wait_for_url("**/compactions")
    await page.get_by_role("button", name="Log out").click()
    await page.wait_for_url("**/login**")
    await page.goto("/")
    await expect(page.locator("#password")).to_be_visible()


async def test_nothing_keeps_anybody_out_and_nothing_is_wider_than_a_phone(
    page: Page, chromium: Browser, house: WebHouse
) -> None:
    """And, with PICTURES=FOLDER, pictures of all of it."""
    await log_in(page)
    await _talk(page)
    await page.fill("#text", "/compact")
    await page.press("#text", "Enter")
    await expect(page.get_by_role("log").get_by_text("Compacted: ")).to_be_visible()
    await says(page, "And the bench?")
    await page.goto("/compactions")
    run = await page.locator("a[href^='/compactions/']").first.get_attribute("href")
    assert run
    places = {
        "overview": "/",
        "conversation": f"/conversations/{Address('web', 'garden').agent_id}",
        "compactions": "/compactions",
        "compaction": run,
        "search": "/search?q=roses",
        "parked": "/parked",
        "chats": "/chat",
        "chat": "/chat/garden",
    }
    cookies = await page.context.cookies()
    complaints: list[str] = []
    found: list[str] = []
    for look, options in _LOOKS.items():
        window = await opened(chromium, house, complaints, **options)
        await window.context.add_cookies(cookies)
        for name, place in places.items():
            await window.goto(place)
            await window.wait_for_load_state("load")
            found += [f"{look}: {flaw}" for flaw in await flaws(window)]
            wide, there = await window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= there, f"{name} is {wide} pixels wide in {there}"
            if folder := os.environ.get("PICTURES"):
                await window.screenshot(path=Path(folder) / f"page-{name}-{look}.png")
        await window.context.close()
    assert found == []
    assert complaints == []


_LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "is_mobile": True, "has_touch": True, "device_scale_factor": 2},
}
