"""What Redis says of itself, for whoever operates it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from bot.bus.bus import Bus
from bot.bus.redis_names import ALL_RINGS, SHARED_RINGS
from bot.errors import BusUnavailable


@dataclass(frozen=True)
class BusState:
    """``maxmemory``: bytes, 0 for no limit; ``persistent``: None where it does not say; ``others``: installations that
    use it besides this one; ``before``: processes of a version that did not keep installations apart."""

    version: str
    maxmemory: int
    policy: str
    persistent: bool | None
    others: int = 0
    before: int = 0


async def state_of(bus: Bus) -> BusState:
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
    return BusState(
        version=str(version),
        maxmemory=int(info.get("maxmemory", 0)),
        policy=str(info.get("maxmemory_policy", "noeviction")),
        persistent=persistent,
        others=others,
        before=before,
    )


async def _others(bus: Bus) -> tuple[int, int]:
    """Who else listens there; nobody where the question is forbidden."""
    with suppress(BusUnavailable):
        async with bus.reaching():
            channels = await bus.redis.pubsub_channels(ALL_RINGS)
            ((_, before),) = await bus.redis.pubsub_numsub(SHARED_RINGS)
        return len({*channels} - {bus.names.rings.encode()}), int(before)
    return 0, 0
