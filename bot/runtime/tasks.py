"""Running tasks together, ending them, waiting for things, and hearing of tasks that end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import structlog

from bot.runtime.telemetry import telemetry

log = structlog.get_logger(__name__)

T = TypeVar("T")
Work: TypeAlias = Coroutine[Any, Any, None]
"""What runs until it has ended, or is cancelled."""
_PATIENCE_SECONDS = 3.0
"""For whoever lets go of what they hold when they are cancelled, e.g. a worker whose jobs give their runs back."""
_AGAIN_SECONDS = 0.5
_PIECES = 10


def told_of(task: asyncio.Task[T], what: str) -> asyncio.Task[T]:
    """That this task breaks is said at once, and counted: nobody waits for it who would."""
    task.add_done_callback(partial(_tell, what))
    return task


def _tell(what: str, task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("background_crashed", what=what, exc_info=error)
        telemetry.background_crashed(what)


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Do what must not be left half done, however often whoever waits for it is cancelled; that is passed on when it is
    done. ``work`` knows by itself how long it may take."""
    task, is_cancelled = asyncio.create_task(work), False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        if not task.cancelled():
            task.exception()  # the cancellation counts; unasked, asyncio would complain about this one
        raise asyncio.CancelledError
    return task.result()


async def stop(*tasks: asyncio.Task[Any], patience: float = _PATIENCE_SECONDS) -> None:
    """Cancel tasks and wait until they have ended, however they end; look at their results afterwards.

    One cancellation is not always enough: a library that waits with a time-out of its own can swallow it in the
    moment that its wait is over. But another one meets whoever is still cleaning up, so it comes late: after so many
    seconds.
    """
    for task in tasks:
        task.cancel()
    while pending := {task for task in tasks if not task.done()}:
        await asyncio.wait(pending, timeout=patience)
        for task in pending:
            task.cancel()
        patience = min(patience, _AGAIN_SECONDS)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asked for, so that asyncio does not complain that nobody did


async def patiently(what: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Wait for it, in pieces: a process that stands still for long, because it loads code on a busy machine, has not
    waited meanwhile. Raises TimeoutError."""
    for piece in range(_PIECES):
        try:
            async with asyncio.timeout(seconds / _PIECES):
                await what()
        except TimeoutError:
            if piece == _PIECES - 1:
                raise
        else:
            return


async def run_together(
    work: Sequence[Work],
    *,
    beside: Sequence[Work] = (),
    until_first: bool = False,
) -> None:
    """Run all until one fails, or all have ended, and what is ``beside`` for as long; with ``until_first``, until the
    first one ends."""
    tasks = {asyncio.create_task(item) for item in work}
    others = {asyncio.create_task(item) for item in beside}
    pending, accompanying = set(tasks), set(others)
    try:
        while pending:
            done, _ = await asyncio.wait(pending | accompanying, return_when=asyncio.FIRST_COMPLETED)
            pending, accompanying = pending - done, accompanying - done
            for task in done:
                task.result()
            if until_first:
                return
    finally:
        await stop(*tasks, *others)
