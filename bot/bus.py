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
from typing import Any, TypeAlias
from uuid import uuid4

import structlog
from redis.asyncio import Redis
from redis.exceptions import LockError, RedisError

from bot.bells import Bell, Bells
from bot.errors import BusUnavailable
from bot.leases import LEASES, Lease, Leases
from bot.redis_pool import ANSWER_SECONDS, pool_at
from bot.tasks import stop

log = structlog.get_logger(__name__)

PREFIX = "palimpsest:"
RINGS = PREFIX + "rings"
LIVE = PREFIX + "live:"
_UNREACHABLE = (RedisError, OSError)
_RETRY_SECONDS = 0.2
_SILENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_MOST_OUTGOING = 10_000
_MOST_AT_ONCE = 500
_Handle: TypeAlias = Callable[[Mapping[str, Any]], None]


class Bus:
    """Redis, as far as anybody here knows it. ``revive`` is called when it cannot be reached (the embedded Valkey is
    started again by it)."""

    def __init__(
        self, url: str, *, listen: tuple[str, ...] = (), revive: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        self.redis: Redis = Redis.from_pool(pool_at(url))
        self._revive = revive
        self._name = uuid4().hex
        self._channels = [RINGS, *(LIVE + connector for connector in listen)]
        self._bells = Bells()
        self._live: list[_Handle] = []
        self._alone: dict[str, _Handle] = {}
        self.leases = Leases(self)
        self._connected = asyncio.Event()
        self.failures = 0
        """How often it could not be reached."""
        self._outgoing: asyncio.Queue[tuple[str, str]] = asyncio.Queue(_MOST_OUTGOING)

    async def run(self) -> None:
        """Hear and send rings and live events until cancelled."""
        sending = asyncio.create_task(self._publish())
        renewing = asyncio.create_task(self.leases.renew())
        try:
            await self._hear()
        finally:
            await stop(sending, renewing)

    async def _hear(self) -> None:
        while True:
            try:
                await self._listen()
            except _UNREACHABLE as error:
                self.failures += 1
                if self._connected.is_set():
                    log.warning("redis_lost", reason=str(error))
                self._connected.clear()
                await self._try_revive()
                await asyncio.sleep(_RETRY_SECONDS)

    @asynccontextmanager
    async def bell(self, *topics: str) -> AsyncIterator[Bell]:
        """A bell for these topics. It rings once at the start, so that who waits reads first."""
        with self._bells.hung(*topics) as bell:
            yield bell

    def ring(self, *topics: str) -> None:
        """Say that something is new. Nobody waits for Redis here; a bell that is lost is found by the sweep."""
        for topic in topics:
            self._bells.strike(topic)
            self._send(RINGS, topic)

    def wake(self, topic: str) -> None:
        """Say it in this process alone."""
        self._bells.strike(topic)

    def live(self, connector: str, event: Mapping[str, Any]) -> None:
        """Send what is gone in a moment to the gateway of this connector."""
        if connector in self._alone:
            asyncio.get_running_loop().call_soon(self._tell, connector, event)
        else:
            self._send(LIVE + connector, json.dumps(event))

    def on_live(self, handle: _Handle, *, alone_for: str | None = None) -> None:
        """Call this with every live event of the connectors that we listen for. ``alone_for``: nobody else works for
        this connector, so its events need not go further than this process."""
        self._live.append(handle)
        if alone_for:
            self._alone[alone_for] = handle

    def _tell(self, connector: str, event: Mapping[str, Any]) -> None:
        if own := self._alone.get(connector):  # it may have gone meanwhile
            own(event)

    def off_live(self, handle: _Handle) -> None:
        """Call it no more."""
        self._live.remove(handle)
        self._alone = {connector: own for connector, own in self._alone.items() if own != handle}

    def lease(self, name: str, ttl: float) -> Lease:
        """A lease of this name; it is not taken yet."""
        return Lease(self.leases, name, ttl)

    async def is_held(self, name: str) -> bool:
        """Whether anybody has the lease of this name. Raises BusUnavailable."""
        async with self.reaching():
            return bool(await self.redis.exists(LEASES + name))

    async def forget_past(self) -> None:
        """Have Redis write its file anew, with what it holds now and no word of what it held before. Raises
        BusUnavailable."""
        async with self.reaching():
            await self.redis.execute_command("BGREWRITEAOF")  # type: ignore[no-untyped-call]
        while True:
            async with self.reaching():
                state = await self.redis.info("persistence")
            if not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]:
                return
            await asyncio.sleep(_LOOK_SECONDS)

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
            async with asyncio.timeout(ANSWER_SECONDS):
                yield
        except LockError:
            raise
        except (*_UNREACHABLE, TimeoutError) as error:
            self.failures += 1
            raise BusUnavailable(f"Redis cannot be reached: {str(error) or 'no answer'}") from error

    async def close(self) -> None:
        """Send what is still to be sent, and let go of connections."""
        with suppress(*_UNREACHABLE):
            async with asyncio.timeout(1):
                while not self._outgoing.empty():
                    await self._publish_what_waits(self._outgoing.get_nowait())
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
                    self._bells.strike_all()
                elif message["type"] == "message":
                    self._heard(message["channel"].decode(), message["data"])

    def _heard(self, channel: str, data: bytes) -> None:
        if channel == RINGS:
            origin, _, topics = data.decode().partition(" ")
            if origin != self._name:
                for topic in topics.split("\n"):
                    self._bells.strike(topic)
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
            first = await self._outgoing.get()
            with suppress(*_UNREACHABLE):
                async with asyncio.timeout(ANSWER_SECONDS):  # one answer that never comes would silence all bells
                    await self._publish_what_waits(first)

    async def _publish_what_waits(self, first: tuple[str, str]) -> None:
        """All of it in one go, and the rings as one message."""
        sent = [first]
        while not self._outgoing.empty() and len(sent) < _MOST_AT_ONCE:
            sent.append(self._outgoing.get_nowait())
        rung = dict.fromkeys(data for channel, data in sent if channel == RINGS)
        told = [(channel, data) for channel, data in sent if channel != RINGS]
        if rung:
            told.insert(0, (RINGS, f"{self._name} " + "\n".join(rung)))
        if len(told) == 1:
            await self.redis.publish(*told[0])
            return
        async with self.redis.pipeline(transaction=False) as pipe:
            for channel, data in told:
                pipe.publish(channel, data)
            await pipe.execute()

    async def _try_revive(self) -> None:
        if self._revive:
            try:
                await self._revive()
            except Exception as error:  # noqa: BLE001  # whatever keeps Redis from starting is said, and tried again
                log.warning("redis_not_revived", reason=str(error))
