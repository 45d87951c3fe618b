"""The daily file of a conversation, `agents/<agentId>/compaction_YYYYMMDD.md` (UTC day), and the same compressed
(`.md.gz`), as which a day stays that was over some time ago.

Whoever changes it holds the lock of the file that is not compressed. Where there are both, that one counts, unless it
is empty: what was to become of it was cut off.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from uuid import uuid4

from bot.compaction.trace import Lines, Section, appended
from bot.compaction.trace.lines import LONGEST
from bot.runtime.utc_day import day_of
from bot.store.runs import Run

_MOST_BYTES = 4 * LONGEST
"""Of a line that may be short enough for another one to refer to it."""


def path_of(folder: Path, day: str) -> Path:
    """The file of a day in the folder of a conversation."""
    return folder / f"compaction_{day}.md"


def packed_path(path: Path) -> Path:
    """The same, compressed."""
    return path.with_name(f"{path.name}.gz")


def write(folder: Path, run: Run, section: Section | str) -> Path:
    """Append a section to its day's file, in one write; a section that stands there already is not written again.
    Raises OSError."""
    path = path_of(folder, day_of(run.started_at))
    with opened(path) as descriptor:
        page, this = Lines(), f"- **run**: {run.id}"
        for line in _lines(descriptor):
            if line == this:
                return path
            page.add_break() if line is None else page.add(line)
        data = appended(section, page).encode("utf-8", errors="replace")
        written = os.write(descriptor, data)
        if written < len(data):  # a disk that is full: no half section may stay, or it would be taken for a whole one
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(f"only {written} of {len(data)} bytes were written")
        os.fsync(descriptor)
    return path


def _lines(descriptor: int) -> Iterator[str | None]:
    """Those of a file that have an end; None for one that is too long to be looked at."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        is_long = False
        while piece := file.readline(_MOST_BYTES):
            if piece.endswith(b"\n"):
                yield None if is_long else piece[:-1].decode(errors="replace")
                is_long = False
            else:
                is_long = True


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A day's file, made if need be, for reading and appending: nobody else changes it, or puts another one in its
    place, until the end of the block. One that was compressed is so no more. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        # A tool may have put something else in its place: a link would lead elsewhere, and a pipe would wait for ever.
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            if not S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path.name} is not a file")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(path, descriptor):
                continue
            if not os.fstat(descriptor).st_size and (text := _unpacked(path)):
                _replace(path, text)
                continue
            packed_path(path).unlink(missing_ok=True)
            yield descriptor
            return
        finally:
            os.close(descriptor)


def put(path: Path, text: str) -> None:
    """All that stands in a day's file from now on; to be called while it is :func:`opened`. Without any text there is
    no such file. Raises OSError."""
    if text:
        _replace(path, text.encode("utf-8", errors="replace"))
    else:
        path.unlink()


def pack(path: Path) -> None:
    """Compress a day's file. Raises OSError."""
    with opened(path):
        if data := _bytes(path):
            _replace(packed_path(path), gzip.compress(data, mtime=0))
        path.unlink()


def remove(path: Path) -> None:
    """Take a day's file away, compressed or not. Raises OSError."""
    packed_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def read(path: Path) -> str | None:
    """What stands in a day's file, compressed or not; None where there is none. Raises OSError."""
    data = _bytes(path)
    if not data and (unpacked := _unpacked(path)) is not None:
        data = unpacked
    return None if data is None else data.decode(errors="replace")


def _unpacked(path: Path) -> bytes | None:
    data = _bytes(packed_path(path))
    try:
        return None if data is None else gzip.decompress(data)
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path.name}.gz is damaged: {error}") from error


def _bytes(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _replace(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether a file still has this name: another one may have taken its place while it was waited for."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
