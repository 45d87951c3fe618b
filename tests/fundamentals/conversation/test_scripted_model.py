"""The whole program with a scripted model in the place of a provider: as somebody's own tests would run it."""

from __future__ import annotations

from pathlib import Path

from bot.model import Limits
from bot.model.scripted import Answer, Asked, ScriptedModel
from bot.runtime.settings import Settings
from tests.house import Room, open_house

SUMMARY = "Ada counts the days; she has come to day 7, and the weather was mild on each of them."


def settings_of(data_dir: Path) -> Settings:
    return Settings(_env_file=None, data_dir=data_dir, access="open", agents={"compact_ahead": False})


async def test_a_tool_that_the_script_calls_is_run_and_its_result_is_in_the_next_request(data_dir: Path) -> None:
    script = ScriptedModel(
        Answer("I write.", calls=[("write_file", {"path": "note.txt", "content": "blue 🦊"})]), "Written."
    )
    async with open_house(settings_of(data_dir), Room(), model=script) as opened:
        assert (await opened.room.asks("Write it down.")).endswith("Written.")
        assert (opened.folder() / "note.txt").read_text(encoding="utf-8") == "blue 🦊"
    first, second = script.asked
    assert (first.who, first.text.endswith("Write it down.")) == ("room-1", True)
    assert "tool_result" in str(second.messages[-1])
    assert script.is_closed


async def test_a_conversation_that_grows_out_of_the_scripts_window_is_compacted_with_the_scripts_summary(
    data_dir: Path,
) -> None:
    def says(asked: Asked) -> str:
        return "Noted." if asked.who else SUMMARY

    script = ScriptedModel(says, limits=Limits(4_000, 500, known=True))
    room = Room()
    async with open_house(settings_of(data_dir), room, model=script):
        while not any("Compacted:" in notice for notice in room.notices()):
            assert len(script.asked) < 60, "it never compacts"
            await room.asks("This was another day, and the weather in town was mild. " * 8)
        await room.asks("And now?")
    assert SUMMARY in str(script.asked[-1].messages)
    assert len([asked for asked in script.asked if not asked.who]) == 1
