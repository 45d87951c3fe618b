"""The volume that holds the folders of conversations: with a database that many hosts share, they share it as well.

The gateway puts people's files there, agents read and write them, and workers show them to the model. A host with a
folder of its own would go unnoticed until somebody asks for a file. So the volume has an id, in `agents/.volume`, and
the book knows it: a process that finds another one, or none, does not start.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from sqlalchemy import Connection, inspect, select

from bot.errors import ConfigurationError
from bot.store import Database
from bot.store.schema import volumes
from bot.store.tx import Tx, insert_into

T = TypeVar("T")

NAME = ".volume"
ADOPT = "palimpsest volume adopt"
_AGENTS = "agents"
_NAMED = select(volumes.c.id).where(volumes.c.name == _AGENTS)


async def settle(database: Database, data_dir: Path) -> None:
    """See to it that this DATA_DIR is the book's volume; the first process that ever asks makes it so.

    Raises ConfigurationError with a sentence that says what to do.
    """
    async with database.write() as tx:
        named = await known(tx)
        if named is None:
            ours = await _in_thread(read, data_dir) or uuid4().hex
            named = await _claim(tx, ours)
            if named == ours:
                # Before the commit: whoever starts beside us finds it as soon as the book names it.
                await _in_thread(_write, data_dir, ours)
        found = await _in_thread(read, data_dir)  # only now: whoever started beside us may just have written it
    if reason := strange(named, found):
        raise ConfigurationError(
            f"DATA_DIR={data_dir} {reason}. Mount the volume there that all processes share; if this one is to be it "
            f"from now on, run `{ADOPT}` here."
        )


async def adopt(database: Database, data_dir: Path) -> str:
    """From now on this DATA_DIR is the book's volume; returns its id. Processes that run are not asked again."""
    volume = await _in_thread(read, data_dir) or uuid4().hex
    await _in_thread(_write, data_dir, volume)
    async with database.write() as tx:
        await _change(tx, volume)
    return volume


def strange(known: str, found: str | None) -> str:
    """Why this is not the volume that the book knows; empty where it is."""
    if found == known:
        return ""
    if found is None:
        return f"is not the volume of this database: there is no agents/{NAME} in it"
    return f"is the volume of another database: its agents/{NAME} has another id than this database knows"


async def known(tx: Tx) -> str | None:
    """The id of the volume that the book names; None where it names none yet."""
    return (await tx.execute(_NAMED)).scalar_one_or_none()


async def look(tx: Tx) -> str | None:
    """Likewise, in a book whose tables may be missing or older."""
    return await known(tx) if await tx.run_sync(_has_table) else None


def read(data_dir: Path) -> str | None:
    """The id of the volume; None where it has none. Raises OSError."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return (data_dir / "agents" / NAME).read_text(encoding="ascii", errors="replace").strip() or None
    return None


def _write(data_dir: Path, volume: str) -> None:
    folder = data_dir / "agents"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = folder / f"{NAME}.{uuid4().hex}"
    with unfinished.open("w", encoding="ascii") as file:
        file.write(f"{volume}\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / NAME)


async def _in_thread(work: Callable[..., T], data_dir: Path, *more: str) -> T:
    """Disks may be slow, and shared ones may be away."""
    try:
        return await asyncio.to_thread(work, data_dir, *more)
    except OSError as error:
        raise ConfigurationError(f"DATA_DIR={data_dir} cannot be used: {error.strerror or error}.") from error


async def _claim(tx: Tx, volume: str) -> str:
    """Name this one if none is named yet; returns the one that is. Whoever does so at the same moment waits for us."""
    await tx.execute(insert_into(tx, volumes).values(name=_AGENTS, id=volume).on_conflict_do_nothing())
    return str((await tx.execute(_NAMED)).scalar_one())


async def _change(tx: Tx, volume: str) -> None:
    """From now on it is this one."""
    await tx.execute(
        insert_into(tx, volumes)
        .values(name=_AGENTS, id=volume)
        .on_conflict_do_update(index_elements=["name"], set_={"id": volume})
    )


def _has_table(connection: Connection) -> bool:
    return inspect(connection).has_table(volumes.name)
