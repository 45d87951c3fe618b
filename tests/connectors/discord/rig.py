"""The Discord connector between a strict Discord and an intake in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Self

from bot.agent.commands.table import offered
from bot.connector import OfferedCommand
from bot.messages import Address, Inbound
from connectors.discord import Discord
from connectors.memory import MemoryIntake
from tests.servers.discord.server import DiscordServer, Person
from tests.servers.watched import Watched

COMMANDS = {"help": "What I can do", "compact": "Make room", "undo": "Take it back"}
_FIELDS = {command.name: command.fields for command in offered()}


class SlowIntake(MemoryIntake):
    """Storing does not end while it is not ``open``; its chats are not told while ``listing`` is not set."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()
        self.listing = asyncio.Event()
        self.listing.set()
        self.asked = 0
        """How often its chats were to be told."""

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        await self.open.wait()
        return await super().store(inbounds, cursor=cursor)

    async def chats(self, limit: int) -> list[Address]:
        self.asked += 1
        await self._tell()
        await self.listing.wait()
        return await super().chats(limit)


class Pauses(Watched):
    """Stands for ``asyncio.sleep``: notes how long, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.changed()
        await asyncio.sleep(0)


class Rig:
    """A server, a person, and a connector; ``running`` starts it, as often as a test likes."""

    def __init__(self) -> None:
        self.server = DiscordServer()
        self.intake = SlowIntake()
        self.pauses = Pauses()

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        self.ada: Person = self.server.person(1001, "Ada")
        self.discord = self.connector()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.discord.close()
        await self.server.__aexit__()

    @property
    def here(self) -> Address:
        """Ada's direct channel."""
        return Address("discord", str(self.ada.channel_id))

    def connector(
        self,
        *,
        token: str | None = None,
        groups: Literal["mention", "always"] = "mention",
        commands: Mapping[str, str] = COMMANDS,
    ) -> Discord:
        return Discord(
            token or self.server.token,
            api_base=self.server.api_base,
            gateway=self.server.gateway,
            commands=[OfferedCommand(name, about, _FIELDS[name]) for name, about in commands.items()],
            groups=groups,
            sleep=self.pauses,
        )

    async def restart(self, **options: Any) -> None:
        """The program starts again: what it kept in memory is gone."""
        await self.discord.close()
        self.discord = self.connector(**options)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The connector receives."""
        task = self._task = asyncio.create_task(self.discord.run(self.intake))
        try:
            await self.server.wait_for(lambda server: server.connected)
            await self.intake.until(lambda: self.intake.saved_cursor)
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def failed(self) -> None:
        """It ends by itself, and raises why."""
        async with asyncio.timeout(10):
            await self._task

    async def stored(self, count: int) -> None:
        """So much is stored."""
        await self.intake.until(lambda: len(self.intake.inbounds) >= count)
