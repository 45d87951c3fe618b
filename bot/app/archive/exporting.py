"""A conversation as one file: a zip archive with its rows as JSON lines, its files, and a manifest. docs/export.md
describes it.

::

    manifest.json            what this is, and how much of it there is
    tables/<table>.jsonl     one row a line
    files/<path>             the folder of the conversation
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from bot.errors import PalimpsestError
from bot.files.contents import Contents, contents
from bot.messages import AgentId
from bot.store import Database, Tx
from bot.store.archive import exporting
from bot.store.archive.exporting import TABLES
from bot.store.operators import conversations, state

FORMAT = "palimpsest-conversation"
VERSION = 1
MANIFEST = "manifest.json"
HEADS = "heads"
_MODE = (stat.S_IFREG | 0o600) << 16
_OLDEST = (1980, 1, 1, 0, 0, 0)
"""As far back as the times of an archive go."""
_FILE_CHUNK = 1 << 20


class NoConversation(PalimpsestError):
    """There is none of this name; the text is one sentence that says what to do."""


@dataclass(frozen=True)
class Exported:
    """What is in an archive: rows by table, files and their bytes, and what could not be taken along, with why."""

    agent_id: AgentId
    rows: Mapping[str, int]
    files: int
    bytes: int
    left_out: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """For a JSON document."""
        return {
            "agent": self.agent_id,
            "tables": dict(self.rows),
            "files": {"count": self.files, "bytes": self.bytes},
            "left_out": dict(self.left_out),
        }


async def export(database: Database, folder: Path, agent_id: AgentId, target: IO[bytes]) -> Exported:
    """Write a conversation to ``target``, which need not be seekable: as it is at one moment, also while it goes on.

    Rows are read some at a time. Raises NoConversation, StoreUnavailable, OSError.
    """
    revision = (await state.state_of(database)).revision
    async with database.read(long=True) as tx:
        one = await conversations.get(tx, agent_id)
        if one is None:
            raise NoConversation(
                f"There is no conversation {agent_id}. `palimpsest agents list` shows which there are."
            )
        there = contents(folder)  # in the same moment: what the rows name is there, and hardly more
        with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=6) as archive:
            rows = await _write_tables(archive, tx, agent_id)
            gone = _write_files(archive, folder, there)
            left_out = {**there.left_out, **dict.fromkeys(gone, "it was gone while it was read")}
            files = {name: size for name, size in there.files.items() if name not in gone}
            done = Exported(agent_id, rows, len(files), sum(files.values()), left_out)
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "schema": revision,
                "agent": agent_id,
                "address": {"connector": one.address.connector, "chat": one.address.chat, "thread": one.address.thread},
                "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
                **{name: value for name, value in done.as_json().items() if name != "agent"},
                "links": dict(there.links),
            }
            archive.writestr(_entry(MANIFEST), json.dumps(manifest, ensure_ascii=False, indent=2))
    return done


async def _write_tables(archive: ZipFile, tx: Tx, agent_id: AgentId) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in TABLES:
        counts[name] = await _write_rows(archive, name, exporting.rows(tx, TABLES[name], agent_id))
    counts[HEADS] = await _write_rows(archive, HEADS, _once(await exporting.heads_of(tx, agent_id)))
    return counts


async def _write_rows(archive: ZipFile, name: str, batches: AsyncIterator[Sequence[exporting.Row]]) -> int:
    count = 0
    with archive.open(_entry(f"tables/{name}.jsonl"), "w", force_zip64=True) as out:
        async for batch in batches:
            count += len(batch)
            out.write(b"".join(map(_line, batch)))
    return count


async def _once(batch: Sequence[exporting.Row]) -> AsyncIterator[Sequence[exporting.Row]]:
    yield batch


def _line(row: exporting.Row) -> bytes:
    plain = {
        name: base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value
        for name, value in row.items()
    }
    try:
        return f"{json.dumps(plain, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # half a character, which only an escape can say
        return f"{json.dumps(plain)}\n".encode()


def _write_files(archive: ZipFile, folder: Path, there: Contents) -> list[str]:
    """Returns those that were gone, or no files any more, when they were to be read."""
    gone: list[str] = []
    for name in there.files:
        try:
            descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            gone.append(name)
            continue
        with os.fdopen(descriptor, "rb") as file:
            changed = time.gmtime(os.fstat(descriptor).st_mtime)[:6]
            with archive.open(_entry(f"files/{name}", max(_OLDEST, changed)), "w", force_zip64=True) as out:
                shutil.copyfileobj(file, out, _FILE_CHUNK)
    return gone


def _entry(name: str, changed: Sequence[int] | None = None) -> ZipInfo:
    info = ZipInfo(name, tuple(changed or time.gmtime()[:6]))  # type: ignore[arg-type]  # six whole numbers
    info.compress_type, info.external_attr = ZIP_DEFLATED, _MODE
    return info
