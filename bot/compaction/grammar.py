r"""What values in a text look like that several rooms look for: addresses, endings of files, quotes. Pure.

Each pattern is bounded, so that any text takes linear time. A piece may stand behind a letter of writing without blanks
("看https://…"), where ``\b`` finds no beginning.

Where a path ends in prose, blanks included, is told from what stands around it: :mod:`bot.compaction.places`.
What a command line names is the shell's grammar: :mod:`bot.compaction.memory_gate`.
"""

from __future__ import annotations

import re

CAPITAL, SMALL = "A-ZÀ-ÖØ-ÞА-ЯЁ", "a-zß-öø-ÿа-яё"
"""Letters that names are told by, for a class."""

URL = r"https?://[^\s<>\"'`)\]}，。]{3,300}"
EXTENSION = r"\.[A-Za-z]\w{0,7}"
SEPARATOR = re.compile(r"[\\/]+")

QUOTED = re.compile(
    r"“([^”\n]{2,80})”|«([^»\n]{2,80})»|「([^」\n]{2,80})」|《([^》\n]{2,80})》|(?<!`)`([^`\n]{2,80})`(?!`)|\"([^\"\n]{2,80})\""
)
"""What stands between marks, in one of its groups."""


def last_name(path: str) -> str:
    """What a file or folder is called, in small letters: by that they are told from each other, wherever they are."""
    return SEPARATOR.split(path.rstrip("/\\"))[-1].casefold()
