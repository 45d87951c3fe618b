"""The bell: Redis wakes, locks and carries what is gone in a moment. Nothing here has to last.

``ring`` tells everyone that something is new under a topic (``inbox:telegram-1``, ``outbox:telegram``, ``run:ab12``);
who waits on a :class:`Bell` then reads the book. A bell may be lost: whoever waits also looks by itself from time to
time, and after a reconnect all bells ring once. ``live`` carries typing and half-written replies to the gateway.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import structlog
from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

from bot.errors import BusUnavailable
from bot.tasks import stop

log = structlog.get_logger(__name__)

PREFIX = "palimpsest:"
RINGS = PREFIX + "rings"
LIVE = PREFIX + "live:"
LEASES = PREFIX + "lease:"
_UNREACHABLE = (RedisError, OSError)
_RETRY_SECONDS = 0.2
_SILENCE_SECONDS = 10.0
_MOST_OUTGOING = 10_000
_ANSWER_SECONDS = 5.0
"""A Redis that takes longer to answer cannot be reached: nobody waits for it for ever."""


class Bell:
    """Waits for rings of some topics. ``wait`` returns what rang since the last time; ``None`` stands for anything."""

    def __init__(self, topics: tuple[str, ...]) -> None:
        self._topics = topics
        self._rung: set[str | None] = set()
        self._event = asyncio.Event()

    def hears(self, topic: str) -> bool:
        """A topic that ends in a colon stands for all below it."""
        return any(topic == own or (own.endswith(":") and topic.startswith(own)) for own in self._topics)

    def strike(self, topic: str | None) -> None:
        """Wake who waits."""
        self._rung.add(topic)
        self._event.set()

    async def wait(self, timeout: float) -> set[str | None]:  # the time-out is what a sweep is made of
        """What rang, or nothing after ``timeout`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event.wait()
        self._event.clear()
        rung, self._rung = self._rung, set()
        return rung


class Lease:
    """Something that one process has at a time, for as long as it keeps it alive."""

    def __init__(self, bus: Bus, name: str, ttl: float) -> None:
        self.name = name
        self._bus = bus
        self._ttl = ttl
        self._lock: Lock = bus.redis.lock(LEASES + name, timeout=ttl, thread_local=False)

    async def take(self) -> bool:
        """Take it if it is free. Raises BusUnavailable."""
        async with self._bus.reaching():
            return bool(await self._lock.acquire(blocking=False))

    async def keep(self) -> None:
        """Keep it alive until cancelled; returns when somebody else has it. A Redis that was wiped or is away for a
        while costs nothing: the lease is taken again, and the fence in the book decides until then."""
        while True:
            await asyncio.sleep(self._ttl / 3)
            try:
                async with self._bus.reaching():
                    try:
                        await self._lock.extend(self._ttl, replace_ttl=True)
                    except LockError:
                        if not await self._lock.acquire(blocking=False):
                            return
            except BusUnavailable:
                continue

    async def drop(self) -> None:
        """Let somebody else have it."""
        with suppress(*_UNREACHABLE, LockError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._lock.release()


class Bus:
    """Redis, as far as anybody here knows it. ``revive`` is called when it cannot be reached (the embedded Valkey is
    started again by it)."""

    def __init__(
        self, url: str, *, listen: tuple[str, ...] = (), revive: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        # No socket_timeout: redis-py would send under asyncio.wait_for, which can swallow a cancellation (Python 3.11).
        self.redis: Redis = Redis.from_url(url, socket_connect_timeout=5, health_check_interval=30)
        self._revive = revive
        self._name = uuid4().hex
        self._channels = [RINGS, *(LIVE + connector for connector in listen)]
        self._bells: set[Bell] = set()
        self._live: list[Callable[[Mapping[str, Any]], None]] = []
        self._connected = asyncio.Event()
        self._outgoing: asyncio.Queue[tuple[str, str]] = asyncio.Queue(_MOST_OUTGOING)

    async def run(self) -> None:
        """Hear and send rings and live events until cancelled."""
        sending = asyncio.create_task(self._publish())
        try:
            await self._hear()
        finally:
            await stop(sending)

    async def _hear(self) -> None:
        while True:
            try:
                await self._listen()
            except _UNREACHABLE as error:
                if self._connected.is_set():
                    log.warning("redis_lost", reason=str(error))
                self._connected.clear()
                await self._try_revive()
                await asyncio.sleep(_RETRY_SECONDS)

    @asynccontextmanager
    async def bell(self, *topics: str) -> AsyncIterator[Bell]:
        """A bell for these topics. It rings once at the start, so that who waits reads first."""
        bell = Bell(topics)
        bell.strike(None)
        self._bells.add(bell)
        try:
            yield bell
        finally:
            self._bells.discard(bell)

    def ring(self, *topics: str) -> None:
        """Say that something is new. Nobody waits for Redis here; a bell that is lost is found by the sweep."""
        for topic in topics:
            self._strike(topic)
            self._send(RINGS, f"{self._name} {topic}")

    def live(self, connector: str, event: Mapping[str, Any]) -> None:
        """Send what is gone in a moment to the gateway of this connector."""
        self._send(LIVE + connector, json.dumps(event))

    def on_live(self, handle: Callable[[Mapping[str, Any]], None]) -> None:
        """Call this with every live event of the connectors that we listen for."""
        self._live.append(handle)

    def off_live(self, handle: Callable[[Mapping[str, Any]], None]) -> None:
        """Call it no more."""
        self._live.remove(handle)

    def lease(self, name: str, ttl: float) -> Lease:
        """A lease of this name; it is not taken yet."""
        return Lease(self, name, ttl)

    async def is_held(self, name: str) -> bool:
        """Whether anybody has the lease of this name. Raises BusUnavailable."""
        async with self.reaching():
            return bool(await self.redis.exists(LEASES + name))

    async def clear_leases(self) -> None:
        """Forget leases that nobody can hold any more."""
        async with self.reaching():
            keys = [key async for key in self.redis.scan_iter(match=LEASES + "*")]
            if keys:
                await self.redis.delete(*keys)

    async def ping(self) -> None:
        """Raises BusUnavailable when Redis does not answer."""
        async with self.reaching():
            await self.redis.ping()

    async def connected(self) -> None:
        """Wait until rings are heard."""
        await self._connected.wait()

    @asynccontextmanager
    async def reaching(self) -> AsyncIterator[None]:
        """Translates what goes wrong on the way to Redis, once; no answer is one of these things."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                yield
        except LockError:
            raise
        except (*_UNREACHABLE, TimeoutError) as error:
            raise BusUnavailable(f"Redis cannot be reached: {str(error) or 'no answer'}") from error

    async def close(self) -> None:
        """Send what is still to be sent, and let go of connections."""
        with suppress(*_UNREACHABLE):
            async with asyncio.timeout(1):
                while not self._outgoing.empty():
                    await self.redis.publish(*self._outgoing.get_nowait())
        with suppress(*_UNREACHABLE):
            await self.redis.aclose()

    async def _listen(self) -> None:
        async with self.redis.pubsub() as pubsub:
            await pubsub.subscribe(*self._channels)
            silent = 0
            while True:
                message = await pubsub.get_message(timeout=_SILENCE_SECONDS)
                if message is None:
                    silent += 1
                    if silent > 1:
                        raise ConnectionError("no answer to a ping")
                    await pubsub.ping()
                    continue
                silent = 0
                if message["type"] == "subscribe":
                    self._connected.set()
                    for bell in self._bells:
                        bell.strike(None)
                elif message["type"] == "message":
                    self._heard(message["channel"].decode(), message["data"])

    def _heard(self, channel: str, data: bytes) -> None:
        if channel == RINGS:
            origin, _, topic = data.decode().partition(" ")
            if origin != self._name:
                self._strike(topic)
            return
        event = json.loads(data)
        for handle in self._live:
            handle(event)

    def _send(self, channel: str, data: str) -> None:
        with suppress(asyncio.QueueFull):
            self._outgoing.put_nowait((channel, data))

    async def _publish(self) -> None:
        """In order; what cannot be sent now is lost."""
        while True:
            channel, data = await self._outgoing.get()
            with suppress(*_UNREACHABLE):
                async with asyncio.timeout(_ANSWER_SECONDS):  # one answer that never comes would silence all bells
                    await self.redis.publish(channel, data)

    def _strike(self, topic: str) -> None:
        for bell in self._bells:
            if bell.hears(topic):
                bell.strike(topic)

    async def _try_revive(self) -> None:
        if self._revive:
            try:
                await self._revive()
            except Exception as error:  # noqa: BLE001  # whatever keeps Redis from starting is said, and tried again
                log.warning("redis_not_revived", reason=str(error))
