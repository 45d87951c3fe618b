"""A backup of everything that must last, made while the program runs, and put back into an empty place.

The rows are of one moment. The files are copied after them, so each file that a row names is there; what belongs to
the moments after it does no harm.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot import __version__
from bot.app.archive import tar_file
from bot.errors import ConfigurationError
from bot.runtime.settings import Settings
from bot.store import Database, Tx
from bot.store.archive import backup

FORMAT = 1
UNFINISHED = ".restoring"
"""Below DATA_DIR/agents, until all of a backup is there."""


@dataclass(frozen=True)
class Extent:
    """What a backup holds. ``made_at`` as in its file; ``left_out``: links, pipes and the like."""

    made_at: str
    conversations: int
    entries: int
    files: int
    bytes: int
    left_out: int = 0


async def make(database: Database, settings: Settings, target: str) -> Extent:
    """Write a backup to this file, or to standard output. Raises ConfigurationError and StoreUnavailable."""
    now = database.clock()
    moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    rows = {"agents": 0, "entries": 0}
    with tar_file.writing(target, now=now) as writer:
        async with database.read(long=True) as tx:
            found = await backup.layout(tx)
            start = {"format": FORMAT, "program": __version__, "made_at": moment, "revision": found.revision}
            writer.add(tar_file.START, json.dumps({**start, "tables": found.tables}).encode())
            for name, columns in found.tables.items():
                number = 0
                async for lines in backup.batches(tx, name, columns):
                    number += 1
                    writer.add(f"tables/{name}/{number:06}.jsonl", tar_file.as_lines(lines))
                    rows[name] = rows.get(name, 0) + len(lines)
        sizes = [writer.add_file(f"agents/{name}", path) for name, path in _files(settings.data_dir / "agents")]
        kept = [size for size in sizes if size is not None]
        writer.add(tar_file.END, json.dumps({"rows": rows, "files": len(kept)}).encode())
    return Extent(moment, rows["agents"], rows["entries"], len(kept), sum(kept), len(sizes) - len(kept))


async def restore(database: Database, settings: Settings, source: str) -> Extent:
    """Put a backup into an empty database and an empty DATA_DIR/agents: all of it, or nothing.

    Raises ConfigurationError with a sentence that says what to do, and StoreUnavailable.
    """
    agents = settings.data_dir / "agents"
    if agents.is_dir() and any(agents.iterdir()):
        raise ConfigurationError(f"{agents} holds something already: move it aside, and try again.")
    unfinished = agents / UNFINISHED
    placed: list[Path] = []
    try:
        with tar_file.reading(source) as members:
            start = _start(next(members, None))
            async with database.filling(start.revision) as tx:
                extent = await _restored(tx, members, start, unfinished)
                _put_in_place(unfinished, agents, placed)
    except BaseException:
        for path in placed:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return extent


@dataclass(frozen=True)
class _Start:
    made_at: str
    revision: str
    tables: Mapping[str, list[str]]


def _start(member: tar_file.Member | None) -> _Start:
    if member is None or member.name != tar_file.START:
        raise ValueError(f"it does not begin with {tar_file.START}")
    found = tar_file.document_of(member)
    if found.get("format") != FORMAT:
        raise ConfigurationError(
            f"This backup has the format {found.get('format')}, and this program knows {FORMAT}: use the program that "
            f"made it (version {found.get('program')}), or a newer one."
        )
    match found:
        case {"made_at": str(made_at), "revision": str(revision), "tables": dict(tables)}:
            return _Start(made_at, revision, tables)
    raise ValueError(f"{tar_file.START} does not say what is in it")


async def _restored(tx: Tx, members: Iterator[tar_file.Member], start: _Start, folder: Path) -> Extent:
    rows = dict.fromkeys(("agents", "entries", *start.tables), 0)
    files = size = 0
    for member in members:
        top, _, rest = member.name.partition("/")
        if top == "tables":
            name = rest.partition("/")[0]
            if name not in start.tables:
                raise ValueError(f"{member.name} is of no table that {tar_file.START} names")
            lines = tar_file.lines_of(member)
            await backup.put(tx, name, start.tables[name], lines)
            rows[name] += len(lines)
        elif top == "agents":
            tar_file.unpack(member, folder)
            files, size = files + 1, size + member.size
        elif member.name == tar_file.END:
            _check_end(tar_file.document_of(member), rows, files)
    await backup.finish(tx, start.tables)
    return Extent(start.made_at, rows["agents"], rows["entries"], files, size)


def _check_end(end: Mapping[str, object], rows: Mapping[str, int], files: int) -> None:
    counted = end.get("rows")
    expected = {name: counted.get(name, 0) for name in rows} if isinstance(counted, dict) else {}
    if expected != dict(rows) or end.get("files") != files:
        raise ValueError("some of it is missing")


def _files(agents: Path) -> Iterator[tuple[str, Path]]:
    """What is not a folder, by its name below this one."""
    for path in sorted(agents.rglob("*")) if agents.is_dir() else ():
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(agents).as_posix(), path


def _put_in_place(unfinished: Path, agents: Path, placed: list[Path]) -> None:
    """Before the rows last: nobody is to see rows without their files."""
    made = unfinished / "agents"
    names = sorted(path.name for path in made.iterdir()) if made.is_dir() else []
    placed.extend((made / name).rename(agents / name) for name in names)
