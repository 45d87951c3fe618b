"""Who answers a conversation: the models of the settings, or another one that whoever runs the program chose there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.app.gauges import Gauges
from bot.errors import Cause, ConfigurationError, ModelRefused
from bot.model.scripted import Asked, Line, ScriptedModel
from bot.runtime.settings import Settings
from bot.runtime.telemetry import Known, telemetry
from bot.store.operators import conversations
from tests.house import Room, open_house

ADMIN = {"admins": {"room:ada"}}


def settings_of(data_dir: Path, **more: Any) -> Settings:
    values: dict[str, Any] = {"agents": {"compact_ahead": False}, "model": "usual", "model_patience": 0.0}
    key = SecretStr("test-key")
    return Settings(_env_file=None, data_dir=data_dir, access="open", anthropic_api_key=key, **{**values, **more})


def named(asked: Asked) -> Line:
    """Each model says its name."""
    return asked.head.model


async def test_an_admin_chooses_who_answers_and_nobody_else_does_and_it_lasts(data_dir: Path) -> None:
    models = ("usual", "other")
    settings, room = settings_of(data_dir, **ADMIN), Room()
    async with open_house(settings, room, model=ScriptedModel(named, models=models)):
        assert await room.asks("Who are you?") == "usual"
        assert (await room.commands("/model")).startswith("usual answers here.\n/model NAME: another one")
        chosen = await room.commands("/model other")
        assert chosen.startswith("other answers from now on. The context is 0% full for it (")
        assert await room.asks("And now?") == "other", "and nothing is said of a change that was asked for"
        assert await room.commands("/model nonesuch") == (
            "I did not change to nonesuch: your endpoint has no model nonesuch. It has other and usual."
        )
        assert "\nAt your endpoint: other and usual.\n/model default" in await room.commands("/model")
        await room.says("Hello.", chat="bob", person="bob")
        await room.until(lambda: room.replies("bob") == ["usual"])
        await room.says("/model other", chat="bob", person="bob")
        await room.until(lambda: room.notices("bob"))
        assert room.notices("bob") == [
            "Which model answers is chosen by those who run me. /model alone says which one it is."
        ]
    async with open_house(settings, room, model=ScriptedModel(named, models=models)):
        assert await room.asks("Still you?") == "other"
        assert (await room.commands("/model")).startswith("other answers here, as chosen for this conversation.")
        assert "Model: other" in await room.commands("/status")
        assert (await room.commands("/model default")).startswith("usual answers from now on, as in all conversations.")
        assert await room.asks("And you?") == "usual"


async def test_of_many_models_those_are_named_that_are_written_most_alike(data_dir: Path) -> None:
    models = ("usual", *(f"claude-{number}" for number in range(20)), "gpt-5", "gpt-5-mini")
    async with open_house(settings_of(data_dir, **ADMIN), room := Room(), model=ScriptedModel(named, models=models)):
        refusal = await room.commands("/model gpt5")
        shown = await room.commands("/model")
    assert "your endpoint has no model gpt5. It has gpt-5, gpt-5-mini, " in refusal
    assert refusal.endswith(" and 15 more.")
    assert "\nAt your endpoint: usual, " in shown
    assert shown.endswith(" and 15 more.")


async def test_who_may_not_choose_is_told_who_answers_and_no_more(data_dir: Path) -> None:
    model, room = ScriptedModel(named, models=("usual", "other")), Room()
    async with open_house(settings_of(data_dir), room, model=model):
        assert await room.commands("/model") == "usual answers here."


class OnlyListing(ScriptedModel):
    """Its endpoint has a list, and no answer for one model."""

    async def look_up(self, model: str) -> int | None:  # it knows none by name
        return None


async def test_a_model_that_only_the_list_has_is_taken(data_dir: Path) -> None:
    room = Room()
    async with open_house(settings_of(data_dir, **ADMIN), room, model=OnlyListing(named, models=("usual", "other"))):
        assert (await room.commands("/model other")).startswith("other answers from now on.")
        assert await room.asks("Who are you?") == "other"


class Unlisted(ScriptedModel):
    """Its endpoint has no list, or has one that never comes."""

    def __init__(self, *, hangs: bool) -> None:
        super().__init__(named, models=("usual", "other"))
        self._hangs = hangs

    async def names(self) -> Sequence[str]:
        if self._hangs:
            await asyncio.Event().wait()
        return ()


@pytest.mark.parametrize("hangs", [False, True])
async def test_where_nobody_lists_models_soon_none_is_named(data_dir: Path, hangs: bool) -> None:
    room = Room()
    async with open_house(settings_of(data_dir, **ADMIN), room, model=Unlisted(hangs=hangs)):
        assert await room.commands("/model") == (
            "usual answers here.\n/model NAME: another one for this conversation, as MODEL names it (provider/name)"
        )
        assert await room.commands("/model nonesuch") == (
            "I did not change to nonesuch: your endpoint lists no model nonesuch."
        )
        assert await room.asks("Who are you?") == "usual"


@pytest.mark.parametrize(("own", "writer"), [({}, "other"), ({"compaction_model": "small"}, "small")])
async def test_who_was_chosen_writes_the_summaries_too_unless_somebody_is_named_for_them(
    data_dir: Path, own: dict[str, str], writer: str
) -> None:
    def says(asked: Asked) -> Line:
        return asked.head.model if asked.who else "They greeted each other, at length, and meant it."

    room, model = Room(), ScriptedModel(says, models=("usual", "other"))
    async with open_house(settings_of(data_dir, **ADMIN, **own), room, model=model):
        await room.commands("/model other")
        assert f"Summaries by: {writer}" in await room.commands("/status")
        for _ in range(3):
            assert await room.asks(f"Hello. {'How do you do? ' * 200}") == "other"
        await room.says("/compact")
        await room.until(lambda: model.asked and not model.asked[-1].who and "tokens" in room.notices()[-1])
    assert {asked.head.model for asked in model.asked if not asked.who} == {writer}
    is_inside = bool(model.asked[-1].head.tools)
    assert is_inside is (writer == "other"), "it reads from the cache of the model that talks"


async def test_who_was_chosen_is_counted_and_shown_by_its_name(data_dir: Path) -> None:
    room = Room()
    async with open_house(settings_of(data_dir, **ADMIN), room, model=ScriptedModel(named, models=("other",))) as house:
        resources = house.resources
        telemetry.started("1", ("agents",), Known(models=("usual",), strategies=(), served=(), connectors=()))
        await room.commands("/model nonesuch")
        await room.commands("/model other")
        await room.asks("Who are you?")
        page, _ = await Gauges(resources, book=False).exposition("")
        async with resources.database.read() as tx:
            (found,) = await conversations.listed(tx)
    lines = page.decode().splitlines()
    assert [line for line in lines if line.startswith("palimpsest_model_down{")] == [
        'palimpsest_model_down{model="other"} 0.0',
        'palimpsest_model_down{model="usual"} 0.0',
    ]
    assert any(line.startswith('palimpsest_model_answers_total{model="other",purpose="turn"}') for line in lines)
    assert found.model == "other"


async def test_who_was_chosen_and_is_down_has_the_usual_ones_in_its_place(data_dir: Path) -> None:
    def says(asked: Asked) -> Line:
        return ModelRefused("No credit.", cause=Cause.CREDIT) if asked.head.model == "other" else asked.head.model

    room = Room()
    async with open_house(settings_of(data_dir, **ADMIN), room, model=ScriptedModel(says)):
        await room.commands("/model other")
        assert await room.asks("Who are you?") == "usual\n\n(Answering with usual: other is down.)"


async def test_a_choice_that_nothing_can_ask_any_more_leaves_the_usual_model_and_says_so(data_dir: Path) -> None:
    room = Room()
    async with open_house(settings_of(data_dir, **ADMIN), room, model=ScriptedModel(named)):
        await room.commands("/model other")
        assert await room.asks("Who are you?") == "other"
    async with open_house(settings_of(data_dir, **ADMIN), room, model=ScriptedModel(named)) as house:
        house.resources.chains._open_link = _nobody
        assert await room.asks("And now?") == "usual"
        assert (await room.commands("/model")).startswith(
            "usual answers here. other was chosen, and cannot be asked: Its key is gone."
        )


def _nobody(_: str) -> Any:
    raise ConfigurationError("Its key is gone.")
