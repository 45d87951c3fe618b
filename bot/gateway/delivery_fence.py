"""The fence in the book behind which a gateway delivers: one that another gateway has followed sends nothing more.

Whoever takes the lease says so in the book (a number, :mod:`bot.store.tenures`), waits until what the one before has
begun must have arrived, and looks for it. So the one before, who may not know, begins nothing unless the book said a
moment ago that it is still the newest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from bot.errors import DeliverySuperseded, StoreUnavailable
from bot.store import Database, installation, outbox, tenures

IN_FLIGHT_SECONDS = 3.0
"""So long what a gateway before us began to send may still arrive: it lives, and has not noticed that we took over."""
SURE_SECONDS = 1.0
"""So long it holds what the book said of who is the newest. What is begun within it has the rest of the time above to
arrive."""

_LEAVING_SECONDS = 2.0


def seconds() -> float:
    """Of a clock that nobody sets, and that goes on while this process or the whole machine is stopped."""
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass
class DeliveryFence:
    """That of one term. ``number``: that of :mod:`bot.store.tenures`; ``clock`` gives seconds that only grow."""

    database: Database
    lease: str
    number: int
    installation: str = ""
    """The book's id: the number of a slot names it together with this, and a fresh book counts from 1 again."""
    clock: Callable[[], float] = seconds
    began: float = 0.0
    sure: float = 0.0
    """When we last asked the book, and nobody had taken over."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it shows that another gateway took over: who has the lease all the same begins anew."""
    _own: set[int] = field(default_factory=set)
    """Slots that we began to send."""
    _edited: dict[int, float] = field(default_factory=dict)
    """Slots whose messages we changed since we were sure, and when that was done."""

    @classmethod
    async def begin(cls, database: Database, lease: str, *, clock: Callable[[], float] = seconds) -> DeliveryFence:
        """We hold the lease from now on. Raises StoreUnavailable."""
        asked = clock()
        async with database.write() as tx:
            number = await tenures.begin(tx, lease)
            book = await installation.id_of(tx)
        return cls(database, lease, number, book, clock, began=clock(), sure=asked)

    async def begin_sending(self, slot: int, *, was_begun: bool = False) -> bool:
        """Mark a first send before it begins. ``was_begun``: it was begun before, and is not there.

        False when nothing may be sent: another gateway took over (``over`` is set), or somebody began to send it, or
        has sent it, since it was looked at.
        """
        asked = self.clock()
        async with self.database.write() as tx:
            condition = tenures.lasts(self.lease, self.number)
            is_ours = await outbox.begin_sending(tx, slot, condition, was_begun=was_begun)
            is_newest = is_ours or await tenures.is_newest(tx, self.lease, self.number)
        if is_ours:
            self._own.add(slot)
        if is_newest:
            self._be_sure(asked)
        else:
            await self._end()
        return is_ours

    async def not_sent(self, slot: int) -> None:
        """The platform surely does not have it; another gateway may be at it by now."""
        async with self.database.write() as tx:
            await outbox.not_sent(tx, slot, tenures.lasts(self.lease, self.number))

    async def guard(self) -> None:
        """Before a request: we may have stood still since we were sure, and another gateway may have begun what we are
        about to do. Raises DeliverySuperseded, StoreUnavailable."""
        while not self.over.is_set() and self.clock() - self.sure > SURE_SECONDS:
            asked = self.clock()
            async with self.database.glance() as tx:
                is_newest = await tenures.is_newest(tx, self.lease, self.number)
            if is_newest:
                self._be_sure(asked)
            else:
                await self._end()
        if self.over.is_set():
            raise DeliverySuperseded("another gateway delivers now")

    @contextmanager
    def editing(self, slot: int) -> Iterator[None]:
        """A message is changed: which of two changes comes last is not known where another gateway takes over."""
        self._edited[slot] = float("inf")
        try:
            yield
        finally:
            self._edited[slot] = self.clock()

    async def leave(self) -> None:
        """We deliver no more: what we changed last is brought again, if another gateway may have changed it too."""
        if not self._edited or self.over.is_set():
            return
        self.sure = float("-inf")
        with suppress(DeliverySuperseded, StoreUnavailable, TimeoutError):
            async with asyncio.timeout(_LEAVING_SECONDS):
                await self.guard()

    def settled(self, slot: int) -> None:
        """It is known what became of this send."""
        self._own.discard(slot)

    def in_flight(self, slot: int) -> float:
        """For how many seconds yet a send of this slot that was begun may be another gateway's, and arrive."""
        return 0.0 if slot in self._own else max(0.0, self.began + IN_FLIGHT_SECONDS - self.clock())

    def _be_sure(self, asked: float) -> None:
        self.sure = max(self.sure, asked)
        for slot in [slot for slot, done in self._edited.items() if done < asked]:
            del self._edited[slot]

    async def _end(self) -> None:
        self.over.set()
        with suppress(StoreUnavailable):
            async with self.database.write() as tx:
                await outbox.bring_again(tx, list(self._edited))
        self._edited.clear()
