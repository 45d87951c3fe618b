"""The gateway of one connector: stores what comes in, delivers what goes out.

In order within a chat, and without one chat holding up another: each chat has a :class:`Lane`. One gateway at a time
works for a connector (lease); another one with the same token stands by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from bot import access
from bot.access import Access
from bot.bus import Bus, Lease
from bot.connector import Connector
from bot.errors import BusUnavailable, DeliveryError, StoreUnavailable
from bot.lane import Lane
from bot.messages import Address, Inbound, Say, Status, Typing
from bot.store import Database, inbox, outbox, runs
from bot.tasks import stop

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0
LEASE_SECONDS = 5.0
_STANDBY_SECONDS = 1.0
_REFUSAL_SECONDS = 3600.0
_MOST_REFUSALS = 1000


class Gateway:
    """One connector between its platform and the book."""

    def __init__(
        self,
        connector: Connector,
        database: Database,
        bus: Bus,
        people: Access,
        *,
        lease_name: str,
        chat: str | None = None,
    ) -> None:
        """``chat``: deliver only there (a terminal shows one conversation)."""
        self._connector = connector
        self._database = database
        self._bus = bus
        self._people = people
        self._lease_name = lease_name
        self._chat = chat
        self._lanes: dict[str, Lane] = {}
        self._refused: dict[str, float] = {}

    async def run(self) -> None:
        """Work while the lease is ours; return when the connector has nothing more to receive."""
        while True:
            lease = self._bus.lease(self._lease_name, LEASE_SECONDS)
            try:
                taken = await lease.take()
            except BusUnavailable:
                taken = False
            if not taken:
                await asyncio.sleep(_STANDBY_SECONDS)
                continue
            try:
                if await self._with_lease(lease):
                    return
            finally:
                await lease.drop()

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """See :class:`bot.connector.Intake`."""
        welcome = [inbound for inbound in inbounds if self._people.may_talk(inbound.address, inbound.person)]
        clean = [replace(inbound, text=_clean(inbound.text)) for inbound in welcome]
        now = self._database.clock()
        async with self._database.write() as tx:
            new = [inbound for inbound in clean if await inbox.add(tx, inbound, now=now)]
            if cursor is not None:
                await inbox.set_cursor(tx, self._lease_name, cursor)
        self._bus.ring(*{f"inbox:{inbound.address.agent_id}" for inbound in new})
        for inbound in inbounds:
            if inbound not in welcome:
                await self._refuse(inbound)
        return len(new)

    async def cursor(self) -> str | None:
        """See :class:`bot.connector.Intake`."""
        async with self._database.read() as tx:
            return await inbox.cursor(tx, self._lease_name)

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
        log.info("gateway_started", connector=self._connector.name)
        receiving = asyncio.create_task(self._connector.run(self))
        others = [asyncio.create_task(lease.keep()), asyncio.create_task(self._deliver())]
        try:
            await asyncio.wait({receiving, *others}, return_when=asyncio.FIRST_COMPLETED)
            if others[1].done():
                await others[1]
            if receiving.done():
                await receiving
                return True
            log.warning("gateway_lease_lost", connector=self._connector.name)
            return False
        finally:
            await stop(receiving, *others)

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
            lane = self._lanes[chat] = Lane(self._connector, self._database, self._bus, chat)
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
        if event["kind"] == "text":
            self._lane(address.chat).write(event["slot"], event["text"])
        elif event["kind"] == "typing":
            self._tasks.create_task(self._signal(Typing(address, on=event["on"])))
        elif event["kind"] == "status":
            self._tasks.create_task(self._signal(Status(address, event["facts"])))

    async def _signal(self, signal: Typing | Status) -> None:
        try:
            await self._connector.deliver(signal)
        except DeliveryError as error:
            log.debug("signal_not_delivered", reason=str(error))
        except Exception:  # nothing that lasts hangs on a signal
            log.exception("signal_crashed", connector=self._connector.name)

    async def _refuse(self, inbound: Inbound) -> None:
        """Tell an unknown person once an hour; nothing about them is stored."""
        now = self._database.clock()
        if now - self._refused.get(inbound.person, 0.0) < _REFUSAL_SECONDS or len(self._refused) >= _MOST_REFUSALS:
            return
        self._refused[inbound.person] = now
        log.info("person_refused", connector=self._connector.name)
        text = access.refusal(inbound.address, inbound.person)
        try:
            await self._connector.deliver(Say(inbound.address, text, token=inbound.key, notice=True))
        except DeliveryError as error:
            log.debug("refusal_not_delivered", reason=str(error))


def _clean(text: str) -> str:
    """Text that every store and every provider takes: no control characters but newline and tab, no lone surrogates."""
    kept = "".join(character for character in text if character >= " " or character in "\n\t")
    return kept.encode("utf-8", "replace").decode()
