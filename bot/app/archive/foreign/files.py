"""The files of an export: one, a folder, or a zip archive, read as a stream. Here errors of files and of JSON become
sentences that say what to do.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile, ZipFile

import ijson

from bot.errors import PalimpsestError

_LONGEST_LINE = 256_000_000
_LONGEST_FIRST_LINE = 4_000_000
_MOST_PARTS = 300_000
_ARRAYS = ("item", "conversations.item")
_MOST_LOOKED_AT = 50
_UTF8_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ESCAPES = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|.)", re.DOTALL)
_LONGEST_ESCAPE = 3
_BROKEN = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading a broken archive raises, RuntimeError for one with a password."""


class Bytes(Protocol):
    """A file that is read."""

    def read(self, size: int = -1, /) -> bytes:
        """See file objects."""

    def readline(self, size: int = -1, /) -> bytes:
        """See file objects."""


class Closing(Bytes, Protocol):
    """One that wants to be closed."""

    def close(self) -> None:
        """See file objects."""


class BadExport(PalimpsestError):
    """It is not taken; the text is one sentence that says why, or what to do."""


@dataclass(frozen=True)
class Part:
    """One file of an export. ``name``: its path in there."""

    name: str
    size: int
    opened: Callable[[], Closing]

    @property
    def base(self) -> str:
        """Its name without folders."""
        return self.name.rpartition("/")[2]

    @contextmanager
    def open(self) -> Iterator[Bytes]:
        """Its bytes, without a mark of UTF-8. Raises BadExport."""
        with self._translated(), closing(self.opened()) as file:
            begin = file.read(len(_UTF8_MARK))
            if begin.startswith(_OTHER_MARKS):
                raise BadExport(f"{self.name} is UTF-16 and not UTF-8: save it as UTF-8, then import it again.")
            yield _Stream(file, b"" if begin == _UTF8_MARK else begin)

    @contextmanager
    def json(self) -> Iterator[_Mended]:
        """The same as JSON that a parser takes: Telegram writes control characters as no JSON has them."""
        with self.open() as file:
            yield _Mended(file)

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of its lines, with their numbers. Raises BadExport."""
        with self.open() as file:
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), b""), start=1):
                if len(line) > _LONGEST_LINE:
                    raise BadExport(f"Line {number:,} of {self.name} has more than {_LONGEST_LINE:,} bytes.")
                if not line.strip():
                    continue
                try:
                    found = json.loads(line)
                except UnicodeDecodeError as error:
                    raise BadExport(f"Line {number:,} of {self.name} is not UTF-8: nothing was imported.") from error
                except (ValueError, RecursionError) as error:
                    raise BadExport(
                        f"Line {number:,} of {self.name} is no JSON ({error}): is the file whole? Nothing was imported."
                    ) from error
                if isinstance(found, dict):
                    yield number, found

    @property
    def has_lines(self) -> bool:
        """Whether its first line is an object of JSON by itself."""
        with self.open() as file:
            first = file.readline(_LONGEST_FIRST_LINE)
        try:
            return isinstance(json.loads(first), dict)
        except (ValueError, RecursionError):
            return False

    def check(self) -> None:
        """Read it to its end. Raises BadExport where it is no JSON, or breaks off."""
        if self.has_lines:
            for _ in self.lines():
                pass
            return
        with self.json() as file, self._parsing():
            for _ in ijson.items(file, "nothing is called so"):
                pass

    def objects(self, prefix: str) -> Iterator[dict[str, Any]]:
        """The objects at this place of its JSON. Raises BadExport."""
        with self.json() as file, self._parsing():
            yield from (found for found in ijson.items(file, prefix, use_float=True) if isinstance(found, dict))

    def objects_with(self, key: str) -> Iterator[dict[str, Any]]:
        """The objects of its array, or of one that an object calls `conversations`, where one of the first has this
        key. Raises BadExport."""
        if place := self._array_with(key):
            yield from self.objects(place)

    def _array_with(self, key: str) -> str:
        ended = 0
        for place, event, value in self.events():
            if event == "map_key" and value == key and place in _ARRAYS:
                return place
            ended += event == "end_map" and place in _ARRAYS
            if ended >= _MOST_LOOKED_AT:
                break
        return ""

    def events(self) -> Iterator[tuple[str, str, Any]]:
        """Place, event and value, as ijson gives them. Raises BadExport."""
        with self.json() as file, self._parsing():
            yield from ijson.parse(file, use_float=True)

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        try:
            yield
        except ijson.IncompleteJSONError as error:
            raise BadExport(self._refusal(str(error))) from error
        except ijson.JSONError as error:
            raise BadExport(self._refusal(str(error))) from error

    def _refusal(self, why: str) -> str:
        if "UTF8" in why or "utf-8" in why.lower():
            return f"{self.name} is not UTF-8 throughout: nothing was imported. Is it as it was exported?"
        if "premature EOF" in why or "ncomplete" in why:
            return f"{self.name} breaks off in the middle: nothing was imported. Download or export it again."
        said = " ".join(why.split())[:100]
        return f"{self.name} is no JSON ({said}): nothing was imported. Is it as it was exported?"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            raise BadExport(f"{self.name} cannot be read from the archive ({error}): is that whole?") from error
        except OSError as error:
            raise BadExport(f"{self.name} cannot be read: {error.strerror or error}.") from error


@dataclass(frozen=True)
class Source:
    """What was named to be imported. ``archive``: it is one, whose parts these are."""

    path: Path
    parts: Sequence[Part]
    archive: ZipFile | None = None

    @property
    def is_single(self) -> bool:
        """Whether one file was named, which is no archive."""
        return self.archive is None and not self.path.is_dir()


@contextmanager
def source_at(path: Path) -> Iterator[Source]:
    """What lies there. Raises BadExport."""
    try:
        if path.is_dir():
            yield Source(path, [*_in_folder(path)])
            return
        with path.open("rb") as file:
            begin = file.read(4)
    except OSError as error:
        raise BadExport(f"{path} cannot be read: {error.strerror or error}.") from error
    if not begin.startswith(b"PK"):
        yield Source(path, [_file(path, path.name)])
        return
    try:
        archive = ZipFile(path)
    except (BadZipFile, OSError, ValueError) as error:
        raise BadExport(f"{path} is no whole zip archive ({error}): download it again.") from error
    with archive:
        yield Source(path, [*_in_archive(archive)], archive)


def _file(path: Path, name: str) -> Part:
    return Part(name, path.stat().st_size, partial(_in_bytes, path))


def _in_bytes(path: Path) -> Closing:
    return path.open("rb")


def _in_folder(folder: Path) -> Iterator[Part]:
    """Its files and those one folder below, by name."""
    for at, path in enumerate(sorted([*folder.glob("*"), *folder.glob("*/*")])):
        if at > _MOST_PARTS:
            raise BadExport(f"{folder} holds more than {_MOST_PARTS:,} files: name the one that is to be imported.")
        if path.is_file():
            yield _file(path, str(path.relative_to(folder)))


def _in_archive(archive: ZipFile) -> Iterator[Part]:
    infos = archive.infolist()
    if len(infos) > _MOST_PARTS:
        raise BadExport(f"The archive has more than {_MOST_PARTS:,} parts: it is not taken.")
    for info in sorted(infos, key=lambda one: one.filename):
        if not info.is_dir():
            yield Part(info.filename, info.file_size, partial(archive.open, info))


class _Stream:
    """A file with what was read of its beginning put back."""

    def __init__(self, file: Bytes, begin: bytes) -> None:
        self._file = file
        self._begin = begin

    def read(self, size: int = -1) -> bytes:
        """See file objects."""
        if not self._begin or size == 0:
            return self._file.read(size)
        begin, self._begin = self._begin, b""
        return begin + self._file.read(size)

    def readline(self, size: int = -1) -> bytes:
        """See file objects."""
        begin, self._begin = self._begin, b""
        return begin if begin.endswith(b"\n") else begin + self._file.readline(size)


class _Mended:
    r"""JSON in which ``\x0B``, as Telegram Desktop writes a control character, is ``\u000B``."""

    def __init__(self, file: Bytes) -> None:
        self._file = file
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """See file objects; it may be more than ``size``."""
        if size == 0:
            return b""
        chunk = self._file.read(size)
        found = self._rest + chunk
        self._rest = b""
        if chunk:
            found, self._rest = _before_escape(found)
        if not found and self._rest:
            return self.read(size)
        return _ESCAPES.sub(_as_json, found) if rb"\x" in found else found


def _before_escape(found: bytes) -> tuple[bytes, bytes]:
    """Cut where no escape is cut in two."""
    end = len(found)
    at = found.rfind(b"\\", max(0, end - _LONGEST_ESCAPE))
    if at < 0:
        return found, b""
    first = at
    while first and found[first - 1 : first] == b"\\":
        first -= 1
    begins = (at - first) % 2 == 0  # else it is the second of a pair
    return (found[:at], found[at:]) if begins else (found, b"")


def _as_json(escape: re.Match[bytes]) -> bytes:
    return rb"\u00" + escape[1] if escape[1] else escape[0]
