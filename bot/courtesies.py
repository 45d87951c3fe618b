"""What is said to somebody with whom there is no conversation, e.g. to a stranger. Nothing that lasts hangs on it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import structlog

from bot.chats import Chats
from bot.connector import Connector
from bot.errors import DeliveryError
from bot.messages import Say

log = structlog.get_logger(__name__)

_MOST = 100


class Courtesies:
    """Those of one connector, one after the other."""

    def __init__(self, connector: Connector, chats: Chats) -> None:
        self._connector = connector
        self._chats = chats
        self._waiting: asyncio.Queue[Say] = asyncio.Queue(_MOST)

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
