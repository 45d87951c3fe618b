"""The picture of a context over time in a browser: its words can be read, and its values be asked for."""

from __future__ import annotations

from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, begin, flaws, log_in, opened, says
from tests.connectors.web_house import WebHouse

expect.set_options(timeout=PATIENCE_MS)
_SMALLEST_WORDS = 11.0
"""Pixels."""
_REACHED = """() => {
    const ring = document.querySelector("#plot circle.cut");
    ring.scrollIntoView({ block: "center" });
    const { right, top, height } = ring.getBoundingClientRect();
    return document.elementFromPoint(right - 1, top + height / 2).getAttribute("class");
}"""
"""What is at the right end of the ring."""


async def test_the_picture_tells_its_values_to_a_pointer_to_keys_and_to_a_finger_and_is_read_on_a_phone(
    page: Page, chromium: Browser, house: WebHouse
) -> None:
    await log_in(page)
    await begin(page, "drawn")
    for number in range(4):
        await says(page, f"This is line {number}, and it talks about the weather in a town, which is mild, at length.")
    await says(page, "/compact", answers=0)
    await expect(page.locator(".line.program", has_text="Compacted: ")).to_be_visible()
    await page.goto("/conversations/web-drawn")
    assert await page.evaluate(_REACHED) == "cut", "the ring of a compaction just now is whole, at the edge of a day"
    await page.goto("/conversations/web-drawn?span=all")
    told, plot = page.locator("#plot-told"), page.locator("#plot")
    await expect(told).to_contain_text("by a compaction (asked for, done)")
    box = await plot.bounding_box()
    assert box
    await page.mouse.move(box["x"] + 2, box["y"] + 100)
    await expect(told).to_contain_text(" tokens (")
    await expect(told).not_to_contain_text("by a compaction")
    first = await told.text_content()
    await page.focus("#plot-at")
    await page.keyboard.press("ArrowRight")
    await expect(told).not_to_have_text(str(first))
    assert await page.get_attribute("#plot-at", "aria-valuetext") == await told.text_content()
    await page.keyboard.press("End")
    await expect(told).to_contain_text("by a compaction")

    complaints: list[str] = []
    phone = await opened(chromium, house, complaints, is_mobile=True, has_touch=True)
    await phone.context.add_cookies(await page.context.cookies())
    await phone.goto("/conversations/web-drawn?span=all")
    smallest = await phone.evaluate(
        """() => Math.min(...[...document.querySelectorAll("#plot text")].map((word) =>
            parseFloat(getComputedStyle(word).fontSize) * word.getCTM().a))"""
    )
    assert smallest >= _SMALLEST_WORDS, f"{smallest} pixels"
    box = await phone.locator("#plot").bounding_box()
    assert box
    await phone.touchscreen.tap(box["x"] + 2, box["y"] + 100)
    await expect(phone.locator("#plot-told")).to_have_text(str(first))
    assert await flaws(phone) == []
    await phone.context.close()
    assert complaints == []
