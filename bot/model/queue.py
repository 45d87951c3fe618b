"""Who may ask the model now: a limit on the calls that a process has in flight, and a fair queue before it.

First come, first served between agents, of which each has one place at most; answers to people come before summaries,
which get every fifth place that becomes free, so that they are not starved either. When the provider asks us to wait,
nobody asks it until then; after that one call goes ahead, and with each that ends twice as many may be in flight.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, insort
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from bot.model.base import Wait
from bot.runtime.telemetry import Purpose, telemetry

TELL_SECONDS = 3.0
"""Who waits longer is told, and then again and again."""
_ANSWERS_PER_SUMMARY = 4


@dataclass(eq=False)
class Call:
    """One call, however often it is tried: its place in the line stays the same. ``who``: the agent that somebody
    waits for; empty for a summary."""

    number: int
    who: str = ""
    admitted: asyncio.Future[None] | None = field(default=None, repr=False)

    @property
    def purpose(self) -> Purpose:
        """What it is counted as."""
        return "turn" if self.who else "compaction"


class ModelQueue:
    """The line before one endpoint; at most ``most`` calls are in flight. ``clock`` is in seconds and never set."""

    def __init__(
        self, most: int, *, tell_seconds: float = TELL_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.tell_seconds = tell_seconds
        self._most = self._width = most
        self._clock = clock
        self._numbers = count()
        self._answers: list[Call] = []
        self._summaries: list[Call] = []
        self._running: set[Call] = set()
        self._answered = 0
        """Answers that were let in since the last summary."""
        self._opens_at = 0.0
        self._opening: asyncio.TimerHandle | None = None

    @property
    def in_flight(self) -> int:
        """Calls that are being made."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._answers) + len(self._summaries)

    @property
    def pause(self) -> float:
        """Seconds for which the provider wants nothing from us."""
        return max(0.0, self._opens_at - self._clock())

    def join(self, who: str = "") -> Call:
        """The next number in the line."""
        return Call(next(self._numbers), who)

    @asynccontextmanager
    async def place(self, call: Call, on_wait: Callable[[Wait], None] | None = None) -> AsyncIterator[None]:
        """Wait until it may be made, and hold a place while it is. ``on_wait`` is called every few seconds of waiting.

        Cancelling leaves the line at once.
        """
        call.admitted = admitted = asyncio.get_running_loop().create_future()
        insort(self._line(call), call, key=_number)
        self._admit()
        try:
            with telemetry.span("model_wait", self._clock) as span:
                while not admitted.done():
                    await asyncio.wait({admitted}, timeout=self.tell_seconds)
                    if on_wait and not admitted.done():
                        on_wait(self.where(call))
            telemetry.model_waited_for(call.purpose, span.seconds)
            yield
        finally:
            self._leave(call)

    def where(self, call: Call) -> Wait:
        """How a call that waits stands: for a summary, as if no more answers came."""
        at = bisect_left(self._line(call), call.number, key=_number)
        ahead = at if call.who else at + len(self._answers)
        return Wait(ahead + 1, self.pause)

    def hold(self, seconds: float) -> None:
        """The provider asks us to wait: whoever it told, it means all of us."""
        self._opens_at = max(self._opens_at, self._clock() + seconds)
        self._width = 1

    def widen(self) -> None:
        """The provider took a call: it takes more of them."""
        self._width = min(self._most, self._width * 2)
        self._admit()

    def _line(self, call: Call) -> list[Call]:
        return self._answers if call.who else self._summaries

    def _admit(self) -> None:
        if self.pause:
            if self._opening is None:
                self._opening = asyncio.get_running_loop().call_later(self.pause, self._open)
            return
        while len(self._running) < self._width and (call := self._next()):
            self._line(call).remove(call)
            self._running.add(call)
            assert call.admitted
            call.admitted.set_result(None)

    def _open(self) -> None:
        self._opening = None
        self._admit()

    def _next(self) -> Call | None:
        busy = {call.who for call in self._running if call.who}
        answer = next((call for call in self._answers if call.who not in busy), None)
        summary = self._summaries[0] if self._summaries else None
        if summary and (answer is None or self._answered >= _ANSWERS_PER_SUMMARY):
            self._answered = 0
            return summary
        if answer:
            self._answered += 1
        return answer

    def _leave(self, call: Call) -> None:
        if call in self._running:
            self._running.remove(call)
        else:
            self._line(call).remove(call)
        if not self.waiting and self._opening:  # nobody is left whom it could let in
            self._opening.cancel()
            self._opening = None
        self._admit()


def _number(call: Call) -> int:
    return call.number
