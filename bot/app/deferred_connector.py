"""A connector that people can already use while the rest of the program is still starting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.connector import Connector, Intake
from bot.messages import Address, Attachment, Inbound, Outbound


class DeferredConnector:
    """Wraps a connector that runs since ``start``; what it stores waits until the real intake is there."""

    def __init__(self, inner: Connector) -> None:
        self.name = inner.name
        self._inner = inner
        self._intake: asyncio.Future[Intake] = asyncio.get_running_loop().create_future()
        self.running: asyncio.Task[None] = asyncio.create_task(inner.run(self))

    @property
    def is_received(self) -> bool:
        """Whether what is said here is being stored."""
        return self._intake.done()

    async def run(self, intake: Intake) -> None:
        """From here on what is said is stored; returns when the connector ends."""
        if self._intake.done():  # the lease was lost and taken again
            self._intake = asyncio.get_running_loop().create_future()
        self._intake.set_result(intake)
        await asyncio.shield(self.running)

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """See :class:`bot.connector.Intake`."""
        return await (await asyncio.shield(self._intake)).store(inbounds, cursor=cursor)

    async def until_back(self, most: float) -> None:
        """See :class:`bot.connector.Intake`."""
        await (await asyncio.shield(self._intake)).until_back(most)

    async def cursor(self) -> str | None:
        """See :class:`bot.connector.Intake`."""
        return await (await asyncio.shield(self._intake)).cursor()

    async def chats(self, limit: int) -> list[Address]:
        """See :class:`bot.connector.Intake`."""
        return await (await asyncio.shield(self._intake)).chats(limit)

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        """See :class:`bot.connector.Intake`."""
        return await (await asyncio.shield(self._intake)).heard(address, since)

    async def reachable(self, chat: str, *, yes: bool) -> None:
        """See :class:`bot.connector.Intake`."""
        await (await asyncio.shield(self._intake)).reachable(chat, yes=yes)

    async def moved(self, chat: str, moved_to: str) -> None:
        """See :class:`bot.connector.Intake`."""
        await (await asyncio.shield(self._intake)).moved(chat, moved_to)

    async def settled(self, address: Address) -> None:
        """See :class:`bot.connector.Intake`."""
        await (await asyncio.shield(self._intake)).settled(address)

    def pace(self, address: Address) -> float:
        """See :class:`bot.connector.Connector`."""
        return self._inner.pace(address)

    def drafts(self, address: Address) -> bool:
        """See :class:`bot.connector.Connector`."""
        return self._inner.drafts(address)

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """See :class:`bot.connector.Connector`."""
        return await self._inner.deliver(outbound)

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """See :class:`bot.connector.Connector`."""
        await self._inner.fetch(attachment, target, most_bytes=most_bytes)

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """See :class:`bot.connector.Connector`."""
        return await self._inner.find(outbound, after, known)

    async def close(self) -> None:
        """See :class:`bot.connector.Connector`."""
        await self._inner.close()
