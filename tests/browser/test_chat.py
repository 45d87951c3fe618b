"""The chat page in a browser: its bar, the list beside it, its menu of commands, and what can be copied."""

from __future__ import annotations

from playwright.async_api import Page, expect

from bot.agent.commands.table import offered
from tests.browser.conftest import PATIENCE_MS, begin, flaws, log_in, says
from tests.servers.messages.server import MessagesServer, Reply

COMMANDS = {command.name: command.about for command in offered()}
ANSWER = "Take **three** roses:\n\n1. white\n2. red\n\n```python\nprint('<b>roses</b>')\n```"
expect.set_options(timeout=PATIENCE_MS)


async def test_the_bar_stays_in_view_and_a_button_leads_back_to_the_newest(page: Page, model: MessagesServer) -> None:
    model.brain = lambda _: Reply("A long answer.\n\n" * 12)
    await log_in(page)
    await begin(page, "long")
    for line in ("one", "two", "three"):
        await says(page, line)
    await expect(page.locator("#newest")).to_be_hidden()
    await page.evaluate("scrollTo(0, 0)")
    await expect(page.locator("#newest")).to_be_visible()
    for far in (200, 900):
        await page.evaluate("(far) => scrollTo(0, far)", far)
        await expect(page.locator("#meter")).to_be_in_viewport(ratio=1)
    await page.evaluate("scrollTo(0, 0)")
    other = await page.context.new_page()
    await other.goto("/chat/long")
    await says(other, "four")
    await expect(page.locator("#newest")).to_have_text("↓ New below")
    await page.click("#newest")
    await expect(page.locator(".line.model").last).to_be_in_viewport()
    await expect(page.locator("#newest")).to_be_hidden()


async def test_conversations_stand_beside_the_chat_without_the_signs_of_markdown(
    page: Page, model: MessagesServer
) -> None:
    model.brain = lambda _: Reply(ANSWER)
    await log_in(page)
    await begin(page, "garden")
    await says(page, "Which roses?")
    await begin(page, "kitchen")
    beside = page.locator("#beside")
    await expect(beside.locator("a")).to_have_count(1)
    await says(page, "And lentils?")
    await expect(beside.locator("a")).to_have_count(2)
    await expect(beside.locator("[aria-current=page]")).to_contain_text("kitchen")
    await expect(beside).to_contain_text("Take three roses: white red")
    await expect(beside).not_to_contain_text("**")
    await beside.get_by_text("garden").click()
    await page.wait_for_url("**/chat/garden")


async def test_a_slash_opens_a_menu_of_all_commands_that_keys_choose_from(page: Page) -> None:
    await log_in(page)
    await begin(page, "menu")
    menu, options = page.locator("#commands"), page.locator("#commands [role=option]:visible")
    await expect(menu).to_be_hidden()
    await page.locator("#text").press_sequentially("/")
    await expect(options).to_have_count(len(COMMANDS))
    assert await flaws(page) == []
    await page.locator("#text").press_sequentially("co")
    await expect(options).to_have_text(["/compact" + " " + COMMANDS["compact"], "/context " + COMMANDS["context"]])
    await page.press("#text", "ArrowDown")
    chosen = page.locator("#commands [aria-selected=true]")
    await expect(chosen).to_have_attribute("data-command", "/context")
    await expect(page.locator("#text")).to_have_attribute("aria-activedescendant", "command-context")
    await page.press("#text", "Enter")
    await expect(page.locator("#text")).to_have_value("/context ")
    await expect(menu).to_be_hidden()
    await page.press("#text", "Enter")
    await expect(page.locator(".line.program").last).to_contain_text("Context: ")

    await page.locator("#text").press_sequentially("/he")
    await options.first.click()
    await expect(page.locator("#text")).to_have_value("/help ")
    await page.fill("#text", "")
    await page.locator("#text").press_sequentially("/s")
    await page.press("#text", "Escape")
    await expect(menu).to_be_hidden()
    await expect(page.locator("#text")).to_have_value("/s")
    await page.fill("#text", "a/b")
    await expect(menu).to_be_hidden()


