"""What one turn asks of the stores: transactions and statements of PostgreSQL, commands of Valkey.

Counted by the stores themselves, over `ROUNDS` turns of each of `CHATS` conversations that are in memory, less what
happens in as many seconds when nobody writes. That is told beside it: agents in memory keep their leases. SQLite counts
nothing, so with it there are Valkey's commands alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from redis.asyncio import Redis
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.bench.speed.figures import Figure
from tests.bench.speed.load import FIRST_CHAT, once_each
from tests.bench.speed.rig import Rig

CHATS = 20
ROUNDS = 5
_RATE = 10.0
_LEAST = 0.05
"""What is less is chance, or the start."""


async def measure(rig: Rig, case: str) -> list[Figure]:
    """Warm up, then count."""
    chats = range(FIRST_CHAT, FIRST_CHAT + CHATS)
    await once_each(rig, chats, rate=_RATE)
    begin, before = time.monotonic(), await _counted(rig)
    await once_each(rig, [*chats] * ROUNDS, rate=_RATE)
    took, during = time.monotonic() - begin, await _counted(rig)
    await asyncio.sleep(took)
    after = await _counted(rig)
    turns = CHATS * ROUNDS
    a_turn = {name: (during[name] - before[name] - (after[name] - during[name])) / turns for name in after}
    idle = {name: (after[name] - during[name]) / took for name in after}
    where = f"{case}, nobody writes, {CHATS} agents in memory"
    found = [Figure("counts", case, name, count, "a turn") for name, count in sorted(a_turn.items())]
    found += [Figure("counts", where, name, count, "a second") for name, count in sorted(idle.items())]
    return [figure for figure in found if figure.value >= _LEAST]


async def _counted(rig: Rig) -> Counter[str]:
    """So far, by name."""
    counted = Counter[str]()
    async with Redis.from_url(rig.redis_url) as redis:
        for name, stats in (await redis.info("commandstats")).items():
            counted[f"valkey {name.removeprefix('cmdstat_')}"] = stats["calls"]
    counted["valkey commands"] = sum(counted.values())
    if url := rig.environment.get("DATABASE_URL"):
        counted.update(await _of_postgres(url))
    return counted


async def _of_postgres(url: str) -> Counter[str]:
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
    try:
        async with engine.connect() as connection:
            rows = await connection.execute(
                text("SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = current_database()")
            )
            committed, rolled_back = rows.one()
            statements = (await connection.execute(text("SELECT sum(calls) FROM pg_stat_statements"))).scalar_one()
        return Counter(
            {
                "postgres commits": committed,
                "postgres rollbacks": rolled_back,
                "postgres statements": int(statements or 0),
            }
        )
    finally:
        await engine.dispose()
