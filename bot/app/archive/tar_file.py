"""The file of a backup: a tar, compressed where its name ends with `gz`, that can be written to and read from a pipe.

::

    backup.json                 the format, the program's version, the moment, the layout of the tables
    tables/<table>/<n>.jsonl    rows, each a JSON list in the order of the layout's columns
    agents/<conversation>/...   the files of `DATA_DIR/agents`
    end.json                    that nothing is missing

Only regular files are kept and made: no link, pipe or device, and no name that leads out of its folder.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import BinaryIO, cast
from zlib import error as ZlibError  # noqa: N812  # an exception's name

from bot.errors import ConfigurationError

START, END = "backup.json", "end.json"
PIPE = "-"
"""As a target: standard output; as a source: standard input."""
_PIECE = 1 << 20


@dataclass(frozen=True)
class Member:
    """One file of a backup; ``content`` may be read until the next one is asked for."""

    name: str
    size: int
    modified: float
    content: _Content


class Writer:
    """Puts files into a backup."""

    def __init__(self, tar: tarfile.TarFile, target: str, now: float) -> None:
        self._tar = tar
        self._target = target
        self._now = now

    def add(self, name: str, content: bytes) -> None:
        """A file of this content."""
        self._put(name, len(content), self._now, BytesIO(content))

    def add_file(self, name: str, path: Path) -> int | None:
        """A file as it is now; returns its size, and None where there is no regular file (any more)."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            if path.is_symlink() or not path.exists():
                return None
            raise
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not S_ISREG(found.st_mode):
                return None
            self._put(name, found.st_size, found.st_mtime, _OfSize(file))
        return found.st_size

    def _put(self, name: str, size: int, modified: float, content: BytesIO | _OfSize) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = size, modified, 0o600
        with _writable(self._target):
            self._tar.addfile(info, cast("BinaryIO", content))


class _OfSize:
    """A file that somebody may shorten while it is read: what is missing then is zeros, so that the tar stays whole."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, count: int) -> bytes:
        """So many bytes."""
        return self._file.read(count).ljust(count, b"\0")


@contextmanager
def _writable(target: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error.strerror or error}.") from error


@contextmanager
def writing(target: str, *, now: float) -> Iterator[Writer]:
    """A new backup; under its name only when it is whole. Raises ConfigurationError where it cannot be."""
    if target == PIPE:
        with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            yield Writer(tar, target, now)
        return
    path = Path(target)
    unfinished = path.with_name(f"{path.name}.unfinished")
    if path.exists():
        raise ConfigurationError(f"{path} is there already: choose another name.")
    try:
        with _writable(target), unfinished.open("wb") as file:
            mode = "w:gz" if path.suffix in (".gz", ".tgz") else "w"
            with tarfile.open(fileobj=file, mode=mode, format=tarfile.PAX_FORMAT) as tar:  # type: ignore[call-overload]  # its modes are literals
                yield Writer(tar, target, now)
            file.flush()
            os.fsync(file.fileno())
            unfinished.rename(path)
    finally:
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def reading(source: str) -> Iterator[Iterator[Member]]:
    """The files of a backup, in order. Raises ConfigurationError for what is none, or not whole."""
    with (
        _whole(source),
        nullcontext(sys.stdin.buffer) if source == PIPE else Path(source).open("rb") as file,
        tarfile.open(fileobj=file, mode="r|*") as tar,
    ):
        yield _members(tar, source)


@contextmanager
def _whole(source: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, ValueError, ZlibError) as error:
        raise ConfigurationError(f"{source} is no backup, or not whole ({error}).") from error
    except OSError as error:
        raise ConfigurationError(f"{source} cannot be read: {error.strerror or error}.") from error


def _members(tar: tarfile.TarFile, source: str) -> Iterator[Member]:
    whole = False
    while info := _next(tar, source):
        with _whole(source):
            place = PurePosixPath(info.name)
            if place.is_absolute() or ".." in place.parts:
                raise tarfile.TarError(f"{info.name!r} leads elsewhere")
            content = tar.extractfile(info) if info.isreg() else None
            if content is None:
                raise tarfile.TarError(f"{info.name!r} is no file")
        whole = info.name == END
        yield Member(info.name, info.size, info.mtime, _Content(cast("BinaryIO", content), source))
    with _whole(source):
        if not whole:
            raise tarfile.TarError("its end is missing")


def _next(tar: tarfile.TarFile, source: str) -> tarfile.TarInfo | None:
    with _whole(source):
        return tar.next()


class _Content:
    """What is read from a backup, which may turn out to be damaged on the way."""

    def __init__(self, file: BinaryIO, source: str) -> None:
        self._file = file
        self._source = source

    def read(self, count: int = -1) -> bytes:
        """So many bytes at most; all by default."""
        with _whole(self._source):
            return self._file.read(count)


def unpack(member: Member, folder: Path) -> Path:
    """Write it below this folder, for our user alone; returns its path."""
    path = folder / member.name
    with _writable(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("xb") as file:
            while piece := member.content.read(_PIECE):
                file.write(piece)
        os.utime(path, (member.modified, member.modified))
    return path


def as_lines(lines: list[str]) -> bytes:
    """Rows, as a file of a backup."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def lines_of(member: Member) -> list[str]:
    """Rows, from a file of a backup."""
    return member.content.read().decode("utf-8", "surrogatepass").split("\n")[:-1]


def document_of(member: Member) -> dict[str, object]:
    """JSON, from a file of a backup. Raises ValueError or tarfile.TarError."""
    found = json.loads(member.content.read())
    if not isinstance(found, dict):
        raise tarfile.TarError(f"{member.name} holds no object")
    return found
