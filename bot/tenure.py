"""The time for which a gateway delivers for its connector, from taking the lease until the next one takes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.store import Database, installation, outbox, tenures

IN_FLIGHT_SECONDS = 3.0
"""So long what a gateway before us began to send may still arrive: it lives, and has not noticed that we took over."""


@dataclass
class Tenure:
    """``number``: that of :mod:`bot.store.tenures`; ``clock`` gives seconds that only grow."""

    lease: str
    number: int
    installation: str = ""
    """The book's id: the number of a slot names it together with this, and a fresh book counts from 1 again."""
    clock: Callable[[], float] = time.monotonic
    began: float = 0.0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it shows that another gateway took over: who has the lease all the same begins a new tenure."""
    _own: set[int] = field(default_factory=set)
    """Slots that we began to send."""

    @classmethod
    async def begin(cls, database: Database, lease: str) -> Tenure:
        """We hold the lease from now on. Raises StoreUnavailable."""
        async with database.write() as tx:
            number = await tenures.begin(tx, lease)
            book = await installation.id_of(tx)
        return cls(lease, number, book, began=time.monotonic())

    async def begin_sending(self, database: Database, slot: int) -> bool:
        """Mark a first send before it begins; False when another gateway took over: then nothing may be sent."""
        async with database.write() as tx:
            is_ours = await outbox.begin_sending(tx, slot, tenures.lasts(self.lease, self.number))
        if is_ours:
            self._own.add(slot)
        else:
            self.over.set()
        return is_ours

    def settled(self, slot: int) -> None:
        """It is known what became of this send."""
        self._own.discard(slot)

    def in_flight(self, slot: int) -> float:
        """For how many seconds yet a send of this slot that was begun may be another gateway's, and arrive."""
        return 0.0 if slot in self._own else max(0.0, self.began + IN_FLIGHT_SECONDS - self.clock())
