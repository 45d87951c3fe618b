"""What was said while nobody listened: read back from Discord."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import discord

from bot.messages import Address, Inbound
from connectors.discord.places import Place, Places, channel_of
from connectors.discord.reader import Reader, deletion, unread

_BATCH = 100
"""Messages: so many of a conversation's last ones are looked at for edits."""
MOST_MESSAGES = 10_000
"""Of one channel."""
_AT_ONCE = 4
Heard: TypeAlias = Callable[[Address, int], Awaitable[Mapping[str, int]]]
_Channel: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Gap:
    """What was stored reaches to the snowflake ``stored``; ``since`` is a little earlier, to be sure."""

    stored: int
    since: int


class Missed:
    """Reads for one client. ``heard``: what is stored of a conversation, from a message on."""

    def __init__(self, client: discord.Client, reader: Reader, places: Places, gap: Gap, heard: Heard) -> None:
        self._client = client
        self._reader = reader
        self._places = places
        self._gap = gap
        self._heard = heard
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._done: set[int] = set()
        self._found: list[Inbound] = []

    @property
    def found(self) -> list[Inbound]:
        """What was missed, as far as it was read, in order."""
        return sorted(self._found, key=attrgetter("order"))

    async def read(self, chats: Sequence[Address]) -> None:
        """Read the guilds' channels and these conversations.

        Raises what a call of the API raises, and then has read all channels where it could; a second try reads the
        others.
        """
        channels = {channel.id for channel in self._news_in_guilds()} | {channel_of(address) for address in chats}
        results = await asyncio.gather(*map(self._read, channels - self._done), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _news_in_guilds(self) -> list[_Channel]:
        """The channels that we may read and where something was said."""
        return [
            channel
            for guild in self._client.guilds
            for channel in _channels(guild)
            if (channel.last_message_id or 0) > self._gap.since and _is_readable(channel, guild)
        ]

    async def _read(self, channel: int) -> None:
        async with self._slots:
            try:
                place = self._places.learn(self._client.get_channel(channel)) or await self._places.find(channel)
                self._found += await self._messages(place)
            except (discord.Forbidden, discord.NotFound) as error:
                log.info("channel_not_read_back", extra={"channel": channel, "reason": str(error)})
            self._done.add(channel)

    async def _messages(self, place: Place) -> list[Inbound]:
        found: list[Inbound] = []
        known = self._client.get_channel(place.channel)
        channel = known if isinstance(known, _Channel) else self._client.get_partial_messageable(place.channel)
        seen = set[int]()
        since = 0
        async for number, message in self._history(channel):
            if number <= self._gap.since and len(seen) >= _BATCH:
                since = min(seen)
                break
            seen.add(number)
            if message is not None:
                found += self._read_one(message, place)
        if len(seen) == MOST_MESSAGES:
            since = min(seen)
            log.warning("channel_read_back_in_part", extra={"channel": place.channel, "messages": len(seen)})
        if place.direct or (isinstance(known, _Channel) and _is_readable(known, known.guild)):  # else it looks empty
            stored = await self._heard(place.address, since)
            found += [deletion(place.channel, one) for one in stored.values() if one not in seen]
        return found

    async def _history(
        self, channel: _Channel | discord.PartialMessageable
    ) -> AsyncIterator[tuple[int, discord.Message | None]]:
        """The messages by their ids, the newest first; None for one that discord.py cannot read. Its own way to read a
        channel ends at such a one, and would so each time."""
        before, left = None, MOST_MESSAGES
        while left:
            batch = await self._client.http.logs_from(channel.id, _BATCH, before=before)
            for data in batch:
                yield int(data["id"]), self._message(channel, data)
            if len(batch) < _BATCH:
                return
            before, left = int(batch[-1]["id"]), left - _BATCH

    def _message(self, channel: _Channel | discord.PartialMessageable, data: Any) -> discord.Message | None:
        try:
            return self._client._connection.create_message(channel=channel, data=data)  # noqa: SLF001
        except Exception:
            log.exception("update_unreadable", extra={"update": data["id"]})
            return None

    def _read_one(self, message: discord.Message, place: Place) -> list[Inbound]:
        """What it brings to us. One that cannot be read must not hold up what was said after it."""
        try:
            return self._events(message, place) if self._reader.counts(message, direct=place.direct) else []
        except Exception:
            log.exception("update_unreadable", extra={"update": message.id})
            return [unread(message, place)] if message.id > self._gap.since else []

    def _events(self, message: discord.Message, place: Place) -> list[Inbound]:
        events: list[Inbound] = []
        if message.id > self._gap.since:
            events.append(self._reader.message(message, place))
        if message.id <= self._gap.stored:
            edit = self._reader.edit(message, place)
            if edit is not None and edit.order > self._gap.since:
                events.append(edit)
        return events


def _channels(guild: discord.Guild) -> list[_Channel]:
    return [*guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads]


def _is_readable(channel: _Channel, guild: discord.Guild) -> bool:
    try:
        permissions = channel.permissions_for(guild.me)
    except discord.ClientException:  # a thread whose parent we do not see
        return False
    return permissions.read_messages and permissions.read_message_history
