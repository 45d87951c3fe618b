"""What passes: that we are writing, and marks on people's messages."""

from __future__ import annotations

import time
from contextlib import suppress

from bot.messages import Address
from connectors.discord.failures import FAILURES
from connectors.discord.places import channel_of
from connectors.discord.recent import Recent
from connectors.discord.rest import Rest

TYPING_SECONDS = 8.0
"""Discord shows it for 10 s."""
EYES = "👀"
"""The mark that is taken away where this process put none."""
_MOST = 1000


class Signals:
    """Nothing that lasts hangs on these: a mark may not be allowed, and that is no failure."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._typing: Recent[int, float] = Recent(_MOST)
        self._marks: Recent[tuple[int, int], str] = Recent(_MOST)

    async def typing(self, address: Address) -> None:
        """Show that we are writing. It cannot be taken back, and ends when a message comes."""
        channel, now = channel_of(address), time.monotonic()
        if now - self._typing.get(channel, -TYPING_SECONDS) >= TYPING_SECONDS:
            self._typing[channel] = now
            await self._rest.typing(channel)

    def written(self, address: Address) -> None:
        """A message of ours came, which ended it."""
        self._typing.pop(channel_of(address), None)

    async def react(self, address: Address, ref: str, emoji: str) -> None:
        """Put a mark on a message, or take our mark away."""
        if not ref.isdecimal():  # a command has no message
            return
        place = channel_of(address), int(ref)
        before = self._marks.pop(place, None if emoji else EYES)
        with suppress(*FAILURES):
            if before and before != emoji:
                await self._rest.unreact(*place, before)
            if emoji:
                await self._rest.react(*place, emoji)
                self._marks[place] = emoji
