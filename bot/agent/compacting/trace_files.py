"""The daily files as the book has them: which are missing or differ, and writing those anew, also while agents append.

Whoever writes a file holds its lock and then asks the book, so what an agent puts into the book meanwhile is either in
the answer, or appended afterwards.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.agent.compacting import daily_file
from bot.files.blocks import folder_of
from bot.messages import AgentId
from bot.store import Database
from bot.store.operators import traces
from bot.store.operators.traces import Day

NAME = re.compile(r"compaction_(\d{8})\.md(?:\.gz)?")

State = Literal["missing", "differs", "left over"]


@dataclass(frozen=True)
class Difference:
    """A day's file that is not as the book has it. ``left over``: the book has nothing of that day."""

    day: Day
    path: Path
    state: State


async def differences(database: Database, data_dir: Path, days: Sequence[Day]) -> list[Difference]:
    """Those of these days whose files are not as the book has them. Raises StoreUnavailable, OSError."""
    found: list[Difference] = []
    for day in days:
        path = path_of(data_dir, day)
        wanted = await wanted_text(database, day)
        there = await asyncio.to_thread(daily_file.read, path)
        if there == (wanted or None):
            continue
        state: State = "missing" if there is None else "differs" if wanted else "left over"
        found.append(Difference(day, path, state))
    return found


async def rebuild(database: Database, data_dir: Path, day: Day) -> bool:
    """Write a day's file as the book has it, or take it away where the book has nothing; whether it was otherwise.

    It has a thread of its own: in all that others share, somebody may wait for the lock that it holds. Raises
    StoreUnavailable, OSError.
    """
    path, loop = path_of(data_dir, day), asyncio.get_running_loop()
    opened, own = daily_file.opened(path), ThreadPoolExecutor(1, thread_name_prefix="rebuild")
    try:
        await loop.run_in_executor(own, opened.__enter__)
        try:
            return await loop.run_in_executor(own, _put, path, await _text(database, day, long=False))
        finally:
            opened.__exit__(None, None, None)
    finally:
        own.shutdown(wait=False)


def put(path: Path, wanted: str) -> bool:
    """This stands in a daily file from now on; whether it was otherwise. Raises OSError."""
    with daily_file.opened(path):
        return _put(path, wanted)


def _put(path: Path, wanted: str) -> bool:
    there = daily_file.read(path)
    if there != wanted or not wanted:
        daily_file.put(path, wanted)
    return there != wanted


async def wanted_text(database: Database, day: Day) -> str:
    """What the book has of that day."""
    return await _text(database, day, long=True)


async def _text(database: Database, day: Day, *, long: bool) -> str:
    async with database.read(long=long) as tx:
        return await traces.file_of(tx, day)


def path_of(data_dir: Path, day: Day) -> Path:
    """Where a day's file is."""
    return daily_file.path_of(folder_of(data_dir, day.agent_id), day.day)


def days_on_disk(data_dir: Path) -> list[Day]:
    """All daily files that there are, by agent and day."""
    found: list[Day] = []
    for folder in sorted((data_dir / "agents").glob("[!.]*/")):
        names = (NAME.fullmatch(path.name) for path in folder.glob("compaction_*.md*"))
        found += [Day(AgentId(folder.name), name) for name in sorted({name[1] for name in names if name})]
    return found
