"""What goes on in the background and breaks is begun again, and nobody is left to guess."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from bot.bus.bus import Bus
from bot.bus.leases import Lease
from bot.errors import NotReady
from bot.runtime.shutdown import Shutdown
from bot.runtime.supervisor import Supervisor, UnexpectedEnd, until_told
from bot.runtime.tasks import stop, told_of
from bot.runtime.telemetry import telemetry

PATIENCE = 10.0


class Work:
    """Breaks so many times, with these, and then goes on."""

    def __init__(self, *ends: Exception | None) -> None:
        self._ends = list(ends)
        self.goes_on = asyncio.Event()

    async def __call__(self) -> None:
        if not self._ends:
            self.goes_on.set()
            await asyncio.Event().wait()
        if error := self._ends.pop(0):
            raise error


async def test_what_broke_once_is_begun_again_and_is_only_a_note() -> None:
    supervisor, work = Supervisor(), Work(ValueError("no"))
    assert await supervisor.check() is None
    with capture_logs() as logs:
        task = supervisor.start("renewing", work)
        async with asyncio.timeout(PATIENCE):
            await work.goes_on.wait()
    assert [(line["event"], line["what"], line["log_level"]) for line in logs] == [
        ("background_crashed", "renewing", "error")
    ]
    assert await supervisor.check() == "renewing broke and was begun again: ValueError"
    await stop(task)


async def test_what_ends_by_itself_again_and_again_makes_the_process_unready() -> None:
    supervisor, work = Supervisor(), Work(None, None)
    task = supervisor.start("renewing", work)
    async with asyncio.timeout(PATIENCE):
        await work.goes_on.wait()
    with pytest.raises(NotReady, match="renewing breaks again and again: UnexpectedEnd"):
        await supervisor.check()
    await stop(task)


async def test_a_task_that_nobody_waits_for_says_that_it_broke_and_is_counted() -> None:
    def crashes() -> float:
        return (
            telemetry.metrics.registry.get_sample_value("palimpsest_background_crashes_total", {"what": "looking"}) or 0
        )

    before = crashes()
    with capture_logs() as logs:
        task = told_of(asyncio.create_task(Work(ValueError("no"))()), "looking")
        await asyncio.wait({task})
        await asyncio.sleep(0)
    assert [(line["event"], line["what"]) for line in logs] == [("background_crashed", "looking")]
    assert crashes() == before + 1


@pytest.fixture
async def bus(external_valkey: str) -> AsyncIterator[Bus]:
    bus = Bus(external_valkey, "test")
    yield bus
    await bus.close()


async def test_a_lease_that_nobody_renews_is_lost(bus: Bus) -> None:
    lease = bus.lease("agent:room-1", 0.2)
    assert await lease.take()
    async with asyncio.timeout(PATIENCE):
        await lease.keep()  # nobody runs the bus
    assert lease.lost.is_set()


async def test_renewal_that_breaks_is_begun_again_before_a_lease_falls(bus: Bus) -> None:
    running = asyncio.create_task(bus.run())
    lease = bus.lease("agent:room-1", 3.0)
    assert await lease.take()
    lease.on_again = _breaks  # a defect in whoever is told
    keeping = asyncio.create_task(lease.keep())
    await bus.redis.delete(bus.names.lease("agent:room-1"))
    async with asyncio.timeout(PATIENCE):
        while await bus.supervisor.check() is None:  # noqa: ASYNC110  # a crash rings no bell
            await asyncio.sleep(0.02)
    lease.on_again = lambda: None
    before = lease.renewed
    async with asyncio.timeout(PATIENCE):
        while lease.renewed == before:  # noqa: ASYNC110  # neither does this
            await asyncio.sleep(0.02)
    assert await _is_ours(bus, lease)
    assert not keeping.done()
    await stop(keeping, running)


async def _is_ours(bus: Bus, lease: Lease) -> bool:
    return bool(await bus.redis.get(bus.names.lease(lease.name)) == lease.token)


def _breaks() -> None:
    raise RuntimeError("a defect")


async def test_a_role_that_ends_by_itself_ends_the_process() -> None:
    shutdown = Shutdown()
    with pytest.raises(UnexpectedEnd):
        await until_told(asyncio.sleep(0), shutdown)
    shutdown.begin()
    await until_told(asyncio.sleep(0), shutdown)
