"""Who may work for a connector: one gateway at a time, from taking the lease until it is handed over or lost.

The lease is in Redis and makes for speed; that nobody sends what another one sends is held by the fence in the book
(:mod:`bot.gateway.delivery_fence`), which each term raises anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from bot.bus import topics
from bot.bus.bells import Bell
from bot.bus.bus import Bus
from bot.bus.leases import CONNECTOR, Lease
from bot.connector import Connector, Guarded, unguarded
from bot.errors import StoreUnavailable
from bot.gateway.chats import Chats
from bot.gateway.delivery_fence import DeliveryFence
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop
from bot.runtime.telemetry import telemetry
from bot.store import Database

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Term:
    """The lease while it is ours. ``keeping`` ends when somebody else has it; ``fence``: what is sent in this term is
    sent behind it."""

    keeping: asyncio.Task[None]
    fence: DeliveryFence

    @property
    def is_over(self) -> bool:
        """Whether another gateway has the lease, or has taken over in the book."""
        return self.keeping.done() or self.fence.over.is_set()


class ConnectorLease:
    """The lease of one connector, as this process takes it, keeps it and hands it over."""

    def __init__(
        self, name: str, connector: Connector, database: Database, bus: Bus, chats: Chats, *, must_begin: bool
    ) -> None:
        """``must_begin``: a book that waiting does not heal ends it with an error (somebody sits before a terminal that
        would say nothing)."""
        self._name = name
        self._handed_over = topics.handed_over(name)
        self._connector = connector
        self._database = database
        self._bus = bus
        self._chats = chats
        self._must_begin = must_begin
        self._lease: Lease = bus.lease(name, CONNECTOR.seconds)
        self.was_ours = False
        """Whether we ever had it."""

    @asynccontextmanager
    async def bell(self, shutdown: Shutdown) -> AsyncIterator[Bell]:
        """Rings when somebody hands the lease over, and when this process is to end."""
        async with self._bus.bell(self._handed_over) as bell:
            ending = asyncio.create_task(_strike_at_the_end(bell, shutdown))
            try:
                yield bell
            finally:
                await stop(ending)

    async def take(self) -> bool:
        """Take it if it is free. Raises BusUnavailable."""
        self._lease = self._bus.lease(self._name, CONNECTOR.seconds)
        is_ours = await self._lease.take()
        self.was_ours |= is_ours
        return is_ours

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[Term | None]:
        """It was taken: keep it until the end of the block. None where nothing could be begun: it was lost meanwhile,
        or the book is away.

        Nothing is sent in this term once another gateway has begun one.
        """
        keeping = asyncio.create_task(self._lease.keep())  # also while we begin, however long the book takes for that
        try:
            fence = await self._begun(keeping)
            if fence is None:
                yield None
                return
            if isinstance(self._connector, Guarded):
                self._connector.guard = fence.guard
            try:
                yield Term(keeping, fence)
            finally:
                if isinstance(self._connector, Guarded):
                    self._connector.guard = unguarded
                await fence.leave()
        finally:
            await stop(keeping)

    async def hand_over(self, *, ring: bool = True) -> None:
        """Let another gateway have it, and with ``ring`` tell it so."""
        await self._lease.drop()
        if ring:
            self._bus.ring(self._handed_over)

    def tell_lost(self) -> None:
        """Another gateway has it, and nobody here handed it over."""
        telemetry.lease_lost("connector")
        log.warning("gateway_lease_lost", connector=self._connector.name)

    async def _begun(self, keeping: asyncio.Task[None]) -> DeliveryFence | None:
        beginning = asyncio.create_task(self._begin())
        try:
            await asyncio.wait({beginning, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                self.tell_lost()
                return None
            return await beginning
        except StoreUnavailable as error:
            if self._must_begin and not error.may_pass:
                raise
            log.warning("store_unavailable", reason=str(error))
            return None
        finally:
            await stop(beginning)

    async def _begin(self) -> DeliveryFence:
        await self._chats.load()
        return await DeliveryFence.begin(self._database, self._name)


async def _strike_at_the_end(bell: Bell, shutdown: Shutdown) -> None:
    await shutdown.wait()
    bell.strike(None)
