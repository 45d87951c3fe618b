"""The server behind the bus, for whoever operates it: what it says of itself, and what it is to forget."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from bot.bus.bus import Bus
from bot.bus.redis_names import ALL_RINGS, SHARED_RINGS
from bot.errors import BusUnavailable

_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class RedisState:
    """``maxmemory``: bytes, 0 for no limit; ``persistent``: None where it does not say; ``others``: installations that
    use it besides this one; ``before``: processes of a version that did not keep installations apart."""

    version: str
    maxmemory: int
    policy: str
    persistent: bool | None
    others: int = 0
    before: int = 0


async def state_of(bus: Bus) -> RedisState:
    """Ask it. Raises BusUnavailable."""
    async with bus.reaching():
        await bus.redis.ping()
        info = await bus.redis.info()
    persistent = True if info.get("aof_enabled") else None
    if persistent is None:
        with suppress(BusUnavailable):  # hosted servers forbid the question
            async with bus.reaching():
                persistent = bool((await bus.redis.config_get("save")).get("save"))
    others, before = await _others(bus)
    version = info.get("valkey_version") or info.get("redis_version") or "of an unknown version"
    return RedisState(
        version=str(version),
        maxmemory=int(info.get("maxmemory", 0)),
        policy=str(info.get("maxmemory_policy", "noeviction")),
        persistent=persistent,
        others=others,
        before=before,
    )


async def forget_past(bus: Bus) -> None:
    """Have it write its file anew, with what it holds now and no word of what it held before. Raises
    BusUnavailable."""
    async with bus.reaching():
        await bus.redis.execute_command("BGREWRITEAOF")  # type: ignore[no-untyped-call]
    while True:
        async with bus.reaching():
            found = await bus.redis.info("persistence")
        if not found["aof_rewrite_in_progress"] and not found["aof_rewrite_scheduled"]:
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _others(bus: Bus) -> tuple[int, int]:
    """Who else listens there; nobody where the question is forbidden."""
    with suppress(BusUnavailable):
        async with bus.reaching():
            channels = await bus.redis.pubsub_channels(ALL_RINGS)
            ((_, before),) = await bus.redis.pubsub_numsub(SHARED_RINGS)
        return len({*channels} - {bus.names.rings.encode()}), int(before)
    return 0, 0
