"""For how long what people say may still go on: a text that was cut, things that are forwarded, an album."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from bot.store.inbox import Waiting


class Pieces:
    """Of what waits for one agent. ``clock``: the book's."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first_seen: dict[int, float] = {}
        """When messages that may go on were looked at first, on this host's own clock: by their rows."""

    def seconds_left(self, messages: Sequence[Waiting]) -> float:
        """Until what these people say is taken to be whole. Whoever says something whole after a piece has come to an
        end."""
        loop_time = asyncio.get_running_loop().time()
        pieces = [message for message in messages if message.expects]
        self._first_seen = {one.id: self._first_seen.get(one.id, loop_time) for one in pieces}
        if not pieces:
            return 0.0
        newest = {message.person: message for message in messages}
        now = self._clock()
        left = (
            one.expects - max(loop_time - self._first_seen[one.id], now - one.received_at)  # a clock may be ahead
            for one in newest.values()
            if one.expects
        )
        return max(0.0, *left, 0.0)
