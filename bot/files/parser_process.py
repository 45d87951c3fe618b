"""What opens the files that people send, in a process of its own: :mod:`bot.files.parser_pool` starts, bounds and ends
it.

It imports little of this program and holds nothing of it: no settings, no keys, no connections. A line on its standard
input asks for one file; the answer is a line with a length and so many bytes of JSON. It ends with its standard input,
also in the middle of a file.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, NoReturn

from bot.estimate.cuts import cut_before
from bot.files.pictures import NotAPicture, TooLarge, view_of

MOST_PDF_BYTES = 20_000_000
MOST_PDF_PAGES = 100
TOO_MUCH_MEMORY = "memory"
_PDF = b"%PDF-"
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_SNIFF_BYTES = 65_536
_MOST_FILES = 64
"""Open at once."""
_NICE = 10
"""Whoever talks comes first."""
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f]")


class CannotShow(Exception):
    """Why a model cannot be shown a file, as the end of a sentence for people."""


def parsed(path: Path, room: int) -> Mapping[str, Any]:
    """What a file is, by what it holds: one of ``picture``, ``document``, ``text`` (its first ``room`` characters) and
    ``unknown``. Reads from disk, and writes the smaller copy of a large picture. Raises CannotShow, or whatever a
    library makes of a broken file."""
    with path.open("rb") as file:
        head = file.read(_SNIFF_BYTES)
    if head.startswith(_PDF):
        return {"document": {"pages": _pages(path)}}
    try:
        view = view_of(path)
    except NotAPicture:
        text = _text_of(path)
        if text is None and head.startswith(_PICTURES):
            raise CannotShow("it seems to be broken") from None
        if text is None:
            return {"unknown": {}}
        shown = _NOT_SHOWN.sub("", text)
        begins = shown[: cut_before(shown, room) or room]
        return {"text": {"shown": begins, "is_whole": len(shown) <= room, "characters": len(text)}}
    except TooLarge as error:
        raise CannotShow(str(error)) from error
    picture = {"path": str(view.path), "media_type": view.media_type, "width": view.width, "height": view.height}
    return {"picture": picture}


def _pages(path: Path) -> int:
    import logging

    from pypdf import PdfReader  # a fifth of a second to import
    from pypdf.errors import PyPdfError

    logging.disable()  # it has a line for each thing that is wrong with a file
    if path.stat().st_size > MOST_PDF_BYTES:
        raise CannotShow(f"a PDF of more than {MOST_PDF_BYTES / 1e6:.0f} MB is too large for the model")
    try:
        reader = PdfReader(path)
        if reader.is_encrypted:
            raise CannotShow("it is locked with a password")
        pages = len(reader.pages)
    except (PyPdfError, RecursionError) as error:
        raise CannotShow("it is a broken PDF") from error
    if not pages:
        raise CannotShow("it has no pages")
    if pages > MOST_PDF_PAGES:
        raise CannotShow(f"it has {pages} pages, and {MOST_PDF_PAGES} is the most")
    return pages


def _text_of(path: Path) -> str | None:
    """The text of a file, or None for one that holds something else."""
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig", "cp1252"]  # as Windows wrote it in the west, before it wrote UTF-8
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            return None if _NO_TEXT.search(text) else text
    return None


def main() -> NoReturn:
    """Serve until the standard input ends. What is printed by whatever library goes nowhere."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123  # a device
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, asked), daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):  # a supervisor tells all at once; the program still needs its files
        signal.signal(number, signal.SIG_IGN)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _MOST_FILES)
    with suppress(OSError):
        os.nice(_NICE)
    while True:
        request = json.loads(asked.get())
        _lower(resource.RLIMIT_AS, request["memory"])
        _lower(resource.RLIMIT_FSIZE, request["written"])
        _lower(resource.RLIMIT_CPU, math.ceil(time.process_time()) + request["cpu_seconds"])
        answer = json.dumps(answer_to(request), ensure_ascii=False).encode()
        answers.write(b"%d\n%b" % (len(answer), answer))
        answers.flush()


def answer_to(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was asked for, or why there is none of it."""
    try:
        return parsed(Path(request["path"]), request["room"])
    except CannotShow as error:
        return {"cannot": str(error)}
    except MemoryError:
        return {"failed": TOO_MUCH_MEMORY}
    except Exception as error:  # noqa: BLE001  # whatever a library makes of a broken file
        return {"failed": type(error).__name__}  # not its text, which may quote the file


def _listen(requests: BinaryIO, asked: SimpleQueue[bytes]) -> NoReturn:
    """A thread of its own, so that the end of whoever asks is noticed while a file is being opened."""
    for line in requests:
        asked.put(line)
    os._exit(0)


def _lower(kind: int, most: int) -> None:
    """A limit that the kernel holds. One that a system does not have is passed over, as memory on macOS."""
    hard = resource.getrlimit(kind)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
