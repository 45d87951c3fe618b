"""While no key is set a tiny model stands in, so that everything can be tried. It says what it is, once."""

from __future__ import annotations

from pathlib import Path

from bot.model import Limits, Link
from bot.model.scripted import ScriptedModel
from bot.runtime.settings import Settings
from tests.house import Room, open_house


async def test_it_is_asked_with_what_it_can_follow_and_introduced_below_its_first_answer(data_dir: Path) -> None:
    tiny = ScriptedModel("Hello!", "Fine.", limits=Limits(8_000, 200, known=True))
    link = Link(tiny, "tiny", prompt="Be brief.", uses_tools=False, introduction="I am tiny.")
    room = Room()
    async with open_house(Settings(_env_file=None, data_dir=data_dir, access="open"), room, model=link):
        assert await room.asks("Hi.") == "Hello!\n\n(I am tiny.)"
        assert await room.asks("How are you?") == "Fine."
    assert {asked.head.tools for asked in tiny.asked} == {()}
    assert {asked.head.system for asked in tiny.asked} == {"Be brief."}
