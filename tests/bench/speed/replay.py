"""Whether anything grows that should not: many turns as fast as they go, and what the program holds after each part.

The talk goes over `CHATS` conversations with a context so small that they are compacted again and again. After each
part of the turns everybody is left alone until all conversations have been put aside; then it is counted: resident
memory, the pieces of it that objects take, open files, tasks, keys in Redis, and the rows of each table but those that
are the history itself. The queues are told to forget what was settled seconds ago, which they otherwise do after days.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis
from sqlalchemy import func, select

from bot.store import Database
from bot.store.schema import metadata
from tests.bench.speed.capacity import keep_busy_for
from tests.bench.speed.figures import Figure
from tests.bench.speed.load import FIRST_CHAT
from tests.bench.speed.program import HOLDS
from tests.bench.speed.rig import Rig

CHATS = 200
PARTS = 11
WARM = 3
"""After so many of them it is warm, and what comes later is compared with that: everything that is loaded on demand has
been, what is remembered of words (bot/store/search/words.py) is full, which takes 10,000 turns, and pools have about as
many connections as this load ever needs at once."""
COMMAND = (sys.executable, "-m", "tests.bench.speed.program")
ENVIRONMENT = {
    "IDLE_SECONDS": "2",
    "CLEAN_SECONDS": "4",
    "RETENTION__SETTLED_DAYS": "0.00005",
    "AGENTS__EMERGENCY_CONTEXT_LIMIT": "3000",
}
_REST_SECONDS = 25.0
"""Agents and chats' deliveries look every 5 s whether they are idle, the queues are cleaned, and leases run out."""
HISTORY = frozenset({"entries", "layers", "turns", "compactions", "heads", "vectors", "agents", "indexed_agents"})
"""What was said and done: one row or more for each turn, for ever. The index of words is beside these tables."""
_MORE_MEGABYTES = 12.0
_MORE_BLOCKS = 10_000
"""About a megabyte. The allocator of the system rounds more than this up."""
_MORE_ROWS = CHATS
"""A newest row of each conversation may stay."""
_MORE_FILES = 16
"""Pools hold what was needed at once so far, which a later part may exceed by a few; a leak of one connection in 2,000
turns is more."""


@dataclass(frozen=True)
class Held:
    """What there was after so many turns."""

    turns: int
    seconds: float
    """Since the beginning."""
    megabytes: float
    """Resident."""
    blocks: int
    """What Python's allocator has given to objects that live (:func:`sys.getallocatedblocks`)."""
    files: int
    tasks: Mapping[str, int]
    keys: Sequence[str]
    rows: Mapping[str, int]


async def measure(rig: Rig, case: str, *, turns: int) -> tuple[list[Figure], list[str]]:
    """Figures of each part, and what grew, as sentences. A rig of COMMAND and ENVIRONMENT."""
    chats = range(FIRST_CHAT, FIRST_CHAT + CHATS)
    begin = time.monotonic()
    seen: list[Held] = []
    for part in range(1, PARTS + 1):
        await keep_busy_for(rig, chats, turns=turns // PARTS)
        await asyncio.sleep(_REST_SECONDS)
        seen.append(await _held(rig, part * (turns // PARTS), time.monotonic() - begin))
        sys.stdout.write(f"{seen[-1]}\n")
        sys.stdout.flush()
    found = [figure for held in seen for figure in _figures(case, held)]
    return found, list(grown(seen[WARM - 1], seen[-1]))


def grown(first: Held, last: Held) -> list[str]:
    """What grew between two counts, beyond what chance does."""
    found = []
    if last.megabytes > first.megabytes + _MORE_MEGABYTES:
        found.append(f"memory grew from {first.megabytes:.0f} to {last.megabytes:.0f} MB")
    if last.blocks > first.blocks + _MORE_BLOCKS:
        found.append(f"objects take {last.blocks:,} pieces of memory and not {first.blocks:,}")
    if last.files > first.files + _MORE_FILES:
        found.append(f"open files grew from {first.files} to {last.files}")
    more_tasks = Counter(last.tasks) - Counter(first.tasks)
    found += [f"{count} more tasks of {name}" for name, count in more_tasks.items()]
    found += [f"a key stays in Redis: {key}" for key in last.keys]
    for table, count in last.rows.items():
        if count > first.rows.get(table, 0) + _MORE_ROWS:
            found.append(f"{table} grew from {first.rows.get(table, 0):,} to {count:,} rows")
    return found


async def _held(rig: Rig, turns: int, seconds: float) -> Held:
    process = rig.programs["all"]
    path = rig.folder / HOLDS
    path.unlink(missing_ok=True)
    process.send_signal(signal.SIGUSR1)
    while not path.exists() or not path.read_text():  # noqa: ASYNC110  # nobody tells when a file is there
        await asyncio.sleep(0.05)
    holds = json.loads(path.read_text())
    return Held(
        turns=turns,
        seconds=seconds,
        megabytes=rig.resident(),
        blocks=holds["blocks"],
        files=holds["files"],
        tasks=Counter(holds["tasks"]),
        keys=await _keys(rig),
        rows=await _rows(rig),
    )


async def _keys(rig: Rig) -> list[str]:
    """Those that nothing takes away, and how many others."""
    async with Redis.from_url(rig.redis_url, decode_responses=True) as redis:
        return [key async for key in redis.scan_iter() if await redis.ttl(key) == -1]


async def _rows(rig: Rig) -> dict[str, int]:
    url = rig.environment.get("DATABASE_URL")
    database = Database(url) if url else Database.in_folder(rig.folder / "data")
    tables = [table for table in metadata.sorted_tables if table.name not in HISTORY]
    try:
        async with database.read(long=True) as tx:
            return {
                table.name: int((await tx.execute(select(func.count()).select_from(table))).scalar_one())
                for table in tables
            }
    finally:
        await database.close()


def _figures(case: str, held: Held) -> list[Figure]:
    after = f"{case}, after {held.turns:,} turns"
    return [
        Figure("replay", after, "resident", held.megabytes, "MB"),
        Figure("replay", after, "pieces of memory of objects", held.blocks, ""),
        Figure("replay", after, "open files", held.files, ""),
        Figure("replay", after, "tasks", sum(held.tasks.values()), ""),
        Figure("replay", after, "lasting keys in Redis", len(held.keys), ""),
        Figure("replay", after, "rows beside the history", sum(held.rows.values()), ""),
    ]
