"""What must not be left when everything has settled: signs of life, keys, errors in logs, processes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from arq.constants import in_progress_key_prefix
from redis.asyncio import Redis

from bot.bus.live_events import RENEW_SECONDS
from tests.chaos.processes import processes_of

if TYPE_CHECKING:
    from tests.chaos.harness import House

_PATIENCE = 40.0
_ERROR = re.compile(r'"level": ?"(error|critical)"|^Traceback|^Task exception was never|was never awaited')


async def typing_signs(house: House) -> AsyncIterator[str]:
    """Nobody is at work any more, so nobody shows that they type."""
    began = changed = time.monotonic()
    count = -1
    while time.monotonic() - changed < RENEW_SECONDS + 1:
        if time.monotonic() - began > _PATIENCE:
            yield f"typing is shown for ever: {house.telegram.chats.actions[-3:]}"
            return
        if count != (count := _signs(house)):
            changed = time.monotonic()
        await asyncio.sleep(0.1)


def _signs(house: House) -> int:
    """How often anything was shown so far."""
    signs = len(house.telegram.chats.actions)
    if house.discord:
        there = [int(chat.chat) for chat in house.people.chats if chat.connector == "discord"]
        signs += sum(len(house.discord.typing(channel)) for channel in there)
    return signs


async def keys(house: House) -> AsyncIterator[str]:
    """What is in Redis goes away by itself."""
    began = time.monotonic()
    async with Redis(unix_socket_path=house.valkey.socket, db=house.redis_database, decode_responses=True) as redis:
        while lasting := [key async for key in redis.scan_iter() if await _lasts(redis, key)]:
            if time.monotonic() - began > _PATIENCE:
                break
            await asyncio.sleep(0.1)
    for key in lasting:
        yield f"a key stays in Redis: {key}"


async def _lasts(redis: Redis, key: str) -> bool:
    """A job whose worker was killed stays in the queue until arq's mark that it is in progress has run out; then it is
    begun again, and ends itself."""
    if not key.endswith(":jobs"):
        return bool(await redis.ttl(key) == -1)
    marks = [in_progress_key_prefix + job for job in await redis.zrange(key, 0, -1)]
    return not all([await redis.ttl(mark) > 0 for mark in marks])


def log_errors(house: House) -> list[str]:
    """What the processes call an error."""
    found: list[str] = []
    for file in house.data_dir.glob("*.log"):
        lines = file.read_text(errors="replace").splitlines()
        found += [f"{file.name} says: {line[:3000]}" for line in lines if _ERROR.search(line)]
    return found


def processes(house: House) -> list[str]:
    """To be called when the house has ended."""
    return [f"a process is left: {process.cmdline()}" for process in processes_of(house.data_dir)]
