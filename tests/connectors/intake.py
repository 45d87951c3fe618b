"""An intake in memory, and waiting for what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bot.errors import StoreUnavailable
from bot.messages import Address, Inbound


class MemoryIntake:
    """Keeps what is stored; refuses as often as it is told to; ``answer`` runs to settle a message."""

    def __init__(self, answer: Callable[[Inbound], Awaitable[object]] | None = None) -> None:
        self.inbounds: list[Inbound] = []
        self.refusals = 0
        self.settled_for = 0
        """How often somebody waited until all was settled."""
        self._answer = answer

    @property
    def texts(self) -> list[str]:
        """What was said, in the order of storing."""
        return [inbound.text for inbound in self.inbounds]

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("the database is locked")
        self.inbounds += inbounds
        return len(inbounds)

    async def until_back(self, most: float) -> None:
        """It is back at once."""

    async def cursor(self) -> str | None:
        return None

    async def chats(self, limit: int) -> list[Address]:
        return []

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        return {one.key: one.order for one in self.inbounds if one.order >= since}

    async def reachable(self, chat: str, *, yes: bool) -> None:
        raise NotImplementedError("nobody can be thrown out of a terminal")

    async def moved(self, chat: str, moved_to: str) -> None:
        raise NotImplementedError("a terminal stays where it is")

    async def settled(self, address: Address) -> None:
        self.settled_for += 1
        if self._answer and self.inbounds:
            await self._answer(self.inbounds[-1])


async def until(
    condition: Callable[[], bool], what: Callable[[], object] = lambda: "", *, seconds: float = 5.0
) -> None:
    """Wait for a condition; so long at most, then fail and show what there is."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - what others show on a screen sets no event
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"it never came to that; there is:\n{what()}") from None
