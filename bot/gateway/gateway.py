"""The gateway of one connector: stores what comes in, delivers what goes out.

In order within a chat, and without one chat holding up another: each chat has a :class:`Lane`. One gateway at a time
works for a connector (lease); another one with the same token stands by. What a platform calls us with over HTTP is
stored by whichever gateway it reaches.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

import structlog

from bot.bus import topics
from bot.bus.bells import Bell
from bot.bus.bus import Bus
from bot.bus.events import AtWork, LiveEvent, Marked, Measured, Written
from bot.bus.leases import Lease
from bot.bus.topics import Topic
from bot.connector import Connector, Guarded, Hooked, Receiving, unguarded
from bot.errors import BusUnavailable, NotReady, PalimpsestError, StoreUnavailable
from bot.files.blocks import remove_sent
from bot.gateway.admission import Door
from bot.gateway.attachments import Fetcher
from bot.gateway.chats import Chats
from bot.gateway.delivery import Lane
from bot.gateway.delivery_fence import Tenure
from bot.gateway.ephemeral import Courtesies, Signals
from bot.gateway.intake import Storing
from bot.messages import Address, AgentId, Inbound, React, Status, Typing
from bot.runtime.metrics import METRICS
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop
from bot.store import Database, chats, inbox, outbox, runs

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0
LEASE_SECONDS = 3.0
_STANDBY_SECONDS = 1.0
_IN_HAND_SECONDS = 5.0


class Gateway:
    """One connector between its platform and the book."""

    def __init__(
        self,
        connector: Connector,
        database: Database,
        bus: Bus,
        door: Door,
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
        self._lease_name = lease_name
        self._folder = folder
        self._chat = chat
        self._alone = alone and chat is None
        self._shutdown = shutdown or Shutdown()
        self._worked = False
        """Whether the lease was ever ours."""
        self.is_active = False
        """Whether it is ours now: we receive and deliver."""
        self._fetcher = Fetcher(connector, database, bus, folder=folder, most_bytes=most_bytes, chat=chat)
        self._lanes: dict[str, Lane] = {}
        self._chats = Chats(database, connector.name)
        self._storing = Storing(connector.name, database, bus, door, self._chats, cursor_name=lease_name)
        self._courtesies = Courtesies(connector, self._chats)

    async def run(self) -> None:
        """Work while the lease is ours; return when the connector has nothing more to receive, or at the end."""
        polite = self._bus.supervisor.start("courtesies", self._courtesies.run)
        try:
            async with self._bus.bell(self._handed_over) as bell:
                told = asyncio.create_task(self._until_told(bell))
                try:
                    while not await self._take_turns() and not self._shutdown.begun:
                        await bell.wait(_STANDBY_SECONDS)
                finally:
                    await stop(told)
            if self._shutdown.begun and self._worked:
                await self._deliver_last()
        finally:
            await stop(polite)

    async def _until_told(self, bell: Bell) -> None:
        await self._shutdown.wait()
        bell.strike(None)

    async def _take_turns(self) -> bool:
        """Stand by, or work; True when there is nothing more to receive."""
        lease = self._bus.lease(self._lease_name, LEASE_SECONDS)
        try:
            if self._shutdown.begun or not await lease.take():
                return False
        except BusUnavailable:
            return False
        self._worked, ended = True, False
        try:
            ended = await self._with_lease(lease)
        finally:
            # After a failure nobody is rung for: we would be the first to hear it, and fail again at once.
            await self._hand_over(lease, ring=ended or self._shutdown.begun)
        return ended

    async def _hand_over(self, lease: Lease, *, ring: bool = True) -> None:
        await lease.drop()
        if ring:
            self._bus.ring(self._handed_over)

    @property
    def name(self) -> str:
        """The connector's."""
        return self._connector.name

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
    def _handed_over(self) -> Topic:
        return topics.handed_over(self._lease_name)

    @property
    def hook_path(self) -> str | None:
        """Where the platform calls us over HTTP, if it does."""
        return self._connector.hook_path if isinstance(self._connector, Hooked) else None

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Such a call; returns the HTTP status."""
        assert isinstance(self._connector, Hooked)
        return await self._connector.receive(self, headers, body)

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """See :class:`bot.connector.Intake`."""
        stored = await self._storing.store(inbounds, cursor)
        for say in stored.told:
            self._courtesies.say(say)
        for agent_id, path in stored.gone:
            await asyncio.to_thread(remove_sent, self._folder(agent_id), [path])
        return len(stored.new)

    async def until_back(self, most: float) -> None:
        """See :class:`bot.connector.Intake`."""
        await self._database.until_back(most)

    async def cursor(self) -> str | None:
        """See :class:`bot.connector.Intake`."""
        async with self._database.glance() as tx:
            return await inbox.cursor(tx, self._lease_name)

    async def chats(self, limit: int) -> list[Address]:
        """See :class:`bot.connector.Intake`."""
        async with self._database.read() as tx:
            found = await chats.latest(tx, self._connector.name, limit)
        return [self._chats.on_platform(address) for address in found]

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        """See :class:`bot.connector.Intake`."""
        async with self._database.glance() as tx:
            return await inbox.heard(tx, address, since)

    async def reachable(self, chat: str, *, yes: bool) -> None:
        """See :class:`bot.connector.Intake`."""
        await self._chats.set_open(chat, is_open=yes)

    async def moved(self, chat: str, moved_to: str) -> None:
        """See :class:`bot.connector.Intake`."""
        await self._chats.move(chat, moved_to)

    async def settled(self, address: Address) -> None:
        """See :class:`bot.connector.Intake`."""
        agent_id = address.agent_id
        async with self._bus.bell(topics.settled(agent_id), topics.delivered(agent_id)) as bell:
            while True:
                await bell.wait(SWEEP_SECONDS)
                async with self._database.read() as tx:
                    busy = (
                        await inbox.unanswered(tx, address)
                        or await runs.is_under_way(tx, agent_id)
                        or await outbox.undelivered(tx, agent_id)
                    )
                if not busy:
                    return

    async def _with_lease(self, lease: Lease) -> bool:
        """True when the connector ended by itself, False when the lease was lost or nothing could be begun."""
        keeping = asyncio.create_task(lease.keep())  # also while we begin, however long the book takes for that
        try:
            return await self._begun(keeping) and await self._work_until(keeping)
        finally:
            await stop(keeping)

    async def _begun(self, keeping: asyncio.Task[None]) -> bool:
        beginning = asyncio.create_task(self._begin())
        try:
            await asyncio.wait({beginning, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                METRICS.lease_lost("connector")
                log.warning("gateway_lease_lost", connector=self._connector.name)
                return False
            await beginning
        except StoreUnavailable as error:
            if self._chat is not None and not error.may_pass:  # somebody sits before a terminal that says nothing
                raise
            log.warning("store_unavailable", reason=str(error))
            return False
        finally:
            await stop(beginning)
        return True

    async def _begin(self) -> None:
        await self._chats.load()
        self._tenure = await Tenure.begin(self._database, self._lease_name)

    @asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        """Nothing is sent under this tenure once another gateway has begun one."""
        tenure = self._tenure
        if isinstance(self._connector, Guarded):
            self._connector.guard = partial(tenure.guard, self._database)
        try:
            yield
        finally:
            if isinstance(self._connector, Guarded):
                self._connector.guard = unguarded
            await tenure.leave(self._database)

    async def _work_until(self, keeping: asyncio.Task[None]) -> bool:
        async with self._guarded():
            return await self._receive_and_deliver(keeping)

    async def _receive_and_deliver(self, keeping: asyncio.Task[None]) -> bool:
        log.info("gateway_started", connector=self._connector.name)
        self.is_active = True
        receiving = asyncio.create_task(self._connector.run(self))
        working = asyncio.create_task(self._work())
        told = asyncio.create_task(self._shutdown.wait())
        followed = asyncio.create_task(self._tenure.over.wait())
        try:
            await asyncio.wait({receiving, working, keeping, told, followed}, return_when=asyncio.FIRST_COMPLETED)
            if told.done():
                await stop(receiving)
                await self._finish_deliveries()
                return False
            if receiving.done() and self._has_ended(receiving):
                await receiving
                return True
            if working.done():
                log.error("gateway_crashed", connector=self._connector.name, exc_info=working.exception())
                self._bus.supervisor.note(f"gateway_{self._connector.name}", working.exception())
            elif not receiving.done():
                METRICS.lease_lost("connector")
                log.warning("gateway_lease_lost", connector=self._connector.name)
            return False
        finally:
            self.is_active = False
            await stop(receiving, working, told, followed)

    async def _finish_deliveries(self) -> None:
        """What is in hand reaches the platform, and its ids the book: else the next gateway had to look for it."""
        if lanes := [asyncio.create_task(lane.rest()) for lane in self._lanes.values()]:
            await asyncio.wait(lanes, timeout=_IN_HAND_SECONDS)
            await stop(*lanes)

    async def _deliver_last(self) -> None:
        """The last agents of this process still talk, and perhaps no other gateway is there: then we bring what they
        say. Whoever stands by had the time to take over; nothing more is received here."""
        gone = asyncio.create_task(self._shutdown.without_agents())
        try:
            await asyncio.wait({gone}, timeout=_STANDBY_SECONDS)
            lease = self._bus.lease(self._lease_name, LEASE_SECONDS)
            while self._shutdown.left and (not gone.done() or await self._chats_to_serve()):
                if not await lease.take():
                    return
                try:
                    await self._deliver_until(gone, lease)
                finally:
                    await self._hand_over(lease)
        except BusUnavailable as error:
            log.warning("redis_lost", reason=str(error))
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
        finally:
            await stop(gone)

    async def _deliver_until(self, gone: asyncio.Task[None], lease: Lease) -> None:
        keeping = asyncio.create_task(lease.keep())
        try:
            if await self._begun(keeping):
                async with self._guarded():
                    await self._deliver_what_is_left(gone, keeping)
        finally:
            await stop(keeping)

    async def _deliver_what_is_left(self, gone: asyncio.Task[None], keeping: asyncio.Task[None]) -> None:
        delivering = asyncio.create_task(self._deliver())
        try:
            await asyncio.wait({gone, delivering, keeping}, return_when=asyncio.FIRST_COMPLETED)
            async with self._bus.bell(topics.DELIVERED) as bell:
                over = self._tenure.over.is_set
                while self._shutdown.left and not (keeping.done() or over()) and await self._chats_to_serve():
                    await bell.wait(min(_STANDBY_SECONDS, self._shutdown.left))
            if delivering.done():
                log.error("gateway_crashed", connector=self._connector.name, exc_info=delivering.exception())
            await self._finish_deliveries()
        finally:
            await stop(delivering)

    def _has_ended(self, receiving: asyncio.Task[None]) -> bool:
        """False where a defect ended it, which must not end the program: it is begun again."""
        error = receiving.exception()
        if error is None or isinstance(error, PalimpsestError) or self._chat is not None:
            return True
        log.error("connector_crashed", connector=self._connector.name, exc_info=error)
        self._bus.supervisor.note(f"connector_{self._connector.name}", error)
        return False

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._fetcher.run())
            tasks.create_task(self._deliver())

    async def _deliver(self) -> None:
        async with asyncio.TaskGroup() as tasks, self._bus.bell(topics.outbox(self._connector.name)) as bell:
            self._tasks = tasks
            self._lanes.clear()
            self._signals = Signals(self._connector, tasks)
            self._bus.on_live(self._live, alone_for=self._connector.name if self._alone else None)
            try:
                while True:
                    await bell.wait(SWEEP_SECONDS)
                    for chat in await self._chats_to_serve():
                        self._lane(chat).wake()
            finally:
                self._bus.off_live(self._live)

    async def _chats_to_serve(self) -> set[str]:
        try:
            async with self._database.glance() as tx:
                return await outbox.chats_with_pending(tx, self._connector.name, self._chat)
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            return set()

    def _lane(self, chat: str) -> Lane:
        if chat not in self._lanes:
            lane = self._lanes[chat] = Lane(
                self._connector,
                self._database,
                self._bus,
                chats=self._chats,
                folder=self._folder,
                tenure=self._tenure,
                chat=chat,
            )
            self._tasks.create_task(self._serve(chat, lane))
        return self._lanes[chat]

    async def _serve(self, chat: str, lane: Lane) -> None:
        try:
            await lane.run()
        finally:
            self._lanes.pop(chat, None)

    def _live(self, event: LiveEvent) -> None:
        address = event.address
        if address.connector != self._connector.name or (self._chat is not None and address.chat != self._chat):
            return
        if self._chats.seems_closed(address.chat):
            return
        platform = self._chats.on_platform(address)
        match event:
            case Written():
                self._lane(address.chat).write(address, event.slot, event.text)
            case AtWork():
                self._signals.show(Typing(platform, on=event.on))
            case Measured():
                self._signals.show(Status(platform, asdict(event.facts)))
            case Marked():
                self._signals.show(React(platform, event.ref, event.emoji))
