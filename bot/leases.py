"""Leases: what one process has at a time, for as long as it keeps it alive.

A lease is a lock of redis-py's. A host has one for each agent that is awake, so all of a process are kept alive
together: one script renews them in one round trip, however many they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

from bot.errors import BusUnavailable
from bot.redis_pool import ANSWER_SECONDS

if TYPE_CHECKING:
    from bot.bus import Bus

LEASES = "palimpsest:lease:"
_MOST_AT_ONCE = 1_000
_OFTEN, _YOUNG = 1 / 6, 1 / 4
"""Of a lease's time: how often it is looked which ones are to be renewed, and how old those are."""
_RENEW = """
local lost, again = {}, {}
for at, key in ipairs(KEYS) do
    local held = redis.call('get', key)
    if held == ARGV[2 * at - 1] or not held then
        redis.call('set', key, ARGV[2 * at - 1], 'PX', ARGV[2 * at])
        if not held then
            again[#again + 1] = at
        end
    else
        lost[#lost + 1] = at
    end
end
return {lost, again}
"""
"""What is held by its token stays so for another time; what nobody has is taken again. Returned are the places, from 1
on, of what somebody else has, and of what was taken again."""


class Lease:
    """Something that one process has at a time."""

    def __init__(self, leases: Leases, name: str, ttl: float) -> None:
        self.name = name
        self.on_again: Callable[[], None] = lambda: None
        """Called when it was taken again because nobody had it: somebody else may have had it in between."""
        self.ttl = ttl
        self.renewed = 0.0
        self.lost = asyncio.Event()
        """Somebody else has it."""
        self._leases = leases
        self._lock: Lock = leases.bus.redis.lock(LEASES + name, timeout=ttl, thread_local=False)

    async def take(self) -> bool:
        """Take it if it is free. Raises BusUnavailable."""
        self.renewed = now()
        async with self._leases.bus.reaching():
            return bool(await self._lock.acquire(blocking=False))

    @property
    def is_overdue(self) -> bool:
        """Whether we let it run out: we stood still, or could not reach Redis."""
        return now() - self.renewed > self.ttl

    @property
    def token(self) -> bytes:
        """What says in Redis that it is ours."""
        token: bytes = self._lock.local.token
        return token

    async def keep(self) -> None:
        """Keep it alive until cancelled; returns when somebody else has it. A Redis that was wiped or is away for a
        while costs nothing: the lease is taken again, and the fence in the book decides until then."""
        with self._leases.keeping(self):
            await self.lost.wait()

    async def left(self) -> float:
        """Seconds until it falls, if whoever has it does not renew it; 0 when nobody has it. Raises BusUnavailable."""
        return (await self._leases.left([self.name])).get(self.name, 0.0)

    async def drop(self) -> None:
        """Let somebody else have it."""
        with suppress(RedisError, OSError, LockError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._lock.release()


class Leases:
    """All leases that this process keeps alive."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._kept: set[Lease] = set()
        self._any = asyncio.Event()
        self._script = bus.redis.register_script(_RENEW)

    @property
    def held(self) -> Iterable[str]:
        """Their names."""
        return [lease.name for lease in self._kept]

    @contextmanager
    def keeping(self, lease: Lease) -> Iterator[None]:
        """Renew this one too, until the end of the block or until it is lost."""
        self._kept.add(lease)
        self._any.set()
        try:
            yield
        finally:
            self._kept.discard(lease)

    async def renew(self) -> None:
        """Keep them alive until cancelled."""
        while True:
            await self._any.wait()
            self._any.clear()
            while self._kept:
                await asyncio.sleep(min(lease.ttl for lease in self._kept) * _OFTEN)
                due = [lease for lease in self._kept if now() - lease.renewed >= lease.ttl * _YOUNG]
                for at in range(0, len(due), _MOST_AT_ONCE):
                    with suppress(BusUnavailable):
                        await self._renew(due[at : at + _MOST_AT_ONCE])

    async def _renew(self, due: Sequence[Lease]) -> None:
        asked = now()
        values = [value for lease in due for value in (lease.token, round(lease.ttl * 1_000))]
        async with self.bus.reaching():
            lost, again = await self._script(keys=[LEASES + lease.name for lease in due], args=values)
        for at, lease in enumerate(due, 1):
            if at in lost:
                self._kept.discard(lease)
                lease.lost.set()
            else:
                lease.renewed = asked
            if at in again:
                lease.on_again()

    async def left(self, names: Sequence[str]) -> Mapping[str, float]:
        """Which of these somebody has, and in how many seconds they fall if they are not renewed.

        Raises BusUnavailable.
        """
        left: dict[str, float] = {}
        for some in (names[at : at + _MOST_AT_ONCE] for at in range(0, len(names), _MOST_AT_ONCE)):
            async with self.bus.reaching(), self.bus.redis.pipeline(transaction=False) as pipe:
                for name in some:
                    pipe.pttl(LEASES + name)
                answers = await pipe.execute()
            left |= {name: milliseconds / 1_000 for name, milliseconds in zip(some, answers, strict=True)}
        return {name: seconds for name, seconds in left.items() if seconds > 0}

    async def clear(self) -> None:
        """Forget leases that nobody can hold any more."""
        async with self.bus.reaching():
            keys = [key async for key in self.bus.redis.scan_iter(match=LEASES + "*")]
            if keys:
                await self.bus.redis.delete(*keys)


def now() -> float:
    """Seconds of the loop's clock, which nobody sets."""
    return asyncio.get_running_loop().time()
