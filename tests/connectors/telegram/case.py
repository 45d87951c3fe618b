"""What the tests of the Telegram connector share: pauses that take no time, receiving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from bot.connector import Connector
from bot.messages import Address, Button, Edit, Say
from connectors.memory import MemoryIntake
from connectors.telegram import Telegram
from tests.servers.telegram.server import BotApiServer
from tests.servers.watched import Watched

HERE = Address("telegram", "1001")
GROUP = Address("telegram", "-100200")
LONG = "\n\n".join(f"Paragraph {number} 👍🏽 {'with some words ' * 40}".strip() for number in range(12))
TABLE = "| item | price |\n| --- | ---: |\n| rope | 3 € |\n| sail | 40 € |"
UNDO = (Button("Undo", "/undo"),)

MakeTelegram = Callable[..., Telegram]


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
async def running(telegram: Connector, intake: MemoryIntake) -> AsyncIterator[None]:
    """Receive until the end of the block."""
    task = asyncio.create_task(telegram.run(intake))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def received(
    telegram: Connector, server: BotApiServer, last: int, intake: MemoryIntake | None = None
) -> MemoryIntake:
    """What comes in until this update is confirmed."""
    intake = intake or MemoryIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset > last)
    return intake


def say(text: str, *, token: str = "1", address: Address = HERE, **more: Any) -> Say:
    return Say(address, text, token, **more)


def edit(refs: tuple[str, ...], text: str, *, address: Address = HERE, **more: Any) -> Edit:
    return Edit(address, refs, text, "2", **more)
