"""What a person may stop: waiting for something, never a step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from bot.runtime.tasks import stop

T = TypeVar("T")


class AbortedError(Exception):
    """A person stopped the turn, or what it cannot do without; then the text tells people so."""


class AbortSignal:
    """Set once; whoever waits then waits no longer."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Stop waiting for anything."""
        self._event.set()

    async def unless(self, work: Awaitable[T]) -> T:
        """Wait for something, but not longer than for an abort; what was waited for is then cancelled. After an abort
        nothing more begins.

        Raises AbortedError.
        """
        task = asyncio.ensure_future(work)
        event = asyncio.create_task(self._event.wait())
        try:
            if not self._event.is_set():
                await asyncio.wait({task, event}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise AbortedError
            return task.result()
        finally:
            await stop(task, event)

    async def pause(self, seconds: float) -> None:
        """Let so much time pass, or less."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
