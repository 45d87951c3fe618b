"""What the tests of the Telegram connector share: an intake in memory, pauses that take no time, receiving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bot.connector import Connector
from bot.errors import StoreUnavailable
from bot.messages import Address, Button, Edit, Inbound, Say
from connectors.telegram import Telegram
from tests.servers.telegram import BotApiServer
from tests.servers.watched import Watched

HERE = Address("telegram", "1001")
GROUP = Address("telegram", "-100200")
LONG = "\n\n".join(f"Paragraph {number} 👍🏽 {'with some words ' * 40}".strip() for number in range(12))
TABLE = "| item | price |\n| --- | ---: |\n| rope | 3 € |\n| sail | 40 € |"
UNDO = (Button("Undo", "/undo"),)

MakeTelegram = Callable[..., Telegram]


class FakeIntake(Watched):
    """Keeps what is stored; while ``broken`` is positive, storing fails and takes one off."""

    def __init__(self, *, cursor: str | None = None, broken: int = 0) -> None:
        super().__init__()
        self.inbounds: list[Inbound] = []
        self.refused: list[Inbound] = []
        self.news: list[tuple[str, ...]] = []
        self.saved_cursor = cursor
        self.broken = broken
        self.waits: list[float] = []

    @property
    def keys(self) -> list[str]:
        return [inbound.key for inbound in self.inbounds]

    @property
    def texts(self) -> list[str]:
        return [inbound.text for inbound in self.inbounds]

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        if self.broken:
            self.broken -= 1
            self.refused.extend(inbounds)
            raise StoreUnavailable("the database is away")
        self.inbounds.extend(inbounds)
        self.saved_cursor = cursor
        self.changed()
        return len(inbounds)

    async def until_back(self, most: float) -> None:
        self.waits.append(most)

    async def cursor(self) -> str | None:
        return self.saved_cursor

    async def chats(self, limit: int) -> list[Address]:
        return []

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        return {}

    async def reachable(self, chat: str, *, yes: bool) -> None:
        self._note(chat, "open" if yes else "closed")

    async def moved(self, chat: str, moved_to: str) -> None:
        self._note(chat, "moved", moved_to)

    async def settled(self, address: Address) -> None: ...

    def _note(self, *news: str) -> None:
        if self.broken:
            self.broken -= 1
            raise StoreUnavailable("the database is away")
        self.news.append(news)
        self.changed()


class Pauses(Watched):
    """Stands for ``asyncio.sleep``: notes how long, and does not wait, but for what is held."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._held: frozenset[float] = frozenset()
        self._going_on = asyncio.Semaphore(0)

    def hold(self, *seconds: float) -> None:
        """Pauses of this length last until ``go_on``."""
        self._held |= set(seconds)

    def go_on(self) -> None:
        """End one held pause."""
        self._going_on.release()

    async def reach(self, times: int) -> None:
        """Return when there were so many pauses."""
        await self.wait_for(lambda pauses: len(pauses.seconds) == times)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.changed()
        if seconds in self._held:
            await self._going_on.acquire()
        await asyncio.sleep(0)


@asynccontextmanager
async def running(telegram: Connector, intake: FakeIntake) -> AsyncIterator[None]:
    """Receive until the end of the block."""
    task = asyncio.create_task(telegram.run(intake))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def received(
    telegram: Connector, server: BotApiServer, last: int, intake: FakeIntake | None = None
) -> FakeIntake:
    """What comes in until this update is confirmed."""
    intake = intake or FakeIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset > last)
    return intake


def say(text: str, *, token: str = "1", address: Address = HERE, **more: Any) -> Say:
    return Say(address, text, token, **more)


def edit(refs: tuple[str, ...], text: str, *, address: Address = HERE, **more: Any) -> Edit:
    return Edit(address, refs, text, "2", **more)
