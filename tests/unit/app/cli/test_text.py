"""What commands print for people."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path

import pytest

from bot.app.cli.text import columns, say

LONG = "There is no file /a/rather/long/path/that/has/no/blank, and so nothing of it can be brought over to this place."


def screen_of(columns: int) -> tuple[int, int]:
    """Both ends of a terminal that is so wide."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return ours, theirs


def rows_of(ours: int, count: int) -> list[str]:
    """What has been shown, at least so many rows of it."""
    shown = b""
    while shown.count(b"\n") < count:
        shown += os.read(ours, 4_096)
    os.close(ours)
    return shown.decode().splitlines()


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (
            32,
            [
                "There is no file",
                "/a/rather/long/path/that/has/no/blank,",
                "and so nothing of it can be",
                "brought over to this place.",
                "",
                "Bye.",
            ],
        ),
        (0, [LONG, "", "Bye."]),
    ],
    ids=["narrow", "unknown"],
)
def test_lines_are_wrapped_at_words_on_a_terminal(columns: int, rows: list[str]) -> None:
    ours, theirs = screen_of(columns)
    with os.fdopen(theirs, "w") as terminal:
        say(f"{LONG}\n\nBye.", terminal)
        terminal.flush()
        assert rows_of(ours, len(rows)) == rows


def test_lines_stay_as_they_are_elsewhere() -> None:
    out = StringIO()
    say(LONG, out)
    assert out.getvalue() == f"{LONG}\n"


def test_the_error_of_a_command_is_wrapped_at_words_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = screen_of(40)
    command = [sys.executable, "-m", "bot.app.cli.main", "import", "--format", "none-of-these", "notes.txt"]
    with os.fdopen(theirs, "w") as terminal:
        surroundings = {**os.environ, "DATA_DIR": str(tmp_path)}
        ended = subprocess.run(command, stderr=terminal, stdout=subprocess.DEVNULL, check=False, env=surroundings)
        rows = rows_of(ours, 3)
    assert ended.returncode == 2
    assert rows[0].startswith("palimpsest: 'none-of-these'")
    assert all(len(row) <= 40 for row in rows)


def test_a_row_that_is_longer_than_the_terminal_ends_there_and_says_so() -> None:
    rows = [("agent", "messages", "people"), ("telegram-1", "1,204", "Ada, 花子さん and Bob")]
    assert columns(rows) == ["agent       messages  people", "telegram-1     1,204  Ada, 花子さん and Bob"]
    assert columns(rows, 30)[1] == "telegram-1     1,204  Ada, 花…"
    assert columns(rows, 29)[1] == "telegram-1     1,204  Ada,…"
    assert columns(rows, 200) == columns(rows)
