"""Listens to a bot until somebody sends it the code that is shown to whoever sets it up.

Nothing that is said to the bot meanwhile is lost, and none of it is answered twice. Telegram is not told that anything
arrived, so the program gets all of it when it starts; Discord brings nothing again, so the program is told how far to
read back. The message with the code alone is written down as dismissed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from bot.app.platforms import platform
from bot.bus.leases import CONNECTOR
from bot.connector import STARTING, Connector, Receiving
from bot.errors import ConfigurationError, DeliveryError, StoreUnavailable
from bot.messages import Address, Inbound, Say
from bot.runtime.settings import Settings
from bot.runtime.tasks import stop
from bot.store import agents, inbox, outages, people
from bot.store.archive import dismissed
from bot.store.book import database_of

if TYPE_CHECKING:
    from bot.app.setup.platform_step import PlatformStep

_AGAIN_SECONDS = 1.0
YOU_ARE_ADMIN = (
    "That is the code: you are an admin of this bot now. I answer as soon as I run; what you write until then waits."
)
BEING_SET_UP = "I am being set up just now. Try that again in a minute."


class FirstWord:
    """Listens to a bot until somebody sends it the code in private, and writes down who that was."""

    def __init__(self, step: PlatformStep, settings: Settings, code: str) -> None:
        self._step = step
        self._settings = settings
        self._code = code
        self._connector: Connector = platform(settings, step.platform.name)
        self._found: asyncio.Future[Inbound] = asyncio.get_running_loop().create_future()
        self._answered: set[str] = set()
        self._answering: set[asyncio.Task[None]] = set()

    @property
    def has_begun(self) -> bool:
        """Whether it listens, or met a trouble: Discord brings nobody what was said before."""
        return self._problem != STARTING

    @property
    def is_brought_again(self) -> bool:
        """Whether the platform brings what was said before it listened."""
        return self._step.platform.name == "telegram"

    @property
    def trouble(self) -> str:
        """Why nothing is heard just now; empty while all is well, and at the beginning."""
        return self._problem if self.has_begun else ""

    @property
    def _problem(self) -> str:
        return self._connector.problem if isinstance(self._connector, Receiving) else ""

    async def run(self) -> Inbound:
        """Who it was: they are an admin now. Raises a PalimpsestError where waiting does not help."""
        intake = _Listening(self._hear, is_brought_again=self.is_brought_again)
        receiving = asyncio.create_task(self._connector.run(intake))
        try:
            await asyncio.wait((receiving, self._found), return_when=asyncio.FIRST_COMPLETED)
            if not self._found.done():
                await receiving
                raise ConfigurationError(f"{self._step.platform.title} ended the connection: try again.")
            await stop(receiving)
            return await self._welcomed(self._found.result())
        finally:
            await stop(receiving)
            await stop(*self._answering)
            await self._connector.close()

    def _hear(self, inbound: Inbound) -> None:
        words = inbound.text.removeprefix("/start").strip()
        if not inbound.speaker and inbound.kind == "message" and people.as_given(words) == self._code:
            if not self._found.done():
                self._found.set_result(inbound)
        elif inbound.is_awaited and inbound.key not in self._answered:  # a command of Discord's, which comes once
            self._answered.add(inbound.key)
            said = Say(inbound.address, BEING_SET_UP, token=inbound.key, notice=True, answers=inbound.ref)
            self._answering.add(asyncio.create_task(self._say(said)))

    async def _welcomed(self, inbound: Inbound) -> Inbound:
        address = inbound.address
        database = database_of(self._settings)
        try:
            await database.open()
            async with database.write() as tx:
                now = database.clock()
                await dismissed.add(tx, address.connector, [inbound.key])
                await outages.remember_admin(tx, address, inbound.person)
                if address.connector == "discord":
                    await agents.ensure(tx, address, now=now)  # so that this chat is read back
                    if await inbox.cursor(tx, CONNECTOR.of(address.connector)) is None:
                        await inbox.set_cursor(tx, CONNECTOR.of(address.connector), str(inbound.order))
        finally:
            await database.close()
        self._step.name_admin(f"{address.connector}:{inbound.person}")
        await self._say(Say(address, YOU_ARE_ADMIN, token=f"{inbound.key}:admin", notice=True, answers=inbound.ref))
        return inbound

    async def _say(self, say: Say) -> None:
        with suppress(DeliveryError):  # a courtesy
            await self._connector.deliver(say)


class _Listening:
    """An intake that keeps nothing: implements :class:`bot.connector.Intake`. ``is_brought_again``: the platform brings
    everything again until it is told that we have it, which it is not."""

    def __init__(self, hear: Callable[[Inbound], None], *, is_brought_again: bool) -> None:
        self._hear = hear
        self._is_brought_again = is_brought_again

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:  # noqa: ARG002
        for inbound in inbounds:
            self._hear(inbound)
        if self._is_brought_again:
            raise StoreUnavailable("nothing is kept while the program is set up", may_pass=True)
        return len(inbounds)

    async def until_back(self, most: float) -> None:  # noqa: ARG002
        await asyncio.sleep(_AGAIN_SECONDS)

    async def cursor(self) -> str | None:
        return None

    async def chats(self, limit: int) -> list[Address]:  # noqa: ARG002
        return []

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    async def reachable(self, chat: str, *, yes: bool) -> None: ...

    async def moved(self, chat: str, moved_to: str) -> None: ...

    async def settled(self, address: Address) -> None: ...
