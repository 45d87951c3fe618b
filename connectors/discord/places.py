"""Where on Discord something is said: a direct channel, a channel of a guild, a thread in one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import discord

from bot.messages import Address
from connectors.discord.recent import Recent

NAME = "discord"
_MOST = 5000
_DIRECT = frozenset({discord.ChannelType.private.value, discord.ChannelType.group.value})
_THREADS = frozenset({
    discord.ChannelType.news_thread.value,
    discord.ChannelType.public_thread.value,
    discord.ChannelType.private_thread.value,
})  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A channel: ``parent`` is the channel of a thread; ``largest_file`` is in bytes, where it is known."""

    channel: int
    direct: bool = False
    parent: int | None = None
    largest_file: int | None = None

    @property
    def address(self) -> Address:
        """The conversation here."""
        if self.parent is None:
            return Address(NAME, str(self.channel))
        return Address(NAME, str(self.parent), str(self.channel))


def channel_of(address: Address) -> int:
    """The channel that messages to this address go to."""
    return int(address.thread or address.chat)


class Places:
    """What is known of channels; ``look_up`` asks Discord for one."""

    def __init__(self, look_up: Callable[[int], Awaitable[Mapping[str, Any]]]) -> None:
        self._look_up = look_up
        self._known: Recent[int, Place] = Recent(_MOST)

    def learn(self, channel: object) -> Place | None:
        """The place of a channel that the gateway brought; None where it brought no more than its id."""
        match channel:
            case discord.DMChannel() | discord.GroupChannel():
                place = Place(channel.id, direct=True, largest_file=discord.utils.DEFAULT_FILE_SIZE_LIMIT_BYTES)
            case discord.Thread():
                place = Place(channel.id, parent=channel.parent_id, largest_file=channel.guild.filesize_limit)
            case discord.abc.GuildChannel():
                place = Place(channel.id, largest_file=channel.guild.filesize_limit)
            case _:
                return None
        self._known[place.channel] = place
        return place

    def known(self, channel: int) -> Place | None:
        """The place of a channel, without asking Discord."""
        return self._known.get(channel)

    async def find(self, channel: int) -> Place:
        """The place of a channel. Raises what a call of the API raises."""
        if channel not in self._known:
            found = await self._look_up(channel)
            kind = found.get("type")
            parent = int(found["parent_id"]) if kind in _THREADS else None
            limit = discord.utils.DEFAULT_FILE_SIZE_LIMIT_BYTES if kind in _DIRECT else None
            self._known[channel] = Place(channel, direct=kind in _DIRECT, parent=parent, largest_file=limit)
        return self._known[channel]
