"""What is gone in a moment: that somebody writes, and what is written so far. It travels on the bus, never in rows."""

from __future__ import annotations

import asyncio
from typing import Self

from bot.bus.bus import Bus
from bot.bus.events import AtWork, Written
from bot.messages import Address
from bot.runtime.tasks import stop

RENEW_SECONDS = 3.0
"""A sign of life is good for a little longer than that; who stops renewing it stops typing."""
DELTA_SECONDS = 0.1
_GATHER_SECONDS = 0.04
"""A reply that is whole after so long needs no half of it shown before."""


class Presence:
    """Shows that an agent is at work while at least one ``async with`` on it is open."""

    def __init__(self, bus: Bus, address: Address) -> None:
        self._bus = bus
        self._address = address
        self._users = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._users += 1
        if self._users == 1:
            self._task = self._bus.supervisor.start("typing", self._renew)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._users -= 1
        if self._users == 0 and self._task:
            await stop(self._task)
            self._send(on=False)

    async def _renew(self) -> None:
        while True:
            self._send(on=True)
            await asyncio.sleep(RENEW_SECONDS)

    def _send(self, *, on: bool) -> None:
        self._bus.live(AtWork(self._address, on))


class LiveReply:
    """Sends a reply while it is being written: always the whole text so far, at most ten times a second."""

    def __init__(self, bus: Bus, address: Address, slot: int, before: str = "") -> None:
        """``before``: how the reply began that is now gone on with."""
        self._bus = bus
        self._address = address
        self._slot = slot
        self._before = before
        self._text = before
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def text(self) -> str:
        """What was written so far."""
        return self._text

    def update(self, text: str) -> None:
        """There is more of it."""
        self._text = self._before + text
        self._changed.set()

    async def __aenter__(self) -> Self:
        self._task = self._bus.supervisor.start("live_reply", self._send)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task:
            await stop(self._task)

    async def _send(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(_GATHER_SECONDS)
            self._changed.clear()
            if self._text.strip():
                self._bus.live(Written(self._address, self._slot, self._text))
            await asyncio.sleep(DELTA_SECONDS - _GATHER_SECONDS)


def show_written(bus: Bus, address: Address, slot: int, text: str) -> None:
    """Show this in the place of what was written so far."""
    bus.live(Written(address, slot, text))
