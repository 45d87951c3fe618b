"""Reads an archive of :mod:`bot.app.archive.exporting` back. Everything is looked at before anything is written, and
whatever an archive says, nothing is written outside the folder of its conversation.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4
from zipfile import BadZipFile, ZipFile, ZipInfo

from bot.app.archive.exporting import FORMAT, HEADS, MANIFEST, VERSION, Exported
from bot.errors import PalimpsestError
from bot.files.blocks import folder_of
from bot.files.contents import LOCK, is_place, stays_inside
from bot.messages import Address, AgentId
from bot.store import Database, Tx
from bot.store.archive import importing
from bot.store.archive.exporting import TABLES, Row
from bot.store.archive.importing import BadRowError, Importing
from bot.store.database import migration_scripts

MOST_BYTES = 4_000_000_000
"""Of all that an archive holds, unpacked, if nobody says otherwise."""
_MOST_PARTS = 300_000
_LONGEST_ROW = 256_000_000
_LONGEST_MANIFEST = 64_000_000
_LONGEST_NAME = 255
"""Bytes of one step of a path."""
_MOST_STEPS = 64
_AT_ONCE = 200
_FILES = "files/"
_MADE_BY_ZIP = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What reading a broken archive raises, RuntimeError for one with a password."""
STAGED = ".importing-"


class BadArchive(PalimpsestError):
    """It is not taken; the text is one sentence that says why, or what to do."""


@dataclass(frozen=True)
class Archive:
    """An archive that was opened; nothing but its manifest was read yet."""

    zip: ZipFile
    agent_id: AgentId
    address: Address
    rows: Mapping[str, int]
    links: Mapping[str, str]
    files: Mapping[str, ZipInfo]
    """By their paths in the folder."""


def opened(archive: ZipFile, *, most_bytes: int = MOST_BYTES) -> Archive:
    """Look at an archive's names, sizes and manifest. Raises BadArchive."""
    parts = archive.infolist()
    names = [part.filename for part in parts]
    if len(parts) > _MOST_PARTS or len(set(names)) != len(names):
        raise BadArchive(f"The archive has more than {_MOST_PARTS:,} parts, or two of one name: it is not taken.")
    if (size := sum(part.file_size for part in parts)) > most_bytes:
        raise BadArchive(
            f"Unpacked, the archive has {size:,} bytes, and {most_bytes:,} are the most that is taken: "
            "--most-bytes sets another limit."
        )
    manifest = _manifest(archive)
    files = {part.filename.removeprefix(_FILES): part for part in parts if part.filename.startswith(_FILES)}
    tables = {f"tables/{name}.jsonl" for name in (*TABLES, HEADS)}
    if unknown := set(names) - tables - {MANIFEST} - {part.filename for part in files.values()}:
        raise BadArchive(f"The archive holds {min(unknown)!r}, which belongs to no conversation: it is not taken.")
    if missing := tables - set(names):
        raise BadArchive(f"The archive lacks {min(missing)}: it is not whole.")
    try:
        agent_id, address = AgentId(manifest["agent"]), Address(**manifest["address"])
        rows = {name: int(manifest["tables"][name]) for name in (*TABLES, HEADS)}
        links = {str(name): str(target) for name, target in manifest["links"].items()}
        fits = address.agent_id == agent_id
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadArchive("The manifest of the archive is none of this program's.") from error
    if not fits:
        raise BadArchive("The archive's address and its conversation's id do not fit together: it is not taken.")
    _check_paths(files, links)
    return Archive(archive, agent_id, address, rows, links, files)


def check(archive: Archive) -> None:
    """Look at each row and each file of an archive. Raises BadArchive."""
    for name in (*TABLES, HEADS):
        count = sum(len(batch) for batch in batches(archive, name))
        if count != archive.rows[name]:
            raise BadArchive(
                f"The archive has {count:,} rows of {name} and says {archive.rows[name]:,}: it is damaged."
            )
    if archive.rows["agents"] != 1:
        raise BadArchive("The archive holds no conversation, or more than one: it is not taken.")


def batches(archive: Archive, name: str) -> Iterator[Sequence[Row]]:
    """The rows of a table, checked, some at a time. Raises BadArchive."""
    rows = _rows(archive, name)
    while batch := list(islice(rows, _AT_ONCE)):
        yield batch


async def bring_in(database: Database, data_dir: Path, archive: Archive) -> Exported:
    """Write all of it, or nothing: the files first, apart, then the rows and the folder's name in one transaction.

    Raises BadArchive, StoreUnavailable, OSError.
    """
    staged = data_dir / "agents" / f"{STAGED}{uuid4().hex}"
    folder = folder_of(data_dir, archive.agent_id)
    try:
        size = await asyncio.to_thread(_unpack, archive, staged)
        async with database.write(long=True) as tx:
            await _refuse_known(tx, archive.agent_id)
            into = Importing(tx, archive.agent_id)
            for name in (*TABLES, HEADS):
                for batch in batches(archive, name):
                    await into.add(name, batch)
            _move(staged, folder)
    except BadRowError as error:
        await asyncio.to_thread(shutil.rmtree, staged, ignore_errors=True)
        raise BadArchive(f"The archive is not taken: {error}.") from error
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, staged, ignore_errors=True)
        raise
    return Exported(archive.agent_id, archive.rows, len(archive.files), size, {})


