"""Where the time of a turn goes. What is measured here is in its row, in the histograms and in its line of the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from bot.runtime.telemetry import Span, SpanName, telemetry
from bot.runtime.turn_seconds import TurnSeconds

Part = Literal["compaction", "model", "tools"]
_SPANS: Mapping[Part, SpanName] = {"compaction": "turn_compaction", "model": "turn_model", "tools": "turn_tools"}


class Timing:
    """The time of one turn, in seconds. ``received_at`` and ``taken_at``: when the first of its messages was stored,
    and when it began, in the book's time; ``clock`` gives seconds that only grow.

    Of a turn that goes on after a crash, the parts are what this process saw of them; its total is all of it.
    """

    def __init__(self, received_at: float, taken_at: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._received_at = received_at
        self._queued = max(0.0, taken_at - received_at)
        self._clock = clock
        self._spent: dict[Part, float] = {"compaction": 0.0, "model": 0.0, "tools": 0.0}
        self._first_token = 0.0

    @contextmanager
    def of(self, part: Part) -> Iterator[Span]:
        """What happens in this block is this part of the turn, however it ends."""
        with telemetry.span(_SPANS[part], self._clock) as span:
            try:
                yield span
            finally:
                span.end()
                self._spent[part] += span.seconds

    def hearing(self, on_text: Callable[[str], None]) -> Callable[[str], None]:
        """``on_text`` for a request that begins now, which notices the first text of the turn."""
        waiting = telemetry.span("first_token", self._clock)

        def hear(text: str) -> None:
            if text and not self._first_token:
                waiting.end()
                self._first_token = waiting.seconds
            on_text(text)

        return hear

    def ended(self, now: float) -> TurnSeconds:
        """All of it; ``now`` in the book's time."""
        return TurnSeconds(
            queued=round(self._queued, 3),
            compaction=round(self._spent["compaction"], 3),
            model=round(self._spent["model"], 3),
            tools=round(self._spent["tools"], 3),
            first_token=round(self._first_token, 3),
            total=round(max(0.0, now - self._received_at), 3),
        )
