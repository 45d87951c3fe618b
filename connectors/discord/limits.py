"""How long requests wait for Discord's rate limits: for what is left in a window, and not for the window.

https://docs.discord.com/developers/topics/rate-limits
"""

from __future__ import annotations

import asyncio
from types import TracebackType

import discord
from discord.http import HTTPClient, Ratelimit


class CountedRatelimit(Ratelimit):
    """A bucket whose requests go out as long as some are left in its window, however long that is.

    discord.py refuses every request of a window that is longer than we want to wait, though all of it were left, keeps
    the answer to the last one of a shorter window back until it ends, and then forgets the window. Here only a request
    that would have to wait does: for the window's end, or not at all (RateLimited, with the seconds) where that is too
    far away.
    """

    async def acquire(self) -> None:
        """Take one of those that are left."""
        while True:
            self._last_request = self._loop.time()
            if self.is_expired():
                self.reset()  # type: ignore[no-untyped-call]
            if self.remaining > 0:
                self.remaining -= 1
                self.outgoing += 1
                return
            await self._wait()

    async def __aexit__(
        self,
        type: type[BaseException] | None,  # noqa: A002 - discord.py's
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """One is done, and its answer said what is left: whoever waits looks again."""
        self.outgoing -= 1
        if self.remaining <= 0 and self.expires is None:  # it said nothing of limits
            self.reset()  # type: ignore[no-untyped-call]
        self._wake(len(self._pending_requests))

    async def _wait(self) -> None:
        seconds = None if self.expires is None else self.expires - self._loop.time()
        longest = self._max_ratelimit_timeout
        if seconds is not None and longest is not None and seconds > longest:
            raise discord.RateLimited(seconds)
        future = self._loop.create_future()
        self._pending_requests.append(future)
        try:
            await asyncio.wait([future], timeout=None if seconds is None else max(0.0, seconds) + _MOMENT)
        finally:
            future.cancel()


_MOMENT = 0.001
"""Clocks are not exact, and a window that ends just now has not ended yet."""


def count_what_is_left(http: HTTPClient) -> None:
    """Let this client of the API have such buckets; discord.py lets nobody choose."""

    def get_ratelimit(key: str) -> Ratelimit:
        if key not in http._buckets:  # noqa: SLF001
            http._buckets[key] = CountedRatelimit(http.max_ratelimit_timeout)  # noqa: SLF001
            http._try_clear_expired_ratelimits()  # noqa: SLF001
        return http._buckets[key]  # noqa: SLF001

    http.get_ratelimit = get_ratelimit  # type: ignore[method-assign]