async def _refuse_known(tx: Tx, agent_id: AgentId) -> None:
    if await importing.is_known(tx, agent_id):
        raise BadArchive(
            f"There is a conversation {agent_id} already, and nothing is written over. `palimpsest agents export "
            f"{agent_id}` keeps it, `palimpsest agents forget {agent_id}` makes room for this one."
        )


def _manifest(archive: ZipFile) -> Mapping[str, Any]:
    try:
        info = archive.getinfo(MANIFEST)
        if info.file_size > _LONGEST_MANIFEST:
            raise BadArchive("The manifest of the archive is too long.")
        found = json.loads(archive.read(info))
        form, version, schema = found["format"], found["version"], found["schema"]
    except (*_MADE_BY_ZIP, KeyError, TypeError, RecursionError) as error:
        raise BadArchive("That is no conversation: `palimpsest agents export` writes what is read here.") from error
    if form != FORMAT or not isinstance(version, int):
        raise BadArchive("That is no conversation: `palimpsest agents export` writes what is read here.")
    known = {script.revision for script in migration_scripts().walk_revisions()}
    if version > VERSION or schema not in known:
        raise BadArchive("The archive was written by a newer version of this program: update this one first.")
    if schema != migration_scripts().get_current_head():
        raise BadArchive(
            f"The archive has tables of version {schema}, and this program other ones: import it with the program that "
            "wrote it, update that, and export it again."
        )
    assert isinstance(found, dict)
    return found


def _check_paths(files: Mapping[str, ZipInfo], links: Mapping[str, str]) -> None:
    for name in (*files, *links):
        parts = name.split("/")
        if not is_place(name) or len(parts) > _MOST_STEPS or name == LOCK:
            raise BadArchive(f"The archive holds a file {name!r}, which is no place in a folder: it is not taken.")
        if any(len(part.encode()) > _LONGEST_NAME for part in parts):
            raise BadArchive(f"The archive holds a file whose name is too long: {name[:80]!r}…")
    for name, target in links.items():
        if name in files or not stays_inside(name, target):
            raise BadArchive(f"The archive holds a link {name!r} that leads out of the folder: it is not taken.")
    there = {*files, *links}
    above = {str(folder) for name in there for folder in PurePosixPath(name).parents}
    if clash := above & there:
        raise BadArchive(f"The archive has {min(clash)!r} both as a folder and as something else: it is not taken.")


def _rows(archive: Archive, name: str) -> Iterator[Row]:
    number = 0
    try:
        with archive.zip.open(f"tables/{name}.jsonl") as file:
            while line := file.readline(_LONGEST_ROW + 1):
                number += 1
                if len(line) > _LONGEST_ROW:
                    raise BadRowError("it is too long")
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise BadRowError("it is no row")
                if name == "vectors":
                    row["vector"] = base64.b64decode(str(row.get("vector")), validate=True)
                importing.check(name, row, archive.agent_id)
                yield row
    except (*_MADE_BY_ZIP, binascii.Error, RecursionError) as error:
        what = str(error) or type(error).__name__
        raise BadArchive(f"Line {number} of tables/{name}.jsonl is not taken: {what}.") from error


def _unpack(archive: Archive, folder: Path) -> int:
    """Into a folder that nobody else knows; returns the bytes of all files."""
    folder.mkdir(parents=True, mode=0o700)
    size = 0
    for name, part in archive.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with archive.zip.open(part) as packed:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    shutil.copyfileobj(packed, file)
                    size += file.tell()
        except (BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise BadArchive(f"The file {name!r} in the archive is damaged: nothing was imported.") from error
        _set_time(path, part)
    for name, target in archive.links.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.symlink_to(target)
    return size


def _set_time(path: Path, part: ZipInfo) -> None:
    from calendar import timegm

    with suppress(ValueError, OverflowError, OSError):
        seconds = timegm((*part.date_time, 0, 0, 0))
        os.utime(path, (seconds, seconds), follow_symlinks=False)


def _move(staged: Path, folder: Path) -> None:
    """The folder of a terminal that was opened and said nothing is in nobody's way."""
    if folder.is_dir() and all(item.name == LOCK for item in folder.iterdir()):
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()
    if folder.exists() or folder.is_symlink():
        raise BadArchive(
            f"{folder} is there although the database knows no such conversation: move it away, then import again."
        )
    staged.rename(folder)
