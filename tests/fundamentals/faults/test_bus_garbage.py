"""Whatever stands on a channel or under a key of Redis: nobody falls silent, it is counted, and said once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from arq.constants import in_progress_key_prefix, job_key_prefix, retry_key_prefix
from redis.asyncio import Redis
from structlog.testing import capture_logs

from bot.app.health import Health
from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.events import MOST_BYTES, Written
from bot.bus.jobs import new_job_id, pack
from bot.messages import Address
from tests.conftest import OpenHouse
from tests.house import PATIENCE, House, Room
from tests.leaks import lasting_keys

HERE = {"connector": "room", "chat": "1", "thread": ""}
FACTS = {"total": 1, "limit": 2, "share": 0.5, "level": "ok"}


def event(**changes: Any) -> bytes:
    """A live event of the right shape but for this."""
    return json.dumps({"kind": "text", "address": HERE, "slot": 1, "text": "so far", **changes}).encode()


GARBAGE: dict[str, bytes] = {
    "a word": b"hello",
    "nothing": b"",
    "no UTF-8": b"\xff\xfe\x00garbage \x80",
    "zero bytes": b"\0" * 40,
    "a number": b"1",
    "null": b"null",
    "a list": b'[{"kind": "text"}]',
    "an empty object": b"{}",
    "deep": b"[" * 50_000,
    "long": b'"' + b"x" * (MOST_BYTES + 1) + b'"',
    "broken JSON": b'{"kind": "text", "address"',
    "without a kind": json.dumps({"address": HERE, "slot": 1, "text": "so far"}).encode(),
    "an unknown kind": event(kind="dance"),
    "a kind that is a list": event(kind=["text"]),
    "an address that is a word": event(address="room-1"),
    "an address without a chat": event(address={"connector": "room"}),
    "a chat that is a number": event(address={**HERE, "chat": 1}),
    "a chat with a zero byte": event(address={**HERE, "chat": "a\0b"}),
    "a chat without end": event(address={**HERE, "chat": "x" * 10_000}),
    "another connector": event(address={**HERE, "connector": "elsewhere"}),
    "a slot that is a word": event(slot="1"),
    "a slot below one": event(slot=-1),
    "a slot beyond every number": event(slot=10**30),
    "a text that is a list": event(text=["so far"]),
    "half a character": event().replace(b"so far", rb"\ud83d"),
    "typing that is a word": event(kind="typing", on="yes"),
    "facts that are a list": event(kind="status", facts=[1]),
    "facts of wrong types": event(kind="status", facts={**FACTS, "total": "many"}),
    "a level that nobody knows": event(kind="status", facts={**FACTS, "level": "purple"}),
    "a mark that is a number": event(kind="react", ref=1, emoji=2),
    "a ring of nothing": b"abc ",
    "rings of garbage": b"abc \0\n\n inbox \nno topic\n" + b"x" * 1_000 + b":",
}
ALSO_RINGS = ("a ring of nothing", "rings of garbage")


@pytest.mark.parametrize("channel", ["rings", "live"])
async def test_garbage_on_a_channel_silences_nobody_and_is_said_once(
    house: OpenHouse, room: Room, channel: str
) -> None:
    async with house() as running:
        bus, health = running.resources.bus, Health(running.resources, ["gateway"])
        names = {"rings": bus.names.rings, "live": bus.names.live("room")}
        await room.asks("hello")
        with capture_logs() as logs:
            async with _from_outside(bus) as redis:
                for data in GARBAGE.values():
                    await redis.publish(names[channel], data)
                await _heard(running, redis)
        await room.asks("are you there?")
        assert [line["place"] for line in logs if line["event"] == "redis_garbage"] == [channel]
        assert not [line for line in logs if line["log_level"] == "error"]
        assert await health.checks["background"]() is None
        assert await bus.is_held("connector:room")


@pytest.mark.parametrize("name", GARBAGE)
async def test_each_kind_of_garbage_is_known_as_such(name: str) -> None:
    """So that the test above cannot pass because something went before it was looked at."""
    found: list[str] = []
    bus = Bus("redis://127.0.0.1:1", "test", listen=("room",))
    bus.garbage.found = lambda place, reason, count=1: found.append(reason)  # type: ignore[method-assign]
    if name not in ALSO_RINGS:
        bus._heard(bus.names.live("room"), GARBAGE[name])
        assert len(found) == 1, name
    if b":" not in GARBAGE[name] or name in ALSO_RINGS:
        bus._heard(bus.names.rings, GARBAGE[name])
        assert len(found) == (1 if name in ALSO_RINGS else 2), name
    await bus.close()


async def test_a_newer_process_may_say_more_than_this_one_knows(external_valkey: str) -> None:
    async with _listening(external_valkey) as (bus, heard), _from_outside(bus) as redis:
        await redis.publish(bus.names.live("room"), event(colour="blue", address={**HERE, "floor": 3}))
        await _until(lambda: heard)
        assert heard == [Written(Address("room", "1"), 1, "so far")]


async def test_a_defect_in_what_shows_an_event_silences_no_bell(external_valkey: str) -> None:
    async with _listening(external_valkey) as (bus, _), _from_outside(bus) as redis, bus.bell(topics.INBOXES) as bell:
        bus.on_live(_breaks)
        with capture_logs() as logs:
            await redis.publish(bus.names.live("room"), event())
            await redis.publish(bus.names.rings, b"abc inbox:room-1")
            async with asyncio.timeout(PATIENCE):
                while "inbox:room-1" not in await bell.wait(PATIENCE):
                    pass
        assert [line["what"] for line in logs if line["event"] == "background_crashed"] == ["live"]
        assert await bus.supervisor.check() == "live broke and was begun again: RuntimeError"


LEASES: dict[str, Callable[[Any, str], Awaitable[Any]]] = {
    "a word for ever": lambda redis, key: redis.set(key, "hello"),
    "bytes for ever": lambda redis, key: redis.set(key, b"\xff\x00"),
    "a list": lambda redis, key: redis.rpush(key, "a", "b"),
    "a hash": lambda redis, key: redis.hset(key, "a", "b"),
    "much": lambda redis, key: redis.set(key, b"x" * 5_000_000),
}


@pytest.mark.parametrize("kind", LEASES)
async def test_what_is_no_lease_keeps_nobody_from_an_agent_or_a_connector(
    house: OpenHouse, room: Room, external_valkey: str, kind: str
) -> None:
    async with house(redis_url=external_valkey) as running:
        await room.asks("hello")
        bus = running.resources.bus
        async with _from_outside(bus) as redis:
            for name in ("agent:room-1", "agent:room-2", "connector:room"):  # of one awake, one to come, the gateway
                await redis.delete(bus.names.lease(name))
                await LEASES[kind](redis, bus.names.lease(name))
        await room.asks("hello again")
        await room.asks("and I?", chat="2")
        async with _from_outside(bus) as redis, asyncio.timeout(PATIENCE):
            while await lasting_keys(redis):  # noqa: ASYNC110  # rings no bell
                await asyncio.sleep(0.05)
            assert await redis.exists(bus.names.lease("connector:room"))


JOB: dict[str, Any] = {"f": "summarize", "a": ["0123456789abcdef0123456789abcdef"], "k": {}, "t": None, "et": 1}


def job(**changes: Any) -> bytes:
    """A job of the right shape but for this."""
    return pack({**JOB, **changes})


JOBS: dict[str, bytes] = {
    "a word": b"hello",
    "no UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "null": b"null",
    "long": b"x" * 2_000_000,
    "a function that nobody knows": job(f="rm"),
    "a function that is a list": job(f=["summarize"]),
    "no run": job(a=[]),
    "a run that is an object": job(a=[{"id": 1}]),
    "more than a run": job(a=["ab", "cd"]),
    "options": job(k={"run_id": "ab"}),
    "tries that are a word": job(t="many"),
    "a time that is a word": job(et="now"),
    "a time beyond every number": job(et=10**30),
}


async def test_garbage_in_the_queue_keeps_no_worker_from_its_jobs(
    house: OpenHouse, room: Room, external_valkey: str
) -> None:
    async with house(redis_url=external_valkey) as running:
        queue = running.resources.bus.names.jobs
        with capture_logs() as logs:
            async with _from_outside(running.resources.bus) as redis:
                await _fill(redis, queue)
                await _compacted(room)
                async with asyncio.timeout(PATIENCE):
                    while await redis.zcard(queue):  # noqa: ASYNC110  # likewise
                        await asyncio.sleep(0.05)
                assert not [key async for key in redis.scan_iter(match="arq:*")]
        assert len([line for line in logs if line["event"] == "redis_garbage"]) == 1
        assert not [line for line in logs if line["log_level"] == "error"]


async def _fill(redis: Any, queue: str) -> None:
    for data in JOBS.values():
        job_id = new_job_id()
        await redis.set(job_key_prefix + job_id, data)
        await redis.zadd(queue, {job_id: 1_000})
    for name, score in ((b"\xff\xfe", 1), (b"no id", 1), (new_job_id().encode(), "-inf")):
        await redis.zadd(queue, {name: score})
    of_a_wrong_kind = new_job_id()
    await redis.rpush(job_key_prefix + of_a_wrong_kind, "a")
    counted_in_words = new_job_id()
    await redis.set(job_key_prefix + counted_in_words, job())
    await redis.set(retry_key_prefix + counted_in_words, "many")
    await redis.zadd(queue, {of_a_wrong_kind: 1_000, counted_in_words: 1_000})
    taken_for_ever = new_job_id()
    await redis.set(job_key_prefix + taken_for_ever, job())
    await redis.set(in_progress_key_prefix + taken_for_ever, "hello")
    await redis.zadd(queue, {taken_for_ever: 1_000})


async def test_a_queue_that_is_none_is_begun_anew(house: OpenHouse, room: Room, external_valkey: str) -> None:
    async with house(redis_url=external_valkey) as running:
        async with _from_outside(running.resources.bus) as redis:
            await redis.delete(running.resources.bus.names.jobs)
            await redis.set(running.resources.bus.names.jobs, "hello")
        await _compacted(room)


async def _compacted(room: Room) -> None:
    for number in range(12):
        await room.asks(f"message {number}")
    await room.commands("/compact")
    await room.until(lambda: "Compacted:" in room.notices()[-1])


def _breaks(_: object) -> None:
    raise RuntimeError("a defect")


def _from_outside(bus: Bus) -> Redis:
    """Somebody else's connection to the same Redis."""
    path = bus.redis.connection_pool.connection_kwargs["path"]
    return Redis(unix_socket_path=path)


async def _heard(running: House, redis: Redis) -> None:
    """Return when what was published before has been heard: in one channel, and of one publisher, order is kept."""
    async with running.resources.bus.bell(topics.SETTLED) as bell:
        await redis.publish(running.resources.bus.names.rings, b"abc settled:now")
        async with asyncio.timeout(PATIENCE):
            while "settled:now" not in await bell.wait(PATIENCE):
                pass


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # what is heard rings no bell
            await asyncio.sleep(0.01)


class _listening:  # noqa: N801
    """A bus that hears, and what it heard."""

    def __init__(self, url: str) -> None:
        self._bus = Bus(url, "test", listen=("room",))

    async def __aenter__(self) -> tuple[Bus, list[object]]:
        heard: list[object] = []
        self._bus.on_live(heard.append)
        self._running = asyncio.create_task(self._bus.run())
        await self._bus.connected()
        return self._bus, heard

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._bus.close()
