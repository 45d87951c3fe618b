"""A form with files, as a browser sends it. Each file goes to disk while it comes in, and one that is too large is not
written any further; nothing of a form that is refused stays.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO
from uuid import uuid4

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from bot.page.refusal import Refused

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

UPLOADS = ".uploads"
"""Of a conversation's folder; no tool of the model sees what is hidden."""
MOST_FILES = 10
MOST_TEXT_BYTES = 400_000
_READ_ON = 4
"""A browser that is refused before it has sent everything often says nothing of why: up to so many times the limit is
read and thrown away, so that it hears the answer."""
_OLD_SECONDS = 7 * 86_400
_MODE = 0o700


@dataclass(frozen=True)
class Upload:
    """A file that arrived: where it lies, and what whoever sent it calls it. ``size`` in bytes."""

    path: Path
    name: str
    media_type: str
    size: int


@dataclass
class Form:
    """Fields and files; a field that came twice has its last value."""

    fields: dict[str, str] = field(default_factory=dict)
    uploads: list[Upload] = field(default_factory=list)

    def forget(self) -> None:
        """Take the files away again."""
        for upload in self.uploads:
            with suppress(OSError):
                upload.path.unlink(missing_ok=True)


async def read_form(request: Request, folder: Path, *, most_bytes: int) -> Form:
    """The form in a request; files of at most ``most_bytes`` each go into ``folder``. Raises Refused."""
    _, options = parse_options_header(request.headers.get("content-type", ""))
    reading = _Reading(folder, most_bytes)
    try:
        parser = MultipartParser(options.get(b"boundary") or b"none", reading.callbacks)
        async for piece in request.stream():
            await asyncio.to_thread(parser.write, piece)  # which writes on disk
            reading.check_patience(len(piece))
        reading.check()
    except FormParserError as error:
        reading.drop()
        raise Refused(HTTPStatus.BAD_REQUEST, f"This form cannot be read: {error}.") from error
    except OSError as error:
        reading.drop()
        sentence = f"The file could not be written down ({error.strerror})."
        raise Refused(HTTPStatus.INSUFFICIENT_STORAGE, sentence) from error
    except BaseException:
        reading.drop()
        raise
    return reading.form


def forget_old(folder: Path, now: float) -> None:
    """Take out uploads of long ago: they have their place in the conversation, or belong to nothing. Looks at the
    disk; ``now`` in seconds since 1970."""
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                if now - path.lstat().st_mtime > _OLD_SECONDS:
                    path.unlink()


class _Reading:
    """What a parser has told so far."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.form = Form()
        self.refused: Refused | None = None
        self.is_whole = False
        self._folder = folder
        self._most_bytes = most_bytes
        self._read = self._text_bytes = 0
        self._header: tuple[bytes, bytes] = b"", b""
        self._disposition = self._media_type = b""
        self._name, self._text = "", bytearray()
        self._upload: Upload | None = None
        self._file: BinaryIO | None = None
        self.callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_end,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._whole,
        }

    def check_patience(self, more: int) -> None:
        """So many bytes more were read. Raises Refused when it is not worth reading on to its end."""
        self._read += more
        if self.refused and self._read > _READ_ON * (self._most_bytes + MOST_TEXT_BYTES):
            raise self.refused

    def check(self) -> None:
        """Raises Refused, at its end, for a form that is not taken."""
        if not self.is_whole:
            raise Refused(HTTPStatus.BAD_REQUEST, "The form broke off before its end: send it again.")
        if self.refused:
            raise self.refused

    def drop(self) -> None:
        """Nothing stays of it."""
        if self._file and self._upload:
            self._file.close()
            self.form.uploads.append(self._upload)
        self.form.forget()

    def _begin(self) -> None:
        self._disposition = self._media_type = b""
        self._name, self._text = "", bytearray()

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header = self._header[0] + data[start:end], self._header[1]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = self._header[0], self._header[1] + data[start:end]

    def _header_end(self) -> None:
        (name, value), self._header = self._header, (b"", b"")
        if name.lower() == b"content-disposition":
            self._disposition = value
        elif name.lower() == b"content-type":
            self._media_type = value

    def _headers_end(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = _text(options.get(b"name", b""))
        if b"filename" not in options:
            return
        name = PurePosixPath(_text(options[b"filename"]).replace("\\", "/")).name
        if name and len(self.form.uploads) >= MOST_FILES:
            self._refuse(f"That are too many files: at most {MOST_FILES} go with one message.")
        if self.refused or not name:  # nothing was chosen
            self._upload = Upload(Path(), "", "", 0)
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=_MODE)
        self._upload = Upload(self._folder / uuid4().hex, name, _text(self._media_type)[:100], 0)
        self._file = self._upload.path.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._file and self._upload:
            if self._file.tell() + end - start > self._most_bytes:
                self._refuse(f"{self._upload.name} is too large: at most {self._most_bytes / 1e6:,.0f} MB go.")
            if not self.refused:
                self._file.write(data[start:end])
        elif not self._upload:
            self._text_bytes += end - start
            if self._text_bytes > MOST_TEXT_BYTES:
                self._refuse("That is too long for a message: send it as a file.")
            else:
                self._text += data[start:end]

    def _end(self) -> None:
        if self._file and self._upload:
            with self._file:
                size = self._file.tell()
            self.form.uploads.append(Upload(self._upload.path, self._upload.name, self._upload.media_type, size))
        elif not self._upload:
            self.form.fields[self._name] = _text(self._text)
        self._upload = self._file = None

    def _whole(self) -> None:
        self.is_whole = True

    def _refuse(self, sentence: str) -> None:
        self.refused = self.refused or Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)


def _text(value: bytes | bytearray) -> str:
    return bytes(value).decode("utf-8", "replace")
