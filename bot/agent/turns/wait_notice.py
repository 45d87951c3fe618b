"""What people are told while their answer waits for the model: in its own place, and gone when it begins."""

from __future__ import annotations

import math
from collections.abc import Callable

from bot.agent.context import Context
from bot.bus.live_events import show_written
from bot.history.replies import noted
from bot.model import Wait


class Told:
    """``slot``: where the answer will stand."""

    def __init__(self, context: Context, slot: int) -> None:
        self._context = context
        self._slot = slot

    def below(self, before: str) -> Callable[[Wait], None]:
        """Tells how the answer stands in the line, below what is there of it already."""

        def tell(wait: Wait) -> None:
            text = noted(before, sentence(wait))
            show_written(self._context.services.bus, self._context.address, self._slot, text)

        return tell


def sentence(wait: Wait) -> str:
    """Why there is no answer yet."""
    if wait.pause:
        return f"⏳ The model's provider asks us to wait; about {math.ceil(wait.pause)} s."
    answers = "1 answer is" if wait.before == 1 else f"{wait.before:,} answers are"
    return f"⏳ Many people are writing to me just now; {answers} before yours."
