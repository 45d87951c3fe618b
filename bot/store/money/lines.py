"""Who waits until others have said how much they spent of a budget: one after the other, of each budget of a process.

The first of a line alone looks into the book, at once when something is given back in this process, and else more and
more seldom: so a thousand who wait ask no more than one does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from bot.store.database import Database

Key = tuple[str, str, str]
"""Of a budget: its scope, the connector and the subject."""
_FIRST_SECONDS, _LONGEST_SECONDS = 0.05, 1.0
_AWAY_SECONDS = 5.0
"""After so long it is tried again, whatever is known of the book."""


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


class Wait:
    """Of one try of a request, in one line after the other, for ``seconds`` in all."""

    def __init__(self, lines: Lines, database: Database, seconds: float) -> None:
        self._lines = lines
        self._database = database
        self._seconds = seconds
        self._waiter: Waiter | None = None
        self._until = 0.0
        self.key: Key | None = None
        """Of the budget that is in the way; without one it is the book, which is away."""

    @property
    def has_begun(self) -> bool:
        """Whether a budget was waited for."""
        return bool(self._until)

    @property
    def is_over(self) -> bool:
        """Whether it was waited for as long as it may."""
        return self.has_begun and _now() > self._until

    async def until_it_may(self) -> None:
        """What others reserved is waited for: as a rule they spend less."""
        if self.key is None:
            await self._database.until_back(_AWAY_SECONDS)
            return
        self._until = self._until or _now() + self._seconds
        if self._waiter is None or self._waiter.key != self.key:
            self.leave()
            self._waiter = self._lines.join(self.key)
        await self._waiter.until_worth_a_look(self._until - _now())

    def succeeded(self) -> None:
        """It may be sent: the next try has as long again."""
        self._until = 0.0
        self.leave()

    def leave(self) -> None:
        """Nobody waits any more."""
        if self._waiter:
            self._waiter.leave()
            self._waiter = None


def _now() -> float:
    return asyncio.get_running_loop().time()
