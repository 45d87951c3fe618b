"""What an operator reads on a phone, over a book with many conversations."""

from __future__ import annotations

import time

from playwright.async_api import Browser, Page

from tests.bench.page.book import Size, write
from tests.browser.conftest import flaws, log_in, opened
from tests.connectors.web_house import WebHouse

_MOST_SCREENS = {"/": 5, "/compactions": 7}


async def test_no_page_of_many_rows_is_more_than_a_few_screens_of_a_phone(
    page: Page, chromium: Browser, house: WebHouse
) -> None:
    await write(house.resources.database, Size(agents=60, entries=600, compactions=60), now=time.time())
    await log_in(page)
    complaints: list[str] = []
    phone = await opened(chromium, house, complaints, is_mobile=True, has_touch=True)
    await phone.context.add_cookies(await page.context.cookies())
    for place, most in _MOST_SCREENS.items():
        await phone.goto(place)
        tall, screen = await phone.evaluate("[document.documentElement.scrollHeight, innerHeight]")
        assert tall <= most * screen, f"{place} is {tall} pixels tall"
        assert await flaws(phone) == []
    await phone.context.close()
    assert complaints == []
