"""What a file of the agent's folder is, and its text a piece at a time, however large it is. Reads from disk."""

from __future__ import annotations

import codecs
import io
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bot.estimate.bounds import fitting
from bot.estimate.cuts import cut_before
from bot.files import own_folder
from bot.files.own_folder import Refused
from bot.files.views import MOST_BYTES, ending_of
from bot.history.file_headers import more_follows

_SNIFFED = 8_192
_SKIPPED = 65_536
_FURTHEST = 100_000_000
"""Characters of a file that are passed over; what stands behind them is not read."""
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b")
_KINDS = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
    b"ID3": "a sound",
    b"OggS": "a sound or a film",
}


@dataclass(frozen=True)
class FoundPicture:
    """A file that begins like a picture, by its name in the folder."""

    name: str
    data: bytes


def read(folder: Path, path: Path, offset: int, *, room: int, tokens: int) -> str | FoundPicture:
    """The text from ``offset`` (characters) on, a picture, or what else it is.

    Raises Refused with a sentence, OSError.
    """
    with own_folder.opened(folder, path) as file:
        head = file.read(_SNIFFED)
        file.seek(0)
        if ending_of(head) and not offset:
            return _picture(folder, path, file)
        if not _is_text(head):
            return _told(path, head, file)
        text, more = _piece(file, _encoding(head), offset, room, size=_size(file))
    shown = text[: fitting(text, tokens)]
    if more or len(shown) < len(text):
        return f"{shown}\n{more_follows(f'read on from offset {offset + len(shown)}')}"
    return shown


def _piece(file: BinaryIO, encoding: str, offset: int, room: int, *, size: int) -> tuple[str, bool]:
    """So many characters, and whether there are more. No character takes less than a byte."""
    if offset > size:
        return "", False
    if offset > _FURTHEST:
        raise Refused(f"Only the first {_FURTHEST:,} characters of a file can be read.")
    reader = io.TextIOWrapper(file, encoding=encoding, errors="replace")
    try:
        left = offset
        while left and (passed := len(reader.read(min(left, _SKIPPED)))):
            left -= passed
        text = reader.read(room + 1)
        return text[: cut_before(text, room) or room], len(text) > room
    finally:
        reader.detach()


def _picture(folder: Path, path: Path, file: BinaryIO) -> str | FoundPicture:
    size = _size(file)
    name = _relative(folder, path)
    if size > MOST_BYTES:
        return f"[{name} is a picture of {size:,} bytes, which is too large to be shown.]"
    return FoundPicture(name, file.read())


def _told(path: Path, head: bytes, file: BinaryIO) -> str:
    known = next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)
    kind = known or mimetypes.guess_type(path.name)[0] or "of a kind that is not known"
    return f"[Not a text: {path.name.encode(errors='replace').decode()} is {kind}, {_size(file):,} bytes.]"


def _size(file: BinaryIO) -> int:
    here = file.tell()
    size = file.seek(0, io.SEEK_END)
    file.seek(here)
    return size


def _encoding(head: bytes) -> str:
    """As files that people send are read: UTF-16 by its mark, UTF-8, else what Windows wrote in the west."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _is_text(head: bytes) -> bool:
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        head = head.decode("utf-16", "replace").encode(errors="replace")
    return not any(byte < ord(" ") and byte not in _TEXT_CONTROLS for byte in head)


def _relative(folder: Path, path: Path) -> str:
    return str(path.relative_to(folder.resolve())).encode(errors="replace").decode()
