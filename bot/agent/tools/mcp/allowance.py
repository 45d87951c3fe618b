"""How much an MCP server may send. More is a flood and ends the connection: memory and loop serve everybody."""

from __future__ import annotations

from collections.abc import Callable

MOST_MESSAGE_BYTES = 10_000_000
"""In one message; a picture of the largest size that a model takes fits."""
_MOST_BYTES = 60_000_000
_MOST_MESSAGES = 20_000
_SECONDS = 60.0
"""So many bytes and messages in so many seconds."""


class Flooding(Exception):
    """A server sent too much; the text says of what."""


class Allowance:
    """What one connection may still take, a minute at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = 0.0
        self._bytes = self._messages = 0

    def take(self, size: int) -> None:
        """A message, or a piece of one, of so many bytes came. Raises Flooding."""
        if self._clock() >= self._until:
            self._until = self._clock() + _SECONDS
            self._bytes = self._messages = 0
        self._bytes += size
        self._messages += 1
        if self._bytes > _MOST_BYTES or self._messages > _MOST_MESSAGES:
            raise Flooding("it sent too much in a minute")
