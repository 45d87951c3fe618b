"""Appointments come where they were made, on every platform: in private, in a group, in a topic or thread."""

from __future__ import annotations

import pytest

from tests.dialogs.behind import heard, requests, thinks
from tests.dialogs.conftest import Play
from tests.dialogs.stage import Place
from tests.dialogs.stages import GROUPS, everywhere
from tests.dialogs.table import GROUP, TEA, ada, bob, bot


@everywhere()
async def test_a_reminder_is_said_back_and_comes(play: Play) -> None:
    await play(
        ada("/remind in 2 seconds call Ana"),
        bot("⏰ I will remind you on *: call Ana*"),
        bot("⏰ call Ana*"),
        requests(0),
    )


@everywhere(GROUPS)
@pytest.mark.parametrize("place", [GROUP, TEA], ids=["group", "topic"])
async def test_among_several_people_it_says_whose_it_is(play: Play, place: Place) -> None:
    await play(
        ada("/remind in 2 seconds call Ana", place),
        bot("⏰ Ada*I will remind you on *: call Ana*", place),
        bot("⏰ Ada*: call Ana*", place),
        bob("/remind in 2 seconds buy tea", place),
        bot("⏰ Bob*I will remind you on *: buy tea*", place),
        bot("⏰ Bob*: buy tea*", place),
        requests(0),
    )


@everywhere()
async def test_the_assistant_is_woken_and_answers(play: Play) -> None:
    await play(
        thinks("It is hot by now."),
        ada("/remind wake in 2 seconds look at the oven"),
        bot("⏰ I will look at this on *: look at the oven*"),
        bot("It is hot by now."),
        heard("is due", "look at the oven"),
        requests(1),
    )


@everywhere(GROUPS)
@pytest.mark.parametrize("place", [GROUP, TEA], ids=["group", "topic"])
async def test_among_several_people_it_is_woken_where_that_was_asked_for(play: Play, place: Place) -> None:
    await play(
        thinks("It is hot by now."),
        ada("/remind wake in 2 seconds look at the oven", place),
        bot("⏰ Ada*I will look at this on *: look at the oven*", place),
        bot("It is hot by now.", place),
        heard("is due", "look at the oven", "Ada"),
        thinks("The tea is ready."),
        bob("/remind wake in 2 seconds look at the tea", place),
        bot("⏰ Bob*I will look at this on *: look at the tea*", place),
        bot("The tea is ready.", place),
        heard("look at the tea", "Bob"),
        requests(2),
    )
