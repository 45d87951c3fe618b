"""A client of Discord's gateway, which puts what happens into a queue in the order in which it happened."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import discord
from discord.gateway import DiscordWebSocket, KeepAliveHandler

from connectors.discord.limits import count_what_is_left
from connectors.discord.reader import Groups, Reader
from connectors.discord.rest import LONGEST_RATE_LIMIT_SECONDS

MARGIN = 60_000 << 22
"""A minute, in snowflakes: Discord brings messages of different channels not quite in the order of their ids."""
_CLOSE_SECONDS = 3.0
_MOMENT_SECONDS = 0.05
_ANSWERED = frozenset({discord.InteractionType.application_command, discord.InteractionType.component})


@dataclass(frozen=True)
class Opened:
    """A new session began: what happened before it has to be read back."""

    receiver: Receiver


@dataclass(frozen=True)
class Said:
    """Somebody said something to us; ``edited``: once more, in other words."""

    message: discord.Message
    edited: bool = False


@dataclass(frozen=True)
class Passed:
    """This message and what came before it is none of ours."""

    id: int


@dataclass(frozen=True)
class Used:
    """Somebody used a command or pressed a button."""

    interaction: discord.Interaction
    stored: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Deleted:
    """These messages of a channel are gone, whoever said them."""

    channel: int
    ids: tuple[int, ...]


Arrival = Opened | Said | Passed | Used | Deleted


class Receiver(discord.Client):
    """``arrived`` is called for everything that happens; it must not wait."""

    def __init__(
        self,
        groups: Groups,
        arrived: Callable[[Arrival], None],
        sleep: Callable[[float], Awaitable[object]],
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
        super().__init__(
            intents=intents,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            max_ratelimit_timeout=LONGEST_RATE_LIMIT_SECONDS,
        )
        count_what_is_left(self.http)
        self.has_opened = False
        self.knows_guilds = asyncio.Event()
        self._groups = groups
        self._arrived = arrived
        self._opened = opened
        self._sleep = sleep
        self._passed = 0

    @property
    def reader(self) -> Reader:
        """Reads for the bot that this is; once logged in."""
        assert self.user
        return Reader(self.user.id, self._groups)

    # discord.py starts a task for each of these, in the order of the events; none of them waits for anything.

    async def on_connect(self) -> None:
        """A session began; the guilds follow."""
        self.has_opened = True
        self._opened()
        self.knows_guilds.clear()
        self._arrived(Opened(self))
        self._look_at_guilds()

    async def on_disconnect(self) -> None:
        """A connection ended; discord.py opens another one and forgets to close this."""
        old: DiscordWebSocket | None = self.ws
        if old is not None:
            await old.socket.close()

    async def on_guild_available(self, _guild: discord.Guild) -> None:
        """One of them came."""
        self._look_at_guilds()

    async def on_guild_join(self, _guild: discord.Guild) -> None:
        """One of them came, or we to it."""
        self._look_at_guilds()

    async def on_ready(self) -> None:
        """No more guilds came for a while."""
        self.knows_guilds.set()

    async def on_message(self, message: discord.Message) -> None:
        """Somebody said something, perhaps we."""
        self._take(message, edited=False)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """A message changed, or the preview of a link in it came."""
        self._take(payload.message, edited=True)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Somebody deleted a message, mostly their own."""
        self._arrived(Deleted(payload.channel_id, (payload.message_id,)))

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """A moderator, or a bot, deleted many."""
        self._arrived(Deleted(payload.channel_id, tuple(sorted(payload.message_ids))))

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Somebody used a command or pressed a button."""
        if interaction.type in _ANSWERED:
            self._arrived(Used(interaction))

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002
        """After a session that Discord has ended: https://docs.discord.com/developers/events/gateway#resuming"""
        if not initial:
            await self._sleep(random.uniform(1, 5))

    async def end(self) -> None:
        """Close, and leave nothing behind. A gateway that is gone is not waited for."""
        self.knows_guilds.set()  # nobody waits for them any more
        waiting = self._connection._ready_task  # noqa: SLF001  # nobody else ends it
        while waiting is not None and not waiting.done():
            waiting.cancel()  # which Python 3.11's wait_for loses where a guild comes at the same moment
            await asyncio.wait([waiting], timeout=_MOMENT_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.close()
        await self.http.close()
        for thread in threading.enumerate():  # discord.py forgets that of a connection that never came to be
            if isinstance(thread, KeepAliveHandler) and thread.ws._connection is self._connection:  # noqa: SLF001
                thread.stop()

    def _take(self, message: discord.Message, *, edited: bool) -> None:
        direct = isinstance(message.channel, discord.DMChannel)
        if self.reader.counts(message, direct=direct):
            self._arrived(Said(message, edited))
        elif message.id - self._passed > MARGIN:
            self._passed = message.id
            self._arrived(Passed(message.id))

    def _look_at_guilds(self) -> None:
        if not any(guild.unavailable for guild in self.guilds):
            self.knows_guilds.set()
