"""The end of a process, which people are not to see: what runs may come to its end, until a deadline.

::

    told ─▶ gateways hand over · agents begin nothing more, and end when their turn has ─▶ agents are gone
         ─▶ workers take no more jobs, and end when theirs have ─▶ all is over, or the deadline has come
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Any


class Shutdown:
    """When it begins, and how long it may last. One for all roles of a process.

    ``seconds`` from the beginning to the deadline. ``agents``: whether agents live in this process, which workers and
    the last deliveries wait for.
    """

    def __init__(self, seconds: float = 0.0, *, agents: bool = False) -> None:
        self._seconds = seconds
        self._begun = asyncio.Event()
        self._deadline = 0.0
        self._without_agents = asyncio.Event()
        if not agents:
            self._without_agents.set()

    @property
    def begun(self) -> bool:
        """Whether the process has been told to end."""
        return self._begun.is_set()

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        if not self.begun:
            return self._seconds
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    def begin(self) -> None:
        """Come to an end. A second time changes nothing."""
        if not self.begun:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
            self._begun.set()

    async def wait(self) -> None:
        """Until it begins."""
        await self._begun.wait()

    def agents_are_gone(self) -> None:
        """No agent lives here any more."""
        self._without_agents.set()

    async def without_agents(self) -> None:
        """Until it has begun, and no agent lives here any more, or the deadline has come."""
        await self._begun.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.left):
                await self._without_agents.wait()


class until_signal:  # noqa: N801  # reads as a word where it is used
    """These signals cancel what is inside; that ends it without an error.

    Once it is gentle, the first of them only begins the ``shutdown``, and the second cancels.
    """

    def __init__(self, *numbers: signal.Signals, shutdown: Shutdown | None = None) -> None:
        self._numbers = numbers
        self._shutdown = shutdown
        self._gentle = False
        self._task: asyncio.Task[Any] | None = None
        self._told = False

    def be_gentle(self) -> None:
        """What is inside looks at the shutdown by itself now."""
        self._gentle = True

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        for number in self._numbers:
            asyncio.get_running_loop().add_signal_handler(number, self._tell)

    def _tell(self) -> None:
        if self._gentle and self._shutdown and not self._shutdown.begun:
            self._shutdown.begin()
            return
        self._told = True
        if self._task:
            self._task.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for number in self._numbers:
            asyncio.get_running_loop().remove_signal_handler(number)
        return self._told and kind is not None and issubclass(kind, asyncio.CancelledError)
