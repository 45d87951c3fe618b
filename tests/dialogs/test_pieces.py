"""What Telegram brings as several messages though somebody sent one thing."""

from __future__ import annotations

import pytest

from tests.dialogs.behind import heard, requests, thinks
from tests.dialogs.conftest import Play
from tests.dialogs.line import Line
from tests.dialogs.scene import NotSoError, Scene, Step
from tests.dialogs.table import ada, bot

on_telegram = pytest.mark.parametrize("stage", ["telegram", "telegram webhook"], indirect=True)
LONG = "word after word " * 250


def at_once(*texts: str) -> Step:
    """Several messages of one person, with no more time between them than a program takes."""

    async def say(scene: Scene) -> None:
        await scene.about_to_act(ada)
        for text in texts:
            await scene.stage.says(ada, text, ada, addressed=False, answers="")

    return Line(f"Ada, at once: {' | '.join(text[:30] for text in texts)}", say)


@on_telegram
async def test_a_text_that_the_client_has_cut_is_one_message(play: Play) -> None:
    await play(
        thinks("I have read it all."),
        at_once(f"BEGINNING {LONG}", f"MIDDLE {LONG}", "END."),
        bot("I have read it all."),
        heard("BEGINNING", "MIDDLE", "END."),
        requests(1),
        window=60_000,
    )


def waited(seconds: float) -> Step:
    """The model was last asked so long after somebody spoke."""

    async def look(scene: Scene) -> None:
        if (passed := scene.model.requests[-1].started - scene.acted_at) < seconds:
            raise NotSoError(f"it was asked after {passed:.2f} s")

    return Line(f"(it waited {seconds} s for more)", look)


@on_telegram
async def test_a_long_text_that_was_not_cut_is_answered_when_nothing_more_has_come(play: Play) -> None:
    await play(
        thinks("I have read it."),
        ada("warm"),
        bot("I have read it."),
        ada(f"BEGINNING {LONG}"),
        bot("I have read it."),
        waited(0.5),
        requests(2),
        window=60_000,
    )
