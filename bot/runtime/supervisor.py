"""Whoever works in the background of a process is seen: what breaks is said, begun again, and told to ``/readyz``.

::

    work ─ ends, or breaks ─▶ one line in the log, counted ─▶ a pause (0.2 s, doubling up to 10 s) ─▶ work again

What only one conversation has to do with, such as an agent that breaks, is not this: its owner begins it again and says
so. A role that ends without having been told to ends the process (:func:`until_told`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import NoReturn

import structlog

from bot.errors import NotReady
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import Work
from bot.runtime.telemetry import telemetry

log = structlog.get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_STEADY_SECONDS = 30.0
"""What has gone well for so long is well again."""
_MOST_KNOWN = 20


class UnexpectedEnd(RuntimeError):
    """Work that goes on for as long as its process came to an end by itself."""


class Supervisor:
    """That of one process."""

    def __init__(self) -> None:
        self._broken: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_MOST_KNOWN))
        """When what is called so broke, in the loop's time."""
        self._reasons: dict[str, str] = {}

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[NoReturn]:
        """A task that keeps this going until it is cancelled, which is up to whoever calls. ``name`` is for people:
        what is done, and not for whom."""
        return asyncio.create_task(self.keep(name, work))

    async def keep(self, name: str, work: Callable[[], Awaitable[None]]) -> NoReturn:
        """Keep this going until cancelled."""
        pause, now = _FIRST_PAUSE, asyncio.get_running_loop().time
        while True:
            began = now()
            try:
                await work()
            except Exception as error:  # noqa: BLE001  # whatever it is: said, counted, begun again
                self.broke(name, error)
            else:
                self.broke(name, UnexpectedEnd("it ended by itself"))
            if now() - began > _STEADY_SECONDS:
                pause = _FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def broke(self, name: str, error: BaseException) -> None:
        """Say that this broke, and note it."""
        log.error("background_crashed", what=name, exc_info=error)
        self.note(name, error)

    def note(self, name: str, error: BaseException | None) -> None:
        """For whoever begins its own work again, and has said why: this broke."""
        telemetry.background_crashed(name)
        self._broken[name].append(asyncio.get_running_loop().time())
        self._reasons[name] = type(error).__name__

    async def check(self) -> str | None:
        """For ``/readyz``. Raises NotReady where something breaks again and again; once is only a note."""
        since = asyncio.get_running_loop().time() - _STEADY_SECONDS
        lately = {name: sum(when >= since for when in times) for name, times in self._broken.items()}
        for name, times in lately.items():
            if times > 1:
                raise NotReady(f"{name} breaks again and again: {self._reasons[name]}")
        once = [f"{name} broke and was begun again: {self._reasons[name]}" for name, times in lately.items() if times]
        return "; ".join(once) or None


async def until_told(role: Work, shutdown: Shutdown) -> None:
    """A role serves until the end begins. Raises UnexpectedEnd for one that ends before: that must not go unseen."""
    await role
    if not shutdown.begun:
        raise UnexpectedEnd("a role of this process ended by itself")
