"""Ending tasks."""

from __future__ import annotations

import asyncio
from typing import Any

_PATIENCE_SECONDS = 0.5


async def stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they have ended, however they end; look at their results afterwards.

    One cancellation is not always enough: a library that waits with a time-out of its own can swallow it in the
    moment that its wait is over.
    """
    for task in tasks:
        task.cancel()
    while pending := {task for task in tasks if not task.done()}:
        await asyncio.wait(pending, timeout=_PATIENCE_SECONDS)
        for task in pending:
            task.cancel()
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asked for, so that asyncio does not complain that nobody did
