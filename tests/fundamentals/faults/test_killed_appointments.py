"""Whatever is killed while appointments are due, each is said once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bot.messages import Address
from bot.store import agents, appointments
from bot.store.appointments import Appointment, State
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

ROOT = Path(__file__).parents[3]
LONG = os.environ.get("LONG") == "1"
COUNT, SECONDS, CHATS = (500, 120.0, 25) if LONG else (60, 1.0, 6)
AFTERWARDS = 10.0
"""Seconds after all was back in which the last of them comes."""


@pytest.mark.rest
@pytest.mark.timeout(600 if LONG else 240)
async def test_each_is_said_once_while_hosts_are_killed_and_redis_is_emptied(
    house: OpenHouse, room: Room, model: MessagesServer, book: dict[str, Any]
) -> None:
    """LONG=1: 500 of them within two minutes."""
    chance = random.Random(int(os.environ.get("SEED", "23")))
    kills = 0
    async with house(("gateway",)) as running:
        hosts = [await _host(running, model, book) for _ in range(2 if LONG else 1)]
        for host in hosts:
            await _works(host)
        begins = await _made(running)
        starting: set[int] = set()
        try:
            # Once at least: on a busy machine it is the end before they are all made.
            while (left := begins + SECONDS - running.resources.database.clock()) > 0 or not kills:
                await asyncio.sleep(min(max(left, 0.0), chance.uniform(0.1, 6.0 if LONG else 0.5)))
                at = chance.randrange(len(hosts))
                hosts[at].kill()
                await hosts[at].wait()
                kills += 1
                if chance.random() < 0.5:
                    await running.resources.bus.redis.flushall()
                hosts[at] = await _host(running, model, book)
                starting.add(at)
            for at in starting:
                await _works(hosts[at])
            back = running.resources.database.clock()
            await room.until(lambda: len(_said(room)) >= COUNT)
            late = running.resources.database.clock() - back
        finally:
            for host in hosts:
                with suppress(ProcessLookupError):
                    host.kill()
                await host.wait()
    said = _said(room)
    sys.stdout.write(f"{len(said)} said, {kills} kills, the last {late:.1f} s after all was back\n")
    assert sorted(said) == sorted(f"⏰ number {number}." for number in range(COUNT))
    assert kills


def _said(room: Room) -> list[str]:
    return [one.text.split(" (due")[0] for chat in room.shown.values() for one in chat.values()]


async def _made(running: House) -> float:
    """Appointments at random moments of the time in which things are killed; returns when that begins."""
    chance, database = random.Random(5), running.resources.database
    begins = database.clock()
    async with database.write() as tx:
        for number in range(COUNT):
            there, at = Address("room", str(number % CHATS)), begins + chance.uniform(0, SECONDS)
            await agents.ensure(tx, there, now=begins)
            one = Appointment(
                number=0,
                connector="room",
                person="ada",
                person_name="",
                kind="say",
                text=f"number {number}.",
                state=State.SET,
                zone="UTC",
                local="2027-01-01T09:00:00",
                at=at,
                due_at=at,
                next_at=at,
                made_at=begins,
                changed_at=begins,
            )
            await appointments.add(tx, there.agent_id, one)
    return begins


async def _host(running: House, model: MessagesServer, book: dict[str, Any]) -> asyncio.subprocess.Process:
    words = [str(running.resources.settings.data_dir), model.url, json.dumps(book)]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fundamentals.faults.killed_host",
        *words,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _works(host: asyncio.subprocess.Process) -> None:
    assert host.stdout
    while line := await host.stdout.readline():
        if b"works" in line:
            return
    raise AssertionError("the host ended")
