"""When what is slow to load is loaded, and how the garbage collector stays out of the way."""

from __future__ import annotations

import asyncio
import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager

_HEAVY = (
    "bot.app.resources",
    "bot.agent.host",
    "bot.gateway.gateway",
    "workers.main",
    "anthropic",
    "alembic.command",
    "arq.jobs",
)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Until :func:`keep_what_is_loaded`, or the end of the block: collecting would take a quarter of the time that
    loading takes, and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def load_what_is_heavy() -> None:
    """In a thread: else the first answer waits for it, and the leases of a host with it."""
    await asyncio.to_thread(_load)


def _load() -> None:
    for name in _HEAVY:
        importlib.import_module(name)


def keep_what_is_loaded() -> None:
    """Neither the garbage collector nor the end of the process looks at it any more: that would take the end 2 s."""
    gc.collect()
    gc.freeze()
    gc.enable()
