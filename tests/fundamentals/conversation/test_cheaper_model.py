"""From 80 % of a budget on a cheaper model answers, in its own window, and people read that once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.errors import Cause, ModelError, ModelUnavailable
from bot.messages import Address, text_of
from bot.model import Limits, Link
from bot.model.scripted import Asked, Line, ScriptedModel
from bot.runtime.amounts import NANO
from bot.runtime.settings import Settings
from bot.store import runs
from bot.store.money import spending
from bot.store.runs import RunState
from tests.conftest import OpenHouse
from tests.house import House, Room, open_house
from tests.servers.messages.server import MessagesServer

PRICES = """
[usual]
input = 100.0
output = 100.0
[cheap]
input = 1.0
output = 1.0
[dear]
input = 500.0
output = 500.0
"""
NARROW = Limits(8_000, 1_000, known=True)
DAY = 86_400.0


def settings_of(data_dir: Path, **more: Any) -> Settings:
    file = data_dir.parent / "prices.toml"
    file.write_text(PRICES)
    values: dict[str, Any] = {"agents": {"compact_ahead": False}, "model": "usual", "model_patience": 0.0}
    values |= {"budget": {"month": "5000", "cheaper_model": "cheap"}, "prices": file, "admins": {"room:root"}}
    key = SecretStr("test-key")
    return Settings(_env_file=None, data_dir=data_dir, access="open", anthropic_api_key=key, **{**values, **more})


def named(asked: Asked) -> Line:
    """Each model says its name."""
    return asked.head.model if asked.who else "They greeted each other, at length, and meant it."


async def most_is_spent(running: House, room: Room, *, share: float = 0.85) -> None:
    """Whoever runs it lets ada spend so much in a day that this share of it is spent."""
    async with running.resources.database.read() as tx:
        spent = (await spending.total(tx, spending.of_person("room", "ada"), "20000101", "29991231")).cost
    before = len(room.notices("9"))
    await room.says(f"/budget room:ada {spent / NANO / share:.9f}", chat="9", person="root")
    await room.until(lambda: len(room.notices("9")) > before)


async def test_it_answers_from_there_on_says_so_once_and_the_usual_one_is_back_the_next_day(data_dir: Path) -> None:
    room, model = Room(), ScriptedModel(named, models=("usual", "cheap"))
    async with open_house(settings_of(data_dir), room, model=model) as running:
        assert await room.asks("Who are you?") == "usual"
        await most_is_spent(running, room, share=0.7)
        assert await room.asks("Still you?") == "usual"
        await most_is_spent(running, room)
        said = await room.asks("And now?")
        assert said.startswith("cheap\n\n(cheap answers now, since most of your budget for today is spent: $")
        assert "It begins anew " in said
        assert await room.asks("And still?") == "cheap"
    async with open_house(settings_of(data_dir), room, model=model) as running:
        assert await room.asks("After a restart?") == "cheap"
        clock = running.resources.database.clock
        running.resources.database.clock = lambda: clock() + DAY
        assert await room.asks("And the next day?") == "usual\n\n(usual answers again.)"


@pytest.mark.parametrize(
    "changes",
    [
        {"admins": {"room:root", "room:ada"}},
        {"budget": {"month": "5000", "cheaper_model": "dear"}},
        {"budget": {"month": "5000"}},
    ],
    ids=["for whom nothing is limited", "a dearer one", "none is named"],
)
async def test_the_usual_one_goes_on(data_dir: Path, changes: dict[str, Any]) -> None:
    room, model = Room(), ScriptedModel(named, models=("usual", "cheap", "dear"))
    async with open_house(settings_of(data_dir, **changes), room, model=model) as running:
        await room.asks("Who are you?")
        await most_is_spent(running, room)
        assert await room.asks("And now?") == "usual"


async def test_the_context_is_compacted_first_where_its_window_is_smaller(data_dir: Path) -> None:
    cheap = Link(ScriptedModel(named, models=("cheap",), limits=NARROW), "cheap")
    room, usual = Room(), ScriptedModel(named, models=("usual",))
    async with open_house(settings_of(data_dir), room, model=usual, fallback=[cheap]) as running:
        for _ in range(4):
            assert await room.asks("Hello. " + "How do you do, and what is new? " * 250) == "usual"
        await most_is_spent(running, room)
        assert (await room.asks("And now?")).startswith("cheap\n")
        async with running.resources.database.read() as tx:
            run = await runs.latest(tx, Address("room", "1").agent_id, done=True)
    assert run is not None
    assert (run.trigger, run.state) == ("auto", RunState.DONE)
    assert isinstance(cheap.model, ScriptedModel)
    answers = [asked for asked in cheap.model.asked if asked.who]
    assert len(answers) == 1
    assert len(cheap.model.asked) > 1, "it writes the summary too"
    assert all(asked.who for asked in usual.asked)


async def test_where_it_is_down_the_usual_one_answers(data_dir: Path) -> None:
    def says(asked: Asked) -> str | ModelError:
        away = ModelUnavailable("Internal server error", cause=Cause.AWAY)
        return away if asked.head.model == "cheap" else asked.head.model

    room, model = Room(), ScriptedModel(says, models=("usual", "cheap"))
    async with open_house(settings_of(data_dir), room, model=model) as running:
        assert await room.asks("Who are you?") == "usual"
        await most_is_spent(running, room)
        assert await room.asks("And now?") == "usual"
    assert [asked.head.model for asked in model.asked] == ["usual", "cheap", "usual"]


@pytest.mark.one_wire("here it is the other model that is asked over the other one")
async def test_it_may_be_asked_over_the_other_wire(
    house: OpenHouse, room: Room, model: MessagesServer, tmp_path: Path
) -> None:
    model.listed |= {"gpt-5-nano"}
    file = tmp_path / "prices.toml"
    file.write_text('["gpt-5-nano"]\ninput = 0.01\noutput = 0.01\n')
    own = {"openai": {"key": "test-key", "base_url": model.chat_url}}
    budget = {"month": "5000", "cheaper_model": "openai/gpt-5-nano"}
    async with house(budget=budget, providers=own, prices=file, admins="room:root") as running:
        await room.asks("Please note: the library door code is 4711-22.")
        await most_is_spent(running, room)
        said = await room.asks("What is the library door code?")
        assert "4711-22" in said
        assert "OpenAI gpt-5-nano answers now" in said
        history = await running.history()
        assert "4711-22" in text_of(history.view()[-1]["content"])
    assert [record.request.body["model"] for record in model.requests][-1] == "gpt-5-nano"
