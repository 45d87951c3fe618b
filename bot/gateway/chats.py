"""The chats of one connector, as its platform has them: which take nothing from us, which have another id by now.

A conversation keeps the address that it began with; only what goes to the platform has the chat's newest id.
"""

from __future__ import annotations

from dataclasses import replace

import structlog

from bot.messages import Address, Inbound
from bot.store import Database, Tx, chats, outbox

log = structlog.get_logger(__name__)


class Chats:
    """Read once by the gateway that works; kept in the book."""

    def __init__(self, database: Database, connector: str) -> None:
        self._database = database
        self._connector = connector
        self._closed: set[str] = set()
        self._began: dict[str, str] = {}

    async def load(self) -> None:
        """Read what is known."""
        async with self._database.read() as tx:
            self._closed = await chats.closed(tx, self._connector)
            await self.load_moved(tx)

    async def load_moved(self, tx: Tx) -> None:
        """Read which chats have another id."""
        self._began = dict(await chats.moved(tx, self._connector))

    def seems_closed(self, chat: str) -> bool:
        """Whether nothing reached it when we looked last."""
        return chat in self._closed

    async def is_closed(self, chat: str) -> bool:
        """Whether nothing reaches it; a message there may have opened it again by way of another gateway."""
        if chat in self._closed:
            async with self._database.read() as tx:
                self._closed = await chats.closed(tx, self._connector)
        return chat in self._closed

    def as_kept(self, inbound: Inbound) -> Inbound:
        """With the address that its conversation began with."""
        chat = inbound.address.chat
        began = self._began.get(chat, chat)
        return inbound if began == chat else replace(inbound, address=replace(inbound.address, chat=began))

    def on_platform(self, address: Address) -> Address:
        """As the platform knows it now."""
        now = next((moved_to for moved_to, began in self._began.items() if began == address.chat), address.chat)
        return replace(address, chat=now)

    def heard_of(self, chat: str) -> None:
        """Somebody said something there, so our messages reach it."""
        self._closed.discard(chat)

    async def set_open(self, chat: str, *, is_open: bool) -> None:
        """The platform says that it takes our messages again, or none any more: what waits for it is then dropped."""
        began = self._began.get(chat, chat)
        async with self._database.write() as tx:
            if is_open:
                await chats.reopen(tx, self._connector, began)
            else:
                await chats.close(tx, self._connector, began, now=self._database.clock())
                await outbox.refuse_chat(tx, self._connector, began)
        (self._closed.discard if is_open else self._closed.add)(began)
        log.info("chat_open" if is_open else "chat_closed", connector=self._connector, chat=began)

    async def move(self, chat: str, moved_to: str) -> None:
        """The platform gave a chat another id."""
        began = self._began.get(chat, chat)
        if began == moved_to or self._began.get(moved_to) == began:
            return
        async with self._database.write() as tx:
            await chats.move(tx, self._connector, began, moved_to)
        self._began = {new: old for new, old in self._began.items() if old != began} | {moved_to: began}
