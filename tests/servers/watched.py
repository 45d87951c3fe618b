"""Waiting for a server's state, without polling and without sleeping."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self


class Watched:
    """Something whose changes can be awaited; it calls `changed()` after each of them."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def changed(self) -> None:
        """Let everyone who waits look again."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def describe(self) -> str:
        """What a wait that timed out says about the state it saw."""
        return type(self).__name__

    def wait_for(self, condition: Callable[[Self], object], timeout: float = 10.0) -> Coroutine[Any, Any, None]:
        """Return once `condition(self)` is true; `TimeoutError` after `timeout` seconds."""
        return self._wait(condition, timeout)

    async def _wait(self, condition: Callable[[Self], object], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition(self):
                    waiter = asyncio.get_running_loop().create_future()
                    self._waiting.add(waiter)
                    try:
                        await waiter
                    finally:
                        self._waiting.discard(waiter)
        except TimeoutError:
            message = f"not within {seconds} s; the state is: {self.describe()}"
            raise TimeoutError(message) from None
