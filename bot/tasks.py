"""Ending tasks, and hearing of those that end by themselves."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, TypeVar

import structlog

log = structlog.get_logger(__name__)

T = TypeVar("T")
_PATIENCE_SECONDS = 0.5


def told_of(task: asyncio.Task[T], what: str) -> asyncio.Task[T]:
    """That this task breaks is said at once: nobody waits for it who would."""
    task.add_done_callback(partial(_tell, what))
    return task


def _tell(what: str, task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("background_crashed", what=what, exc_info=error)


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
