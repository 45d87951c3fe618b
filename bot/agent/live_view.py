"""What people see of an agent in the moment: that it works, what is written so far, marks, the meter. Nothing of it
lasts, and whoever misses it misses no message.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from bot.agent.context import Context
from bot.bus.bus import Bus
from bot.bus.events import Marked, Measured, MeterFacts
from bot.bus.live_events import RENEW_SECONDS, LiveReply, Presence, show_written
from bot.estimate.meter import share_kept
from bot.history.replies import noted
from bot.model import Wait


class LiveView:
    """Of one agent. ``at_work``: as long as anybody is in it, people see that it works."""

    def __init__(self, context: Context, bus: Bus) -> None:
        self._context = context
        self._bus = bus
        self._answers = 1
        self.at_work = Presence(bus, context.address)

    def show_meter(self) -> None:
        """Tell connectors that show it apart from the talk, such as the terminal's bottom line."""
        context = self._context
        meter = context.meter
        facts = MeterFacts(
            total=meter.total,
            limit=meter.limit,
            share=share_kept(meter),
            source=meter.source,
            level=context.level.value,
            model=context.window.model_name,
            strategy=context.strategy.name,
            answers=self._answers,
            limit_is_known=context.window.limit_is_known,
        )
        self._bus.live(Measured(context.address, facts))

    def answering(self, messages: int, *, more: bool = False) -> None:
        """An answer is begun to so many messages, or is to be to so many ``more``."""
        self._answers = messages + (self._answers if more else 0)
        self.show_meter()

    def react(self, ref: str, emoji: str) -> None:
        """Put a mark on a person's message, or take it away (no emoji)."""
        self._bus.live(Marked(self._context.address, ref, emoji))

    def reply(self, slot: int, before: str) -> LiveReply:
        """Shows a reply in its slot while it is being written. ``before``: how it began that is now gone on with."""
        return LiveReply(self._bus, self._context.address, slot, before)

    def show(self, slot: int, text: str) -> None:
        """Show this in the place of what was written so far."""
        show_written(self._bus, self._context.address, slot, text)

    def start_telling(self, slot: int, text: str, *, after: float) -> asyncio.Task[None]:
        """Show this there in so many seconds, and for as long as nobody stops the task."""

        async def tell() -> None:
            await asyncio.sleep(after)
            while True:
                self.show(slot, text)
                await asyncio.sleep(RENEW_SECONDS)

        return self._bus.supervisor.start("waiting_note", tell)

    def show_wait(self, slot: int, before: str) -> Callable[[Wait], None]:
        """Shows how the answer stands in the line, below what is there of it already; it is gone when that begins."""
        return lambda wait: self.show(slot, noted(before, why_it_waits(wait)))


def why_it_waits(wait: Wait) -> str:
    """Why there is no answer yet."""
    if wait.pause:
        return f"⏳ The model's provider asks us to wait; about {math.ceil(wait.pause)} s."
    answers = "1 answer is" if wait.before == 1 else f"{wait.before:,} answers are"
    return f"⏳ Many people are writing to me just now; {answers} before yours."
