"""Who waits until others have said how much they spent of a budget: one after the other, of each budget of a process.

The first of a line alone looks into the book, at once when something is given back in this process, and else more and
more seldom: so a thousand who wait ask no more than one does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

Key = tuple[str, str, str]
"""Of a budget: its scope, the connector and the subject."""
_FIRST_SECONDS, _LONGEST_SECONDS = 0.05, 1.0


class Lines:
    """Those of one process."""

    def __init__(self) -> None:
        self._of: dict[Key, deque[Waiter]] = {}

    def busy(self, keys: Iterable[Key]) -> Key | None:
        """One of these budgets that somebody waits for."""
        return next((key for key in keys if key in self._of), None)

    def join(self, key: Key) -> Waiter:
        """At the end of this line."""
        line = self._of.setdefault(key, deque())
        waiter = Waiter(self, key)
        line.append(waiter)
        if len(line) == 1:
            waiter.is_first.set()
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Whoever is next comes first now."""
        line = self._of[waiter.key]
        line.remove(waiter)
        if line:
            line[0].is_first.set()
        else:
            del self._of[waiter.key]

    def given_back(self) -> None:
        """Something that was reserved here is settled: whoever is first may look at once."""
        for line in self._of.values():
            line[0].look.set()


class Waiter:
    """A place in a line."""

    def __init__(self, lines: Lines, key: Key) -> None:
        self._lines = lines
        self.key = key
        self.is_first = asyncio.Event()
        self.look = asyncio.Event()
        self._pause = _FIRST_SECONDS
        self._has_looked = False

    async def until_worth_a_look(self, most: float) -> None:
        """Return when something may be left, and after so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, most)):
                await self.is_first.wait()
                if self._has_looked:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._pause):
                            await self.look.wait()
                    self._pause = _FIRST_SECONDS if self.look.is_set() else min(2 * self._pause, _LONGEST_SECONDS)
        self.look.clear()
        self._has_looked = True

    def leave(self) -> None:
        """It is over, one way or the other."""
        self._lines.leave(self)
