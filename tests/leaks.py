"""What a program must not leave behind: tasks of its own, and keys in Redis that nothing takes away."""

from __future__ import annotations

import asyncio
from pathlib import Path

from redis.asyncio import Redis

_ROOT = Path(__file__).parents[1]
_OURS = tuple(str(_ROOT / name) for name in ("bot", "connectors", "workers"))


def own_tasks() -> set[asyncio.Task[object]]:
    """Tasks that run the program's code, and have not ended."""
    return {task for task in asyncio.all_tasks() if not task.done() and _file_of(task).startswith(_OURS)}


async def lasting_keys(redis: Redis) -> list[str]:
    """Keys without a time to live. Jobs that no worker was there for may wait in their queue."""
    keys = [key.decode() async for key in redis.scan_iter()]
    return [key for key in keys if not key.endswith(":jobs") and await redis.ttl(key) == -1]


def _file_of(task: asyncio.Task[object]) -> str:
    code = getattr(task.get_coro(), "cr_code", None)
    return str(code.co_filename) if code else ""
