"""The Discord connector between a strict Discord and an intake in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Self

from bot.agent.commands.table import offered
from bot.connector import OfferedCommand
from bot.errors import StoreUnavailable
from bot.messages import Address, Inbound
from connectors.discord import Discord
from tests.servers.discord import DiscordServer, Person
from tests.servers.watched import Watched

COMMANDS = {"help": "What I can do", "compact": "Make room", "undo": "Take it back"}
_FIELDS = {command.name: command.fields for command in offered()}


class FakeIntake(Watched):
    """Keeps what is stored, each key once; while ``broken`` is positive, storing fails and takes one off."""

    def __init__(self, *, cursor: str | None = None) -> None:
        super().__init__()
        self.inbounds: list[Inbound] = []
        self.again: list[Inbound] = []
        self.saved_cursor = cursor
        self.known_chats: list[Address] = []
        self.broken = 0
        self.waits: list[float] = []
        self.refused = 0
        self.open = asyncio.Event()
        """While it is not set, storing does not end."""
        self.open.set()
        self.listing = asyncio.Event()
        """While it is not set, its chats are not told."""
        self.listing.set()
        self.asked = 0
        self.away = 0
        """So often its chats cannot be told."""

    @property
    def texts(self) -> list[str]:
        return [inbound.text for inbound in self.inbounds]

    @property
    def last(self) -> Inbound:
        return self.inbounds[-1]

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        await self.open.wait()
        if self.broken:
            self.broken -= 1
            self.refused += 1
            self.changed()
            raise StoreUnavailable("the database is away")
        keys = {inbound.key for inbound in self.inbounds}
        new = [inbound for inbound in inbounds if inbound.key not in keys]
        self.inbounds += new
        self.again += [inbound for inbound in inbounds if inbound.key in keys]
        self.saved_cursor = cursor or self.saved_cursor
        self.changed()
        return len(new)

    async def until_back(self, most: float) -> None:
        self.waits.append(most)
        await asyncio.sleep(0)

    async def cursor(self) -> str | None:
        return self.saved_cursor

    async def chats(self, limit: int) -> list[Address]:
        self.asked += 1
        self.changed()
        if self.away:
            self.away -= 1
            raise StoreUnavailable("the database is away")
        await self.listing.wait()
        return self.known_chats[:limit]

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        said = [one for one in self.inbounds if one.kind == "message" and one.address == address]
        return {one.key: one.order for one in said if one.order >= since}

    async def reachable(self, chat: str, *, yes: bool) -> None: ...

    async def moved(self, chat: str, moved_to: str) -> None: ...

    async def settled(self, address: Address) -> None: ...

    def describe(self) -> str:
        return f"stored: {self.texts}, cursor {self.saved_cursor}"


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
        self.intake = FakeIntake()
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
            await self.intake.wait_for(lambda intake: intake.saved_cursor)
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
        await self.intake.wait_for(lambda intake: len(intake.inbounds) >= count)
