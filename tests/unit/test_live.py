from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from bot.bus import Bus
from bot.live import LiveReply
from bot.messages import Address


class SlowBus:
    """Takes its time to be cancelled."""

    def __init__(self) -> None:
        self.busy = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.released = asyncio.Event()

    async def live(self, connector: str, event: Mapping[str, Any]) -> None:
        self.busy.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
            await self.released.wait()


async def test_a_cancellation_that_comes_while_a_live_reply_ends_is_not_lost() -> None:
    bus = SlowBus()

    async def reply() -> None:
        async with LiveReply(cast("Bus", bus), Address("room", "1"), 1) as live:
            live.update("so far")
            await bus.busy.wait()
        await asyncio.Event().wait()  # where a turn would go on

    replying = asyncio.create_task(reply())
    await bus.cancelled.wait()
    replying.cancel()
    await asyncio.wait({replying}, timeout=1)
    ended = replying.cancelled()
    replying.cancel()
    bus.released.set()
    await asyncio.wait({replying})
    assert ended