async def test_an_answer_is_copied_as_it_was_written_and_so_is_its_code(page: Page, model: MessagesServer) -> None:
    model.brain = lambda _: Reply(ANSWER)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await log_in(page)
    await begin(page, "copied")
    await says(page, "Which roses?")
    for where in ("as it came", "loaded anew"):
        await page.get_by_role("button", name="Copy this answer").click()
        await expect(page.locator(".line.model header .copy")).to_have_text("Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == ANSWER, where
        await page.get_by_role("button", name="Copy this code").click()
        await expect(page.locator(".code .copy")).to_have_text("Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == "print('<b>roses</b>')\n", where
        await page.reload()


async def test_an_undo_that_was_used_cannot_be_used_again(page: Page) -> None:
    await log_in(page)
    await begin(page, "undone")
    for number in range(4):
        await says(page, f"This is line {number}, and it talks about the weather in a town, which is mild, at length.")
    await says(page, "/compact", answers=0)
    undo = page.locator("#log").get_by_role("button", name="Undo")
    await expect(undo).to_be_visible()
    operators = await page.context.new_page()
    await operators.goto("/conversations/web-undone")
    await expect(operators.get_by_role("button", name="Undo").first).to_be_enabled()
    await undo.click()
    await expect(page.locator("#log")).to_contain_text("It was taken back.")
    await expect(undo).to_have_count(0)
    await expect(operators.get_by_role("button", name="Undo", disabled=True)).to_have_count(1)
    await expect(operators.get_by_role("button", name="Undo", disabled=False)).to_have_count(0)


async def test_a_button_compacts_and_the_one_beside_it_says_what_it_stops(page: Page, model: MessagesServer) -> None:
    await log_in(page)
    await begin(page, "buttons")
    for line in ("My dog is Rex. " * 60, "My cat is Tom. " * 60):
        await says(page, line)
    stop, compact = page.locator("#stop"), page.get_by_role("button", name="Compact", exact=True)
    await page.fill("#text", "a draft")
    model.hang(lambda request: request.is_summary)
    await compact.click()
    await expect(stop).to_have_text("Stop compacting")
    assert await flaws(page) == []
    await stop.click()
    await expect(page.locator(".line.program").last).to_contain_text("Compaction aborted")
    await expect(stop).to_be_hidden()
    await expect(page.locator("#text")).to_have_value("a draft")

    model.hang(lambda request: not request.is_summary, after=3)
    await page.press("#text", "Enter")
    await expect(page.locator(".line[data-growing]:visible")).to_have_count(1)
    await expect(stop).to_have_text("Stop the answer")
    await stop.click()
    await expect(page.locator(".line.model").last).to_contain_text("(stopped)")
    model.release()

    await compact.click()
    await expect(page.locator(".line.program").last).to_contain_text("Compacted: ")


async def test_stopping_the_compaction_that_an_answer_waits_for_and_then_the_answer_takes_one_button_each(
    page: Page, model: MessagesServer
) -> None:
    await log_in(page)
    await begin(page, "twice")
    for line in ("My dog is Rex. " * 150, "My cat is Tom. " * 150):
        await says(page, line)
    model.hang()
    stop = page.locator("#stop")
    await page.fill("#text", "My fox is Ann. " * 300)
    await page.press("#text", "Enter")
    await expect(stop).to_have_text("Stop compacting")
    await stop.click()
    await expect(page.locator(".line.program").last).to_contain_text("is answered on the whole conversation")
    await expect(stop).to_have_text("Stop the answer")
    await stop.click()
    await expect(page.locator(".line.program").last).to_contain_text("Your message stays in the conversation.")
    await expect(stop).to_be_hidden()


async def test_the_line_about_memory_unfolds(page: Page) -> None:
    await log_in(page)
    await begin(page, "memory")
    await page.fill("#text", "/strategy memory")
    await page.press("#text", "Enter")
    await expect(page.locator(".line.program").last).to_contain_text("memory")
    await says(page, "My locker code is QX-5512.")
    told = page.locator(".line.program details")
    await expect(told.locator("p").first).to_be_hidden()
    await told.locator("summary").click()
    await expect(told).to_contain_text("In the last turn")
    assert await flaws(page) == []
    await told.get_by_text("What became of each").click()
    await expect(page.locator("tbody tr").first).to_be_visible()
    assert await flaws(page) == []
