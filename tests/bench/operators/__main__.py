"""`python -m tests.bench.operators FOLDER`: fill a book there if there is none, and time the command line on it."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from bot.store import Database
from tests.bench.operators.book import Size, fill

COMMANDS = (
    "traces stats --json",
    "traces stats --by day --by strategy --json",
    "traces list --json",
    "agents list --order fill --json",
    "agents show telegram-1000 --json",
    "agents export telegram-1000 --out {folder}/export.zip",
    "agents forget telegram-1000 --yes",
    "agents import {folder}/export.zip",
)


async def _filled(data: Path) -> None:
    database = Database.in_folder(data)
    await database.open()
    await fill(database, Size(), now=time.time())
    await database.close()


def main() -> None:
    """Print seconds of the whole process and the most memory that any took."""
    folder = Path(sys.argv[1])
    if not (folder / "data" / "palimpsest.db").exists():
        asyncio.run(_filled(folder / "data"))
    (folder / "export.zip").unlink(missing_ok=True)
    environment = {**os.environ, "DATA_DIR": str(folder / "data")}
    for command in COMMANDS:
        words = [sys.executable, "-m", "bot.app.cli.main", *command.format(folder=folder).split()]
        began, cpu = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime
        took = time.perf_counter() - began
        sys.stdout.write(
            f"{took:6.2f} s ({seconds:5.2f} s of a processor)  {used.ru_maxrss / 1024:5.0f} MB  {command}\n"
        )


if __name__ == "__main__":
    main()
