"""What goes out while the lease is ours: the outbox, replies while they are being written, and what passes.

In order within a chat, and without one chat holding up another: each has a
:class:`~bot.gateway.chat_delivery.ChatDelivery`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import structlog

from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS
from bot.bus.bus import Bus
from bot.bus.events import AtWork, LiveEvent, Marked, Measured, Written
from bot.connector import Connector
from bot.errors import StoreUnavailable
from bot.gateway.chat_delivery import ChatDelivery
from bot.gateway.chats import Chats
from bot.gateway.delivery_fence import DeliveryFence
from bot.gateway.ephemeral import EphemeralSignals
from bot.messages import AgentId, React, Status, Typing
from bot.runtime.tasks import stop
from bot.store import Database, outbox

log = structlog.get_logger(__name__)

_IN_HAND_SECONDS = 5.0


class Delivery:
    """That of one connector, for one term of its lease; it runs once."""

    def __init__(
        self,
        connector: Connector,
        database: Database,
        bus: Bus,
        *,
        chats: Chats,
        folder: Callable[[AgentId], Path],
        fence: DeliveryFence,
        chat: str | None = None,
        alone: bool = True,
    ) -> None:
        """``chat``: only there; ``alone``: nobody else wants to know what is written in this moment."""
        self._connector = connector
        self._database = database
        self._bus = bus
        self._chats = chats
        self._folder = folder
        self._fence = fence
        self._chat = chat
        self._alone = alone
        self._tasks = asyncio.TaskGroup()
        self._by_chat: dict[str, ChatDelivery] = {}
        self._signals = EphemeralSignals(connector, self._tasks)

    async def run(self) -> None:
        """Deliver until cancelled."""
        async with self._tasks, self._bus.bell(topics.outbox(self._connector.name)) as bell:
            self._bus.on_live(self._show, alone_for=self._connector.name if self._alone else None)
            try:
                while True:
                    await bell.wait(SWEEP_SECONDS)
                    for chat in await chats_with_pending(self._database, self._connector.name, self._chat):
                        self._in(chat).wake()
            finally:
                self._bus.off_live(self._show)

    async def finish(self) -> None:
        """What is in hand reaches the platform, and its ids the book: else the next gateway had to look for it."""
        if resting := [asyncio.create_task(each.rest()) for each in self._by_chat.values()]:
            await asyncio.wait(resting, timeout=_IN_HAND_SECONDS)
            await stop(*resting)

    def _in(self, chat: str) -> ChatDelivery:
        if chat not in self._by_chat:
            delivery = self._by_chat[chat] = ChatDelivery(
                self._connector,
                self._database,
                self._bus,
                chats=self._chats,
                folder=self._folder,
                fence=self._fence,
                chat=chat,
            )
            self._tasks.create_task(self._serve(chat, delivery))
        return self._by_chat[chat]

    async def _serve(self, chat: str, delivery: ChatDelivery) -> None:
        try:
            await delivery.run()
        finally:
            self._by_chat.pop(chat, None)

    def _show(self, event: LiveEvent) -> None:
        address = event.address
        if address.connector != self._connector.name or (self._chat is not None and address.chat != self._chat):
            return
        if self._chats.seems_closed(address.chat):
            return
        platform = self._chats.on_platform(address)
        match event:
            case Written():
                self._in(address.chat).write(address, event.slot, event.text)
            case AtWork():
                self._signals.show(Typing(platform, on=event.on))
            case Measured():
                self._signals.show(Status(platform, asdict(event.facts)))
            case Marked():
                self._signals.show(React(platform, event.ref, event.emoji))


async def chats_with_pending(database: Database, connector: str, chat: str | None) -> set[str]:
    """Those in which something waits to be delivered; none where the book cannot be asked."""
    try:
        async with database.glance() as tx:
            return await outbox.chats_with_pending(tx, connector, chat)
    except StoreUnavailable as error:
        log.warning("store_unavailable", reason=str(error))
        return set()
