"""Waiting for what others show on a screen, which sets no event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(
    condition: Callable[[], bool], what: Callable[[], object] = lambda: "", *, seconds: float = 5.0
) -> None:
    """Wait for a condition; so long at most, then fail and show what there is."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - what others show on a screen sets no event
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"it never came to that; there is:\n{what()}") from None
