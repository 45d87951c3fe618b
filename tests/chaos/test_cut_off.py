"""Crashes at moments that random kills seldom hit, brought about on purpose."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from arq.constants import in_progress_key_prefix
from sqlalchemy import text

from bot.app.embedded.detached import Detached
from bot.app.embedded.valkey import EmbeddedValkey
from bot.app.main import inner_roles
from bot.bus import topics
from bot.bus.bus import Bus
from bot.errors import BusUnavailable
from tests.chaos.processes import eventually
from tests.conftest import OpenHouse
from tests.house import House, Room

pytestmark = pytest.mark.rest


async def test_a_worker_killed_between_taking_a_job_and_its_first_heartbeat_costs_seconds(
    house: OpenHouse, room: Room
) -> None:
    async with house(("gateway", "agents")) as running:
        await compact(room)
        job_id = await job_of_the_run(running)
        redis = running.resources.bus.redis
        await redis.zrem(running.resources.bus.names.jobs, job_id)
        await redis.set(in_progress_key_prefix + job_id, b"1", ex=910)
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            worker = tasks.create_task(inner_roles(running.resources, ("worker",))[0])
            await room.until(lambda: "Compacted:" in room.notices()[-1])
            worker.cancel()
    assert time.monotonic() - began < 15


async def test_a_section_of_the_trace_that_a_crash_cut_off_is_written_after_the_restart(
    house: OpenHouse, room: Room
) -> None:
    async with house() as running:
        await compact(room)
        await room.until(lambda: "Compacted:" in room.notices()[-1])
        folder = running.folder()
        await eventually(lambda: list(folder.glob("compaction_*.md")), 10, lambda: "no trace")
        await running.end()
        for file in folder.glob("compaction_*.md"):
            file.unlink()
        async with running.resources.database.write() as tx:
            await tx.execute(text("UPDATE compactions SET traced = false, trace = NULL"))
    async with house():
        await eventually(lambda: list(folder.glob("compaction_*.md")), 10, lambda: "no trace")


async def test_a_redis_that_falls_silent_holds_nobody_up_for_ever(tmp_path: Path) -> None:
    valkey = EmbeddedValkey(tmp_path)
    bus = Bus(await valkey.start(), "test")
    held, free = bus.lease("held", 60), bus.lease("free", 60)
    assert await held.take()
    pid = Detached(valkey.folder, "valkey").pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(10):
            taken, dropped = await asyncio.gather(free.take(), held.drop(), return_exceptions=True)
    finally:
        os.kill(pid, signal.SIGCONT)
        await bus.close()
        await valkey.stop()
    assert isinstance(taken, BusUnavailable)
    assert dropped is None


async def compact(room: Room) -> None:
    """Say something, and have it compacted."""
    for number in range(12):
        await room.asks(f"message {number}")
    await room.commands("/compact")


async def job_of_the_run(running: House) -> str:
    """The id of the job that was asked to write the summary."""
    bus = running.resources.bus
    async with bus.bell(topics.RUNS) as bell, asyncio.timeout(10):
        while True:
            await bell.wait(0.1)
            async with running.resources.database.read() as tx:
                job_id = (await tx.execute(text("SELECT job_id FROM compactions"))).scalar_one()
            if job_id and await bus.redis.zscore(bus.names.jobs, job_id) is not None:
                return str(job_id)
