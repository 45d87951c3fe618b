"""Who waits to be let in, and the button that does it."""

from __future__ import annotations

import re

from tests.conftest import OpenHouse
from tests.house import Room
from tests.page.conftest import Read, press, visiting


async def test_somebody_who_waits_is_let_in_by_a_button_and_told_and_forgotten_by_another(
    house: OpenHouse, room: Room
) -> None:
    async with house(access="pairing") as opened, visiting(opened) as browser:
        await room.says("let me in", chat="eve", person="eve")
        await room.until(lambda: room.notices("eve"))
        assert "1 person waits to be let in." in Read((await browser.get("/")).text).text
        page = await browser.get("/people")
        assert "Let in" in page.text
        code = re.search(r"[A-Z2-9]{4}-[A-Z2-9]{4}", page.text)
        assert code
        assert (await browser.post("/people/let-in", data={"code": code[0]})).status_code == 403
        pressed = await press(browser, page, "/people/let-in", code=code[0])
        assert (pressed.status_code, pressed.headers["location"]) == (303, "/people?done=yes")
        await room.until(lambda: len(room.notices("eve")) == 2)
        assert "You are let in" in room.notices("eve")[1]
        assert (await press(browser, page, "/people/let-in", code=code[0])).status_code == 404
        assert "Nobody waits" in (await browser.get("/people")).text
        assert "wait to be let in" not in (await browser.get("/")).text

        page = await browser.get("/people")
        assert "palimpsest agents forget --person room:eve" in page.text
        who = {"connector": "room", "person": "eve"}
        assert (await browser.post("/people/forget", data=who)).status_code == 403
        pressed = await press(browser, page, "/people/forget", **who)
        assert (pressed.status_code, pressed.headers["location"]) == (303, "/people?done=forgotten")
        assert (await press(browser, page, "/people/forget", **who)).status_code == 404
        assert "Nobody was let in by a code." in (await browser.get("/people")).text
        await room.says("and I?", chat="eve", person="eve")
        await room.until(lambda: len(room.notices("eve")) == 3)
        assert re.search(r"[A-Z2-9]{4}-[A-Z2-9]{4}", room.notices("eve")[2]), "a new code, and no answer"
