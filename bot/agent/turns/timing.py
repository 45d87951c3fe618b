"""Where the time of a turn goes. What is measured here is in its row, in the histograms and in its line of the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from bot.runtime.telemetry import Span, SpanName, telemetry

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

    def ended(self, now: float) -> Mapping[str, float]:
        """All of it, rounded to milliseconds; ``now`` in the book's time. What there was nothing of is 0.

        ``queued``: from the first message's arrival until the turn began. ``compaction``: waited for room. ``model``:
        from asking to the end of the answer, the line before it included, all requests together; ``first_token``: to
        the first text of the first answer that had any. ``tools``: while they ran. ``total``: from the arrival to the
        committed reply.
        """
        seconds: dict[str, float] = {
            "queued": self._queued,
            **{str(part): spent for part, spent in self._spent.items()},
            "first_token": self._first_token,
            "total": max(0.0, now - self._received_at),
        }
        return {name: round(value, 3) for name, value in seconds.items()}
