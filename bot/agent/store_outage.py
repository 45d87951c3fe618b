"""While the book is away: what was found out stays in memory, and is written when the book is back.

An answer of the model costs money and time, so a step that holds one is tried again and again by the host that has
it, for as long as the agent is its own: whoever takes the agent over raises the epoch, and then nothing can be written
here. A commit whose answer got lost may have been carried out, so each try looks first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import structlog

from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.bus import topics
from bot.bus.bus import Bus
from bot.errors import StoreUnavailable
from bot.history.replies import noted
from bot.runtime.tasks import stop
from bot.store import Database, Tx, turns

log = structlog.get_logger(__name__)

TELL_SECONDS = 10.0
"""Who has waited so long for the book is told."""
AWAY = "⏳ My database cannot be reached; I go on as soon as it is back."
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0


class StoreOutage:
    """How one agent gets through it."""

    def __init__(self, context: Context, database: Database, bus: Bus, live: LiveView) -> None:
        self._context = context
        self._database = database
        self._bus = bus
        self._live = live

    async def see_written(self, turn: str, slot: int, shown: str, write: Callable[[], Awaitable[None]]) -> None:
        """Write a step of this turn, which adds entries to it, however long that takes. ``shown``: what people see of
        the reply in this slot.

        Raises StaleEpoch.
        """
        context = self._context
        look = partial(turns.has_entry, agent_id=context.agent_id, turn_id=turn, since=context.next_seq)
        try:
            await write()
            return
        except StoreUnavailable as error:
            log.warning("step_waits", reason=str(error))
        async with self.telling(slot, shown):
            while not (was_there := await self.came_through(look)):
                try:
                    await write()
                except StoreUnavailable:
                    continue
                break
            log.info("step_written", was_there=was_there)
            self._bus.ring(topics.outbox(context.address.connector), topics.settled(context.agent_id))

    async def came_through(self, look: Callable[[Tx], Awaitable[object]]) -> bool:
        """Whether a commit that was not answered was carried out, by what ``look`` finds in the book; waits until the
        book can say so."""
        while True:
            await self.until_back()
            with suppress(StoreUnavailable):
                async with self._database.read() as tx:
                    return bool(await look(tx))

    async def until_back(self) -> None:
        """Wait until the book can be read, and read the history: what is in it may be more than we know of."""
        pause = _FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                await self._context.reload()
            except StoreUnavailable:
                continue
            return

    async def has_kept(self, turn: str) -> bool:
        """Whether this turn still runs, by the book. Raises StoreUnavailable."""
        async with self._database.read() as tx:
            running = await turns.running(tx, self._context.agent_id)
        return running is not None and running.id == turn

    @asynccontextmanager
    async def telling(self, slot: int, shown: str, *, after: float = TELL_SECONDS) -> AsyncIterator[None]:
        """After a while people are told why nothing happens: below what they see of the reply, for as long as it
        lasts."""
        task = self._live.start_telling(slot, noted(shown.strip(), AWAY), after=after)
        try:
            yield
        finally:
            await stop(task)
