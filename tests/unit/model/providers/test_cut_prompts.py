"""Ollama cuts a prompt that is too long, and says nothing: it is noticed, said once, and compacted for."""

from __future__ import annotations

import pytest
import structlog

from bot.estimate.learned_windows import OwnWindows
from bot.history import Usage
from bot.messages import Message, text_block
from bot.model import Head, Limits
from bot.model.providers.cut_prompts import CutPrompts
from bot.model.scripted import Answer, ScriptedModel

HEAD = Head("qwen3:8b", 500, "Be kind.")
LONG = [Message(role="user", content=[text_block("one word after the other, as it comes. " * 1_500)])]


async def asked(counted: int, window: int, times: int = 1) -> tuple[OwnWindows, list[structlog.typing.EventDict], str]:
    """``counted`` tokens, whatever is sent, by a server that has room for ``window``; what is then known and logged."""
    answers = [Answer("yes", usage=Usage(input=counted, output=1 if counted else 0)) for _ in range(times)]
    windows = OwnWindows()

    async def loaded(_: str) -> int:
        return window

    model, cuts = ScriptedModel(*answers, limits=Limits(32_768, 4_096, known=True)), CutPrompts(loaded, windows)
    with structlog.testing.capture_logs() as lines:
        for _ in range(times):
            await cuts.look(model, HEAD, LONG, await model.ask(HEAD, LONG))
    return windows, [line for line in lines if line["event"] == "prompt_cut"], model.place


async def test_it_is_learned_like_the_window_of_a_refusal_and_said_once() -> None:
    windows, lines, place = await asked(counted=4_000, window=4_096, times=3)
    assert len(lines) == 1
    assert "OLLAMA_CONTEXT_LENGTH" in lines[0]["note"]
    learned = await windows.learned(place, HEAD.model)
    assert learned is not None
    assert (learned.window, learned.listed, learned.is_cut) == (4_096, 32_768, True)
    assert "OLLAMA_CONTEXT_LENGTH" in learned.said


@pytest.mark.parametrize(
    ("counted", "window"),
    [
        (14_000, 32_768),  # all of it was counted, about
        (4_000, 131_072),  # something was not counted, and there is room for all of it
        (4_000, 0),  # the server does not say
        (0, 4_096),  # nothing was counted at all
    ],
)
async def test_what_may_be_anything_else_is_not_taken_for_it(counted: int, window: int) -> None:
    windows, lines, place = await asked(counted, window)
    assert lines == []
    assert await windows.learned(place, HEAD.model) is None
