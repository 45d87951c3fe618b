"""What commands print: lines in columns, times, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TextIO


def printable(text: str) -> str:
    """Without what a terminal would obey, or what turns a line around."""
    return "".join(letter for letter in text if letter.isprintable() or letter == "\n")


def line(text: str) -> str:
    """On one line."""
    return re.sub(r"\s+", " ", printable(text)).strip()


def say(text: str, file: TextIO | None) -> None:
    """Print lines for people, wrapped at words where the file is a terminal; what is longer than a line stays whole.
    ``file``: None where this process has none."""
    room = room_of(file)
    for sentence in text.split("\n"):
        rows = textwrap.wrap(sentence, room, break_long_words=False, break_on_hyphens=False) if room else []
        print("\n".join(rows) or sentence, file=file)


def room_of(file: TextIO | None) -> int:
    """The columns of the terminal that a file is; 0 where it is none."""
    return os.get_terminal_size(file.fileno()).columns if file and file.isatty() else 0


def cut(text: str, longest: int = 60) -> str:
    """On one line, of so many characters at most."""
    shown = line(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def utc(seconds: float) -> str:
    """A time, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def columns(rows: Iterable[Sequence[str]], room: int = 0) -> list[str]:
    """Rows of cells as lines; those that look like numbers stand to the right. Longer lines than there is ``room`` for
    end in an ellipsis, unless that is 0."""
    from rich.cells import cell_len, set_cell_size  # slow to import, and not needed by every command

    kept = [tuple(line(cell) for cell in row) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip_longest(*kept, fillvalue="")]
    lines = ["  ".join(map(_placed, row, widths, map(cell_len, row))).rstrip() for row in kept]
    return [one if not 0 < room < cell_len(one) else f"{set_cell_size(one, room - 1).rstrip()}…" for one in lines]


def json_text(value: object) -> str:
    """One document for standard output."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _placed(cell: str, width: int, taken: int) -> str:
    room = " " * (width - taken)
    return room + cell if _NUMBER.fullmatch(cell) else cell + room


_NUMBER = re.compile(r"[-~$]?[\d,.]+( ?(%|s|ms|kB|MB|GB))?")
