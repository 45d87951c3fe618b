"""What people say, as entries of a history: their words, named where several talk, and their files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.compaction import Plan
from bot.files import blocks_of, unreadable, unseen
from bot.history import Entry, EntryKind
from bot.messages import Block, text_block
from bot.store.inbox import Waiting

WITHOUT_WORDS = "(sent without words)"
_FILE_SECONDS = 30.0
_MEDIA = frozenset({"image", "document"})


@dataclass(frozen=True)
class Shown:
    """The entries of one message, and sentences for people about files that the model cannot see."""

    entries: tuple[tuple[EntryKind, tuple[Block, ...]], ...]
    problems: tuple[str, ...]


async def entries_of(folder: Path, message: Waiting, *, room: int) -> Shown:
    """Words first, then each file. ``room``: characters that are shown of a text file."""
    words = message.text if message.text.strip() else WITHOUT_WORDS
    speaker = f"{message.speaker}: " if message.speaker else ""
    entries: list[tuple[EntryKind, tuple[Block, ...]]] = [(EntryKind.SAID, (text_block(f"{speaker}{words}"),))]
    problems: list[str] = []
    for file in message.files:
        try:
            async with asyncio.timeout(_FILE_SECONDS):
                blocks, problem = await asyncio.to_thread(blocks_of, folder, file, room=room)
        except TimeoutError:  # a file that was made to be read for ever
            blocks, problem = unreadable(file)
        entries.append((EntryKind.FILE, tuple(blocks)))
        if problem:
            problems.append(problem)
    return Shown(tuple(entries), tuple(problems))


def without_media(view: Sequence[Entry], turn: str) -> Plan | None:
    """A layer that shows the model only the names of pictures and documents: of this turn where it has any, else of
    all turns. None when there are none."""
    media = [entry for entry in view if any(block.get("type") in _MEDIA for block in entry.blocks)]
    gone = [entry for entry in media if entry.turn == turn] or media
    if not gone:
        return None
    return Plan(
        strategy="unseen",
        upto=max(entry.seq for entry in view),
        floor=min(entry.seq for entry in view),
        replaced={
            entry.seq: tuple(text_block(unseen(b)) if b.get("type") in _MEDIA else b for b in entry.blocks)
            for entry in gone
        },
        kind="unseen",
    )
