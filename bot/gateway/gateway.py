"""One connector between its platform and the book: :class:`Gateway` puts together what comes in, what goes out, and who
may do that.

Whoever has the lease receives (:mod:`bot.gateway.intake`), fetches files (:mod:`bot.gateway.attachments`) and delivers
(:mod:`bot.gateway.delivery`); another gateway with the same token stands by (:mod:`bot.gateway.lease`). What a platform
calls us with over HTTP is stored by whichever gateway it reaches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.leases import CONNECTOR
from bot.connector import Connector, Hooked, Receiving
from bot.errors import BusUnavailable, NotReady, PalimpsestError, StoreUnavailable
from bot.gateway.admission import Admission
from bot.gateway.attachments import Attachments
from bot.gateway.chats import Chats
from bot.gateway.delivery import Delivery, chats_with_pending
from bot.gateway.ephemeral import EphemeralNotices
from bot.gateway.intake import Intake
from bot.gateway.lease import ConnectorLease, Term
from bot.messages import AgentId
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop
from bot.store import Database

log = structlog.get_logger(__name__)


class Gateway:
    """One connector between its platform and the book."""

    def __init__(
        self,
        connector: Connector,
        database: Database,
        bus: Bus,
        admission: Admission,
        *,
        lease_name: str,
        folder: Callable[[AgentId], Path],
        most_bytes: int,
        chat: str | None = None,
        alone: bool = True,
        shutdown: Shutdown | None = None,
    ) -> None:
        """``folder`` says where a conversation keeps its files, which have ``most_bytes`` at most; ``chat``: deliver
        only there (a terminal shows one conversation); ``alone``: nobody but the gateway that has the lease wants to
        know what is written in this moment."""
        self._connector = connector
        self._database = database
        self._bus = bus
        self._folder = folder
        self._chat = chat
        self._alone = alone and chat is None
        self._shutdown = shutdown or Shutdown()
        self.is_active = False
        """Whether the lease is ours: we receive and deliver."""
        self._chats = Chats(database, connector.name)
        self._lease = ConnectorLease(lease_name, connector, database, bus, self._chats, must_begin=chat is not None)
        self._attachments = Attachments(connector, database, bus, folder=folder, most_bytes=most_bytes, chat=chat)
        self._notices = EphemeralNotices(connector, self._chats)
        self.intake = Intake(
            connector.name,
            database,
            bus,
            admission,
            self._chats,
            cursor_name=lease_name,
            folder=folder,
            notices=self._notices,
        )
        """What the connector receives goes here, from :meth:`receive` too."""

    @property
    def name(self) -> str:
        """The connector's."""
        return self._connector.name

    async def run(self) -> None:
        """Work while the lease is ours; return when the connector has nothing more to receive, or at the end."""
        notices = self._bus.supervisor.start("courtesies", self._notices.run)
        try:
            async with self._lease.bell(self._shutdown) as bell:
                while not await self._work() and not self._shutdown.begun:
                    await bell.wait(CONNECTOR.retry_seconds)
            if self._shutdown.begun and self._lease.was_ours:
                await self._deliver_last()
        finally:
            await stop(notices)

    async def _work(self) -> bool:
        """Work, if the lease is free; True when there is nothing more to receive."""
        try:
            if self._shutdown.begun or not await self._lease.take():
                return False
        except BusUnavailable:
            return False
        ended = False
        try:
            async with self._lease.kept() as term:
                ended = term is not None and await self._receive_and_deliver(term)
        finally:
            # After a failure nobody is rung for: we would be the first to hear it, and fail again at once.
            await self._lease.hand_over(ring=ended or self._shutdown.begun)
        return ended

    async def _receive_and_deliver(self, term: Term) -> bool:
        """True when the connector ended by itself, False when the lease was lost, or this process is to end."""
        log.info("gateway_started", connector=self.name)
        self.is_active = True
        delivery = self._delivery(term)
        receiving = asyncio.create_task(self._connector.run(self.intake))
        working = asyncio.create_task(self._fetch_and_deliver(delivery))
        ending = asyncio.create_task(self._shutdown.wait())
        followed = asyncio.create_task(term.fence.over.wait())
        ends = {receiving, working, ending, followed, term.keeping}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                await stop(receiving)
                await delivery.finish()
                return False
            if receiving.done() and self._has_ended(receiving):
                await receiving
                return True
            if working.done():
                log.error("gateway_crashed", connector=self.name, exc_info=working.exception())
                self._bus.supervisor.note(f"gateway_{self.name}", working.exception())
            elif not receiving.done():
                self._lease.tell_lost()
            return False
        finally:
            self.is_active = False
            await stop(receiving, working, ending, followed)

    async def _fetch_and_deliver(self, delivery: Delivery) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._attachments.run())
            tasks.create_task(delivery.run())

    def _has_ended(self, receiving: asyncio.Task[None]) -> bool:
        """False where a defect ended it, which must not end the program: it is begun again."""
        error = receiving.exception()
        if error is None or isinstance(error, PalimpsestError) or self._chat is not None:
            return True
        log.error("connector_crashed", connector=self.name, exc_info=error)
        self._bus.supervisor.note(f"connector_{self.name}", error)
        return False

    async def _deliver_last(self) -> None:
        """The last agents of this process still talk, and perhaps no other gateway is there: then we bring what they
        say. Whoever stands by had the time to take over; nothing more is received here."""
        gone = asyncio.create_task(self._shutdown.without_agents())
        try:
            await asyncio.wait({gone}, timeout=CONNECTOR.retry_seconds)
            while self._shutdown.left and (not gone.done() or await self._pending()):
                if not await self._lease.take():
                    return
                try:
                    async with self._lease.kept() as term:
                        if term:
                            await self._deliver_what_is_left(term, gone)
                finally:
                    await self._lease.hand_over()
        except BusUnavailable as error:
            log.warning("redis_lost", reason=str(error))
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
        finally:
            await stop(gone)

    async def _deliver_what_is_left(self, term: Term, gone: asyncio.Task[None]) -> None:
        delivery = self._delivery(term)
        delivering = asyncio.create_task(delivery.run())
        try:
            await asyncio.wait({gone, delivering, term.keeping}, return_when=asyncio.FIRST_COMPLETED)
            async with self._bus.bell(topics.DELIVERED) as bell:
                while self._shutdown.left and not term.is_over and await self._pending():
                    await bell.wait(min(CONNECTOR.retry_seconds, self._shutdown.left))
            if delivering.done():
                log.error("gateway_crashed", connector=self.name, exc_info=delivering.exception())
            await delivery.finish()
        finally:
            await stop(delivering)

    def _delivery(self, term: Term) -> Delivery:
        return Delivery(
            self._connector,
            self._database,
            self._bus,
            chats=self._chats,
            folder=self._folder,
            fence=term.fence,
            chat=self._chat,
            alone=self._alone,
        )

    async def _pending(self) -> set[str]:
        return await chats_with_pending(self._database, self.name, self._chat)

    async def check(self) -> str | None:
        """How it stands, for whoever asks whether we are ready. Raises NotReady.

        What a platform calls is not taken out of a balancer because the platform itself cannot be reached.
        """
        waits = "waits for the database" if self._database.is_away else None
        if not self.is_active:
            return "has ended" if self._shutdown.begun else waits or "stands by: another gateway has the lease"
        problem = self._connector.problem if isinstance(self._connector, Receiving) else ""
        if problem and self.hook_path is None:
            raise NotReady(problem)
        return problem or waits

    @property
    def hook_path(self) -> str | None:
        """Where the platform calls us over HTTP, if it does."""
        return self._connector.hook_path if isinstance(self._connector, Hooked) else None

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Such a call; returns the HTTP status."""
        assert isinstance(self._connector, Hooked)
        return await self._connector.receive(self.intake, headers, body)
