"""The files that lie in a conversation's folder."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from bot.files.blocks import FOLDER, folder_of
from bot.messages import AgentId

_MOST = 100


@dataclass(frozen=True)
class FileThere:
    """One file: its size in bytes, and when it was written, in seconds since 1970."""

    name: str
    size: int
    at: float


async def files_in(data_dir: Path, agent_id: AgentId) -> list[FileThere]:
    """The newest of them first. ``agent_id`` is one of the book's, so it leads nowhere else."""
    return await asyncio.to_thread(_files_in, folder_of(data_dir, agent_id) / FOLDER)


def _files_in(folder: Path) -> list[FileThere]:
    found = list[FileThere]()
    try:
        with os.scandir(folder) as there:
            for one in there:
                if one.is_file(follow_symlinks=False):
                    stat = one.stat(follow_symlinks=False)
                    found.append(FileThere(one.name, stat.st_size, stat.st_mtime))
    except OSError:  # it has none, or they lie on a volume that is away: the page says what it knows
        return []
    return sorted(found, key=lambda file: file.at, reverse=True)[:_MOST]
