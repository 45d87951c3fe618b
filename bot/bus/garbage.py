"""What was found in Redis and is nothing of ours: counted, left out, and said once in a while, not a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import structlog

from bot.runtime.telemetry import GarbagePlace, telemetry

log = structlog.get_logger(__name__)

_EVERY_SECONDS = 60.0


class GarbageCount:
    """That of one process. ``clock`` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts: Counter[GarbagePlace] = Counter()
        self._said: dict[GarbagePlace, float] = {}

    def found(self, place: GarbagePlace, reason: str, count: int = 1) -> None:
        """So much, and why it is none of ours; nothing of its content, which may be anybody's."""
        telemetry.garbage(place, count)
        self._counts[place] += count
        last = self._said.get(place)
        if last is None or self._clock() - last >= _EVERY_SECONDS:
            self._said[place] = self._clock()
            log.warning("redis_garbage", place=place, reason=reason, found=self._counts.pop(place))
