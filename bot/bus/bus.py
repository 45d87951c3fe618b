"""The bell: Redis wakes, locks and carries what is gone in a moment. Nothing here has to last.

``ring`` tells everyone that something is new under a topic (``inbox:telegram-1``, ``outbox:telegram``, ``run:ab12``);
who waits on a :class:`Bell` then reads the book. A bell may be lost: whoever waits also looks by itself from time to
time, and after a reconnect all bells ring once. ``live`` carries typing and half-written replies to the gateway.

Whatever comes over a channel may be anybody's: what is no message of ours is counted and left out
(:mod:`bot.bus.events`), and nothing that breaks here ends unseen (:mod:`bot.runtime.supervisor`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias
from uuid import uuid4

import structlog
from redis.asyncio import Redis
from redis.exceptions import LockError, RedisError

from bot.bus.bells import Bell, Bells
from bot.bus.events import Garbage, LiveEvent, Rings, decode_event, decode_rings, encode_event, encode_rings
from bot.bus.garbage import GarbageCount
from bot.bus.leases import Lease, Leases
from bot.bus.redis_names import SHARED_LEASES, RedisNames
from bot.bus.redis_pool import ANSWER_SECONDS, Client, pool_at
from bot.bus.topics import Topic
from bot.errors import BusUnavailable
from bot.runtime.supervisor import Supervisor
from bot.runtime.tasks import stop, to_the_end

log = structlog.get_logger(__name__)

_UNREACHABLE = (RedisError, OSError)
_RETRY_SECONDS = 0.2
_SILENCE_SECONDS = 10.0
_MOST_OUTGOING = 10_000
_MOST_AT_ONCE = 500
_Handle: TypeAlias = Callable[[LiveEvent], None]


class Bus:
    """Redis, as far as anybody here knows it. ``installation``: the id of the book, whose processes alone hear each
    other. ``revive`` is called when it cannot be reached (the embedded Valkey is started again by it)."""

    def __init__(
        self,
        url: str,
        installation: str,
        *,
        listen: tuple[str, ...] = (),
        revive: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.redis: Redis = Client.from_pool(pool_at(url))
        self.names = RedisNames(installation)
        self.supervisor = Supervisor()
        """Of what this process does in the background: whoever has the bus finds it here."""
        self.garbage = GarbageCount(time.monotonic)
        self._revive = revive
        self._name = uuid4().hex
        self._channels = [self.names.rings, *map(self.names.live, listen)]
        self._bells = Bells()
        self._live: list[_Handle] = []
        self._alone: dict[str, _Handle] = {}
        self.leases = Leases(self)
        self._connected = asyncio.Event()
        self.failures = 0
        """How often it could not be reached."""
        self._outgoing: asyncio.Queue[Topic | tuple[str, LiveEvent]] = asyncio.Queue(_MOST_OUTGOING)
        """Topics that rang here, and live events with their channels."""

    @asynccontextmanager
    async def bell(self, *topics: Topic) -> AsyncIterator[Bell]:
        """A bell for these topics. It rings once at the start, so that who waits reads first."""
        with self._bells.hung(*topics) as bell:
            yield bell

    def ring(self, *topics: Topic) -> None:
        """Say that something is new. Nobody waits for Redis here; a bell that is lost is found by the sweep."""
        for topic in topics:
            self._bells.strike(topic)
            self._send(topic)

    def wake(self, topic: Topic) -> None:
        """Say it in this process alone."""
        self._bells.strike(topic)

    def live(self, event: LiveEvent) -> None:
        """Send what is gone in a moment to the gateway of its connector."""
        connector = event.address.connector
        if connector in self._alone:
            asyncio.get_running_loop().call_soon(self._tell, connector, event)
        else:
            self._send((self.names.live(connector), event))

    def on_live(self, handle: _Handle, *, alone_for: str | None = None) -> None:
        """Call this with every live event of the connectors that we listen for. ``alone_for``: nobody else works for
        this connector, so its events need not go further than this process."""
        self._live.append(handle)
        if alone_for:
            self._alone[alone_for] = handle

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
            return bool(await self.redis.exists(self.names.lease(name), SHARED_LEASES + name))

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
        await to_the_end(self._close())

    async def _close(self) -> None:
        with suppress(*_UNREACHABLE):
            async with asyncio.timeout(1):
                while not self._outgoing.empty():
                    await self._publish_what_waits(self._outgoing.get_nowait())
        with suppress(*_UNREACHABLE):
            await self.redis.aclose()

    async def run(self) -> None:
        """Hear and send rings and live events, and keep leases, until cancelled."""
        start = self.supervisor.start
        tasks = [
            start("bus_hearing", self._hear),
            start("bus_sending", self._publish),
            start("leases", self.leases.renew),
        ]
        try:
            await asyncio.wait(tasks)
        finally:
            await stop(*tasks)

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

    def _heard(self, channel: str, data: object) -> None:
        try:
            if channel == self.names.rings:
                self._rang(decode_rings(data))
            else:
                self._happened(channel, decode_event(data))
        except Garbage as error:
            self.garbage.found("rings" if channel == self.names.rings else "live", str(error))

    def _rang(self, rings: Rings) -> None:
        if rings.origin != self._name:
            for topic in rings.topics:
                self._bells.strike(topic)

    def _happened(self, channel: str, event: LiveEvent) -> None:
        if self.names.live(event.address.connector) != channel:
            raise Garbage("of another connector")
        for handle in list(self._live):
            self._hand(handle, event)

    def _tell(self, connector: str, event: LiveEvent) -> None:
        if own := self._alone.get(connector):  # it may have gone meanwhile
            self._hand(own, event)

    def _hand(self, handle: _Handle, event: LiveEvent) -> None:
        try:
            handle(event)
        except Exception as error:  # noqa: BLE001  # a defect in showing what passes must not silence the bells
            self.supervisor.broke("live", error)

    async def _try_revive(self) -> None:
        if self._revive:
            try:
                await self._revive()
            except Exception as error:  # noqa: BLE001  # whatever keeps Redis from starting is said, and tried again
                log.warning("redis_not_revived", reason=str(error))

    def _send(self, what: Topic | tuple[str, LiveEvent]) -> None:
        with suppress(asyncio.QueueFull):
            self._outgoing.put_nowait(what)

    async def _publish(self) -> None:
        """In order; what cannot be sent now is lost."""
        while True:
            first = await self._outgoing.get()
            with suppress(*_UNREACHABLE):
                async with asyncio.timeout(ANSWER_SECONDS):  # one answer that never comes would silence all bells
                    await self._publish_what_waits(first)

    async def _publish_what_waits(self, first: Topic | tuple[str, LiveEvent]) -> None:
        """All of it in one go, and the rings as one message."""
        sent = [first]
        while not self._outgoing.empty() and len(sent) < _MOST_AT_ONCE:
            sent.append(self._outgoing.get_nowait())
        rung = dict.fromkeys(what for what in sent if isinstance(what, str))
        told = [(what[0], encode_event(what[1])) for what in sent if not isinstance(what, str)]
        if rung:
            told.insert(0, (self.names.rings, encode_rings(Rings(self._name, tuple(rung)))))
        if len(told) == 1:
            await self.redis.publish(*told[0])
            return
        async with self.redis.pipeline(transaction=False) as pipe:
            for channel, data in told:
                pipe.publish(channel, data)
            await pipe.execute()
