"""Leases: what one process has at a time, for as long as it keeps it alive.

A lease is a lock of redis-py's. A host has one for each agent that is awake, so all of a process are kept alive
together: one script renews them in one round trip, however many they are.

How long each kind lasts, and how soon whoever wants one tries again, stands at the top, and nowhere else. A worker has
no lease: its heart beats in the book (:data:`bot.bus.jobs.HEARTBEAT_SECONDS`).

What stands in Redis under a lease's name and is none (another kind of value, or one that would stay for ever) is
nobody's, and is taken away: else whoever it is for would be served by no process, and nobody would see why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

from bot.bus.redis_names import SHARED_LEASES
from bot.bus.redis_pool import ANSWER_SECONDS
from bot.errors import BusUnavailable

if TYPE_CHECKING:
    from bot.bus.bus import Bus


@dataclass(frozen=True)
class LeaseKind:
    """``seconds``: whoever has one and does not renew it for so long has it no more. ``retry_seconds``: how soon
    whoever could not take it tries again."""

    name: str
    seconds: float
    retry_seconds: float

    def of(self, whose: str) -> str:
        """What the lease of this one is called."""
        return f"{self.name}:{whose}"


AGENT = LeaseKind("agent", seconds=3.0, retry_seconds=0.2)
"""Of a host. A dead one is noticed after so long at most. It is renewed three times in that time: a host that stands
still for two seconds keeps its agents, and one that stands still for longer only loses the step that it was at. Who
waits for it looks when it must have run out, and up to ``retry_seconds`` later: hosts that wait for the same one do not
all ask at the same moment."""
AGENT_UNRENEWED = LeaseKind("agent", seconds=60.0, retry_seconds=0.1)
"""The same lease for whoever may stand still while it works: a conversation is being forgotten, or moved into."""
CONNECTOR = LeaseKind("connector", seconds=3.0, retry_seconds=1.0)
"""Of a gateway; who stands by is also rung for when it is handed over."""
HOUSEKEEPING = LeaseKind("housekeeping", seconds=600.0, retry_seconds=600.0)
"""Of whoever takes away what is not kept for ever; it is one for all, is called ``name``, and is not renewed."""

_MOST_AT_ONCE = 1_000
_OFTEN, _YOUNG = 1 / 6, 1 / 4
"""Of a lease's time: how often it is looked which ones are to be renewed, and how old those are."""
_TAKE = """
if redis.call('pttl', KEYS[2]) > 0 then
    return 0
end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return 1
end
if redis.call('pttl', KEYS[1]) == -1 then
    redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 2
end
return 0
"""
"""Of the lease and of what it was called before (:data:`bot.bus.redis_names.SHARED_LEASES`): 1 where it was taken, 2
where garbage stood there."""
_INSTEAD_OF_GARBAGE = 2
_MOST_OVERDUE = 2
"""Times of a lease in a row without anybody who renews. One may be a process that stood still: its renewal is as late
as whoever looks for it."""
_RENEW = """
local lost, again, garbage = {}, {}, 0
for at, key in ipairs(KEYS) do
    local held = redis.pcall('get', key)
    if held ~= ARGV[2 * at - 1] and held and redis.call('pttl', key) == -1 then
        held = false
        garbage = garbage + 1
    end
    if held == ARGV[2 * at - 1] or not held then
        redis.call('set', key, ARGV[2 * at - 1], 'PX', ARGV[2 * at])
        if not held then
            again[#again + 1] = at
        end
    else
        lost[#lost + 1] = at
    end
end
return {lost, again, garbage}
"""
"""What is held by its token stays so for another time; what nobody has is taken again. Returned are the places, from 1
on, of what somebody else has, and of what was taken again; and how often garbage stood there."""


class _Lock(Lock):
    """Taken by a script that knows garbage, and what processes before this version hold."""

    def __init__(self, leases: Leases, name: str, ttl: float) -> None:
        super().__init__(leases.bus.redis, leases.bus.names.lease(name), timeout=ttl, thread_local=False)
        self._leases = leases
        self._before = SHARED_LEASES + name

    async def do_acquire(self, token: str | bytes) -> bool:
        """See redis-py's."""
        timeout = round(float(self.timeout or 0) * 1_000)
        taken = await self._leases.taking(keys=[self.name, self._before], args=[token, timeout])
        if taken == _INSTEAD_OF_GARBAGE:
            self._leases.bus.garbage.found("lease", "it would stay for ever")
        return bool(taken)


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
        self._lock: Lock = _Lock(leases, name, ttl)

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
        """Keep it alive until cancelled; returns when somebody else has it, or when nobody here even tries to renew
        it. A Redis that was wiped or is away for a while costs nothing: the lease is taken again, and the fence in the
        book decides until then."""
        with self._leases.keeping(self):
            rounds, overdue = self._leases.rounds, 0
            while overdue < _MOST_OVERDUE:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.ttl):
                        await self.lost.wait()
                        return
                overdue = overdue + 1 if self._leases.rounds == rounds else 0
                rounds = self._leases.rounds
            self.lost.set()

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
        self.rounds = 0
        """How often it was looked which ones are to be renewed."""
        self.taking = bus.redis.register_script(_TAKE)
        self._renewing = bus.redis.register_script(_RENEW)

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
        self._any.set()  # whoever renewed before us may have broken off
        while True:
            await self._any.wait()
            self._any.clear()
            while self._kept:
                await asyncio.sleep(min(lease.ttl for lease in self._kept) * _OFTEN)
                self.rounds += 1
                due = [lease for lease in self._kept if now() - lease.renewed >= lease.ttl * _YOUNG]
                for at in range(0, len(due), _MOST_AT_ONCE):
                    with suppress(BusUnavailable):
                        await self._renew(due[at : at + _MOST_AT_ONCE])

    async def _renew(self, due: Sequence[Lease]) -> None:
        asked = now()
        values = [value for lease in due for value in (lease.token, round(lease.ttl * 1_000))]
        async with self.bus.reaching():
            keys = [self.bus.names.lease(lease.name) for lease in due]
            lost, again, garbage = await self._renewing(keys=keys, args=values)
        if garbage:
            self.bus.garbage.found("lease", "it would stay for ever", garbage)
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
                    pipe.pttl(self.bus.names.lease(name))
                    pipe.pttl(SHARED_LEASES + name)
                answers = await pipe.execute()
            now_and_before = zip(some, answers[::2], answers[1::2], strict=True)
            left |= {name: max(milliseconds) / 1_000 for name, *milliseconds in now_and_before}
        return {name: seconds for name, seconds in left.items() if seconds > 0}

    async def clear(self) -> None:
        """Forget leases that nobody can hold any more."""
        async with self.bus.reaching():
            for prefix in (self.bus.names.leases, SHARED_LEASES):
                keys = [key async for key in self.bus.redis.scan_iter(match=prefix + "*")]
                if keys:
                    await self.bus.redis.delete(*keys)


def now() -> float:
    """Seconds of the loop's clock, which nobody sets."""
    return asyncio.get_running_loop().time()
