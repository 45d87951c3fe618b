"""What people are shown that is in no book: notices to those with whom there is no conversation, and signals.

Nothing that lasts hangs on either. A notice is told once and soon, unless too many wait; of signals (somebody writes,
how full it is, marks on messages) each place is shown only the newest. So a platform that stalls collects nothing, and
a sign that is taken away does not stay.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import structlog

from bot.connector import Connector
from bot.errors import DeliveryError
from bot.gateway.chats import Chats
from bot.messages import Address, React, Say, Status, Typing

log = structlog.get_logger(__name__)

_MOST_NOTICES = 100

Signal: TypeAlias = Typing | Status | React
_Place: TypeAlias = tuple[str, Address, str]


class EphemeralNotices:
    """Those of one connector, one after the other: to somebody unknown, or who says too much."""

    def __init__(self, connector: Connector, chats: Chats) -> None:
        self._connector = connector
        self._chats = chats
        self._waiting: asyncio.Queue[Say] = asyncio.Queue(_MOST_NOTICES)

    def say(self, say: Say) -> None:
        """Say it soon, unless too many are to be said."""
        with suppress(asyncio.QueueFull):
            self._waiting.put_nowait(say)

    async def run(self) -> None:
        """Bring them until cancelled."""
        while True:
            say = await self._waiting.get()
            try:
                await self._connector.deliver(replace(say, address=self._chats.on_platform(say.address)))
            except DeliveryError as error:
                log.debug("courtesy_not_delivered", reason=str(error))
            except Exception:
                log.exception("courtesy_crashed", connector=self._connector.name)


class EphemeralSignals:
    """Those of one connector, each in its place; ``tasks`` owns what is on its way."""

    def __init__(self, connector: Connector, tasks: asyncio.TaskGroup) -> None:
        self._connector = connector
        self._tasks = tasks
        self._wanted: dict[_Place, Signal] = {}

    def show(self, signal: Signal) -> None:
        """Show this next, in place of what waits there."""
        place = type(signal).__name__, signal.address, signal.ref if isinstance(signal, React) else ""
        under_way = place in self._wanted
        self._wanted[place] = signal
        if not under_way:
            self._tasks.create_task(self._show(place))

    async def _show(self, place: _Place) -> None:
        try:
            while True:
                wanted = self._wanted[place]
                await self._deliver(wanted)
                if self._wanted[place] is wanted:
                    return
        finally:
            del self._wanted[place]

    async def _deliver(self, signal: Signal) -> None:
        try:
            await self._connector.deliver(signal)
        except DeliveryError as error:
            log.debug("signal_not_delivered", reason=str(error))
        except Exception:
            log.exception("signal_crashed", connector=self._connector.name)
