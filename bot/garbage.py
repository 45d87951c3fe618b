"""What was found in Redis and is nothing of ours: counted, left out, and said once in a while, not a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

import structlog

from bot.metrics import METRICS

log = structlog.get_logger(__name__)

Place = Literal["rings", "live", "lease", "queue"]
_EVERY_SECONDS = 60.0


class GarbageCount:
    """That of one process. ``clock`` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts: Counter[Place] = Counter()
        self._said: dict[Place, float] = {}

    def found(self, place: Place, reason: str, count: int = 1) -> None:
        """So much, and why it is none of ours; nothing of its content, which may be anybody's."""
        METRICS.garbage(place, count)
        self._counts[place] += count
        last = self._said.get(place)
        if last is None or self._clock() - last >= _EVERY_SECONDS:
            self._said[place] = self._clock()
            log.warning("redis_garbage", place=place, reason=reason, found=self._counts.pop(place))
