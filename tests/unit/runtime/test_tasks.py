from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest

from bot.runtime.tasks import patiently, stop, to_the_end


async def forever() -> None:
    await asyncio.Event().wait()


async def test_a_task_that_swallows_its_first_cancellation_is_stopped_all_the_same() -> None:
    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await forever()
        await forever()

    task = asyncio.create_task(stubborn())
    await asyncio.wait({task}, timeout=0.01)
    await stop(task, patience=0.05)
    assert task.cancelled()


async def test_a_cancellation_that_comes_while_another_task_is_being_stopped_is_not_lost() -> None:
    cancelled, released = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        try:
            await forever()
        finally:
            cancelled.set()
            await released.wait()

    async def stopper() -> None:
        await stop(task)
        await forever()  # where it would go on

    task = asyncio.create_task(slow())
    await asyncio.wait({task}, timeout=0.01)
    stopping = asyncio.create_task(stopper())
    await cancelled.wait()
    stopping.cancel()
    await asyncio.wait({stopping}, timeout=1)
    ended = stopping.cancelled()
    released.set()
    await stop(stopping, task)
    assert ended


async def test_whoever_cleans_up_is_not_cancelled_once_more() -> None:
    cancelled, done = asyncio.Event(), False

    async def careful() -> None:
        nonlocal done
        try:
            await forever()
        finally:
            cancelled.set()
            await asyncio.sleep(0.8)  # as long as a busy machine may take
            done = True

    task = asyncio.create_task(careful())
    await asyncio.wait({task}, timeout=0.01)
    await stop(task)
    assert done


async def test_what_must_not_be_left_half_done_is_done_however_often_its_caller_is_cancelled() -> None:
    begun, may_end, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def whole() -> None:
        begun.set()
        await may_end.wait()
        done.set()

    calling = asyncio.create_task(to_the_end(whole()))
    await begun.wait()
    for _ in range(3):
        calling.cancel()
        await asyncio.sleep(0)
    assert not calling.done()
    may_end.set()
    await asyncio.wait({calling})
    assert done.is_set()
    assert calling.cancelled()


async def test_what_a_stopped_task_raised_can_be_asked_for() -> None:
    async def broken() -> None:
        raise ValueError("no")

    task = asyncio.create_task(broken())
    await asyncio.wait({task})
    await stop(task)
    assert isinstance(task.exception(), ValueError)


async def test_time_in_which_the_process_stood_still_is_no_time_waited() -> None:
    ready = asyncio.Event()

    async def is_ready() -> None:
        await ready.wait()

    asyncio.get_running_loop().call_soon(time.sleep, 0.6)  # as the import of a large library does
    asyncio.get_running_loop().call_later(0.7, ready.set)
    await patiently(is_ready, 0.5)


async def test_what_never_comes_is_not_waited_for_for_ever() -> None:
    with pytest.raises(TimeoutError):
        await patiently(forever, 0.05)
