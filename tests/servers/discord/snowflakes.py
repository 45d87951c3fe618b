"""Ids that tell when they were made: https://docs.discord.com/developers/reference#snowflakes"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

EPOCH_MS = 1_420_070_400_000


class Snowflakes:
    """Makes ids that grow, within one millisecond too."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> int:
        """An id larger than every one before it."""
        now = (int(self._clock() * 1000) - EPOCH_MS) << 22
        self._last = max(now, self._last + 1)
        return self._last


def made_at(snowflake: int) -> str:
    """When an id was made, as the API writes a time."""
    return iso(((snowflake >> 22) + EPOCH_MS) / 1000)


def iso(seconds: float) -> str:
    """A time (seconds since 1970) as the API writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
