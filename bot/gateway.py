"""The gateway of one connector: stores what comes in, delivers what goes out.

In order within a chat, and without one chat holding up another: each chat has a :class:`Lane`. One gateway at a time
works for a connector (lease); another one with the same token stands by. What a platform calls us with over HTTP is
stored by whichever gateway it reaches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from bot.bus import Bus, Lease
from bot.chats import Chats
from bot.connector import Connector, Hooked
from bot.door import Door
from bot.errors import BusUnavailable, DeliveryError, PalimpsestError, StoreUnavailable
from bot.fetcher import Fetcher
from bot.lane import Lane
from bot.messages import Address, AgentId, Inbound, React, Say, Status, Typing
from bot.store import Database, chats, inbox, outbox, runs
from bot.tasks import stop

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0
LEASE_SECONDS = 5.0
_STANDBY_SECONDS = 1.0
_MOST_COURTESIES = 100
_LONGEST_LINE = 300


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
    ) -> None:
        """``folder`` says where a conversation keeps its files, which have ``most_bytes`` at most; ``chat``: deliver
        only there (a terminal shows one conversation)."""
        self._connector = connector
        self._database = database
        self._bus = bus
        self._door = door
        self._lease_name = lease_name
        self._folder = folder
        self._chat = chat
        self._fetcher = Fetcher(connector, database, bus, folder=folder, most_bytes=most_bytes, chat=chat)
        self._lanes: dict[str, Lane] = {}
        self._chats = Chats(database, connector.name)
        self._marks: dict[tuple[Address, str], React] = {}
        self._courtesies: asyncio.Queue[Say] = asyncio.Queue(_MOST_COURTESIES)

    async def run(self) -> None:
        """Work while the lease is ours; return when the connector has nothing more to receive."""
        polite = asyncio.create_task(self._be_polite())
        try:
            while not await self._take_turns():  # noqa: ASYNC110  # nobody rings when a lease runs out
                await asyncio.sleep(_STANDBY_SECONDS)
        finally:
            await stop(polite)

    async def _take_turns(self) -> bool:
        """Stand by, or work; True when there is nothing more to receive."""
        lease = self._bus.lease(self._lease_name, LEASE_SECONDS)
        try:
            if not await lease.take():
                return False
        except BusUnavailable:
            return False
        try:
            return await self._with_lease(lease)
        finally:
            await lease.drop()

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
        now = self._database.clock()
        welcome: list[Inbound] = []
        try:
            async with self._database.write() as tx:
                await self._chats.load_moved(tx)  # another gateway may have heard of it
                clean = [self._chats.as_kept(_cleaned(inbound)) for inbound in inbounds]
                known = await inbox.known(tx, self._connector.name, [inbound.key for inbound in clean])
                fresh = [inbound for inbound in clean if inbound.key not in known]
                welcome, told = await self._door.admit(tx, fresh, now=now)
                new = [inbound for inbound in welcome if await inbox.add(tx, inbound, now=now)]
                if cursor is not None:
                    await inbox.set_cursor(tx, self._lease_name, cursor)
                for chat in {inbound.address.chat for inbound in fresh}:
                    await chats.reopen(tx, self._connector.name, chat)
        except StoreUnavailable:
            self._door.forget_counts(welcome)
            raise
        for inbound in fresh:
            self._chats.heard_of(inbound.address.chat)
        self._bus.ring(*{f"inbox:{inbound.address.agent_id}" for inbound in new})
        if any(inbound.attachments for inbound in new):
            self._bus.ring(f"fetch:{self._connector.name}")
        for say in told:
            with suppress(asyncio.QueueFull):  # a courtesy: nothing that lasts hangs on it
                self._courtesies.put_nowait(say)
        return len(new)

    async def cursor(self) -> str | None:
        """See :class:`bot.connector.Intake`."""
        async with self._database.read() as tx:
            return await inbox.cursor(tx, self._lease_name)

    async def chats(self, limit: int) -> list[Address]:
        """See :class:`bot.connector.Intake`."""
        async with self._database.read() as tx:
            found = await chats.latest(tx, self._connector.name, limit)
        return [self._chats.on_platform(address) for address in found]

    async def reachable(self, chat: str, *, yes: bool) -> None:
        """See :class:`bot.connector.Intake`."""
        await self._chats.set_open(chat, is_open=yes)

    async def moved(self, chat: str, moved_to: str) -> None:
        """See :class:`bot.connector.Intake`."""
        await self._chats.move(chat, moved_to)

    async def settled(self, address: Address) -> None:
        """See :class:`bot.connector.Intake`."""
        agent_id = address.agent_id
        async with self._bus.bell(f"settled:{agent_id}", f"delivered:{agent_id}") as bell:
            while True:
                await bell.wait(SWEEP_SECONDS)
                async with self._database.read() as tx:
                    busy = (
                        await inbox.unanswered(tx, address)
                        or await runs.asked_for(tx, agent_id)
                        or await outbox.undelivered(tx, agent_id)
                    )
                if not busy:
                    return

    async def _with_lease(self, lease: Lease) -> bool:
        """True when the connector ended by itself, False when the lease was lost."""
        try:
            await self._chats.load()
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            return False
        log.info("gateway_started", connector=self._connector.name)
        receiving = asyncio.create_task(self._connector.run(self))
        working = asyncio.create_task(self._work())
        keeping = asyncio.create_task(lease.keep())
        try:
            await asyncio.wait({receiving, working, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if receiving.done() and self._has_ended(receiving):
                await receiving
                return True
            if working.done():
                log.error("gateway_crashed", connector=self._connector.name, exc_info=working.exception())
            elif not receiving.done():
                log.warning("gateway_lease_lost", connector=self._connector.name)
            return False
        finally:
            await stop(receiving, working, keeping)

    def _has_ended(self, receiving: asyncio.Task[None]) -> bool:
        """False where a defect ended it, which must not end the program: it is begun again."""
        error = receiving.exception()
        if error is None or isinstance(error, PalimpsestError) or self._chat is not None:
            return True
        log.error("connector_crashed", connector=self._connector.name, exc_info=error)
        return False

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._fetcher.run())
            tasks.create_task(self._deliver())

    async def _be_polite(self) -> None:
        """Say what is nobody's conversation, e.g. to somebody unknown."""
        while True:
            say = await self._courtesies.get()
            try:
                await self._connector.deliver(replace(say, address=self._chats.on_platform(say.address)))
            except DeliveryError as error:
                log.debug("courtesy_not_delivered", reason=str(error))
            except Exception:
                log.exception("courtesy_crashed", connector=self._connector.name)

    async def _deliver(self) -> None:
        async with asyncio.TaskGroup() as tasks, self._bus.bell(f"outbox:{self._connector.name}") as bell:
            self._tasks = tasks
            self._lanes.clear()
            self._bus.on_live(self._live)
            try:
                while True:
                    await bell.wait(SWEEP_SECONDS)
                    for chat in await self._chats_to_serve():
                        self._lane(chat).wake()
            finally:
                self._bus.off_live(self._live)

    async def _chats_to_serve(self) -> set[str]:
        try:
            async with self._database.read() as tx:
                return await outbox.chats_with_pending(tx, self._connector.name, self._chat)
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            return set()

    def _lane(self, chat: str) -> Lane:
        if chat not in self._lanes:
            lane = self._lanes[chat] = Lane(
                self._connector, self._database, self._bus, chats=self._chats, folder=self._folder, chat=chat
            )
            self._tasks.create_task(self._serve(chat, lane))
        return self._lanes[chat]

    async def _serve(self, chat: str, lane: Lane) -> None:
        try:
            await lane.run()
        finally:
            self._lanes.pop(chat, None)

    def _live(self, event: Mapping[str, Any]) -> None:
        address = Address(**event["address"])
        if address.connector != self._connector.name or (self._chat is not None and address.chat != self._chat):
            return
        if self._chats.seems_closed(address.chat):
            return
        platform = self._chats.on_platform(address)
        match event["kind"]:
            case "text":
                self._lane(address.chat).write(event["slot"], event["text"])
            case "typing":
                self._tasks.create_task(self._signal(Typing(platform, on=event["on"])))
            case "status":
                self._tasks.create_task(self._signal(Status(platform, event["facts"])))
            case "react":
                self._react(React(platform, event["ref"], event["emoji"]))

    def _react(self, wanted: React) -> None:
        """One mark of a message after the other, or the one that is taken away could stay."""
        place = wanted.address, wanted.ref
        under_way = place in self._marks
        self._marks[place] = wanted
        if not under_way:
            self._tasks.create_task(self._mark(place))

    async def _mark(self, place: tuple[Address, str]) -> None:
        try:
            while True:
                wanted = self._marks[place]
                await self._signal(wanted)
                if self._marks[place] is wanted:
                    return
        finally:
            del self._marks[place]

    async def _signal(self, signal: Typing | Status | React) -> None:
        try:
            await self._connector.deliver(signal)
        except DeliveryError as error:
            log.debug("signal_not_delivered", reason=str(error))
        except Exception:  # nothing that lasts hangs on a signal
            log.exception("signal_crashed", connector=self._connector.name)


def _cleaned(inbound: Inbound) -> Inbound:
    """Whatever a platform lets people write, in a form that can be stored and shown."""
    return replace(
        inbound,
        text=_clean(inbound.text),
        person_name=_line(inbound.person_name),
        speaker=_line(inbound.speaker),
        attachments=tuple(replace(one, name=_line(one.name)) for one in inbound.attachments),
    )


def _line(text: str) -> str:
    """One line, without characters that are not seen or turn the text around."""
    shown = "".join(character for character in _clean(text) if character.isprintable())
    return shown[:_LONGEST_LINE]


def _clean(text: str) -> str:
    """Text that every store and every provider takes: no control characters but newline and tab, no lone surrogates."""
    kept = "".join(character for character in text if character >= " " or character in "\n\t")
    return kept.encode("utf-8", "replace").decode()
