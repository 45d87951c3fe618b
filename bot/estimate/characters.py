"""What a character is to a tokenizer: the class of every code point, as a byte. Pure.

An ASCII character is a class of its own. Above them come letters with accents, then letters and signs of other scripts
(:mod:`bot.estimate.scripts`), whose numbers follow from the order of those tables.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from bot.estimate.scripts import CYRILLIC, FREQUENT_CHINESE, LETTERS, SIGNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EDGE = 0
"""Before the first character of a text and after its last one."""
NOTHING = 1
"""A control character, which no tokenizer sees."""
TAB, LINE, SPACE = b"\t\n "
DIGIT, FURTHER_DIGIT = b"01"
"""A digit, and the second and third of three, which come with the first."""
MARKS = bytes(code for code in range(0x21, 0x7F) if not chr(code).isalnum())
SMALL = bytes(range(ord("a"), ord("z") + 1))
CAPITAL = bytes(range(ord("A"), ord("Z") + 1))

ACCENTED = {
    "other": "",
    "capital": "",
    "phonetic": "",
    "combining": "",
    "Vietnamese": "ơư",
    "acute": "áéíóú",
    "grave": "àèìòùâêîôûëïœ",
    "Iberian": "ãõñç",
    "German": "äöüß",
    "Nordic": "åæøðþ",
    "Czech": "čšžřěůýňťďćđ",
    "Polish": "ąęłńśźż",
    "Turkish": "ığşə",
    "Romanian": "ășțţ",
    "Hungarian": "őű",
    "Baltic": "āēīūģķļņėįų",
}
"""Latin letters that tokenizers treat alike, by where they are at home; the first four go by code point."""

_NAMES = [
    *(("accented", name) for name in ACCENTED),
    *(("letters", name) for name in LETTERS),
    *(("marks", name) for name, found in LETTERS.items() if found.mark is not None),
    *(("cyrillic", name) for name in CYRILLIC),
    *(("signs", name) for name in SIGNS),
]
CLASSES = {name: 0x80 + number for number, name in enumerate(_NAMES)}
"""The class of each kind of character above ASCII."""

_CODE_POINTS = 0x20000
"""Those above are all of the last one's class."""
_BLANKS = "00A0 1680 2000-200A 2028-2029 202F 205F"
"""What is read as a space."""
_PRIVATE = slice(0xE000, 0xF900)
"""Stripped like control characters."""


def _ascii_class(code: int) -> int:
    char = chr(code)
    if char.isdigit():
        return DIGIT
    if code == 0:
        return SPACE
    return code if char.isprintable() or char in "\t\n" else NOTHING


_ASCII = bytes(map(_ascii_class, range(0x80)))
ASCII_CLASSES = _ASCII + bytes(0x80)
"""The class of every ASCII character, as a table for ``bytes.translate``."""


@cache
def classes() -> NDArray[np.uint8]:
    """The class of every code point up to ``0x1FFFF``, which stands for those above."""
    import numpy as np

    table = np.full(_CODE_POINTS, CLASSES["letters", "three bytes"], np.uint8)
    table[: len(_ASCII)] = np.frombuffer(_ASCII, np.uint8)
    table[0x80:0xA0] = NOTHING
    _latin(table)
    for name, letters in LETTERS.items():
        _fill(table, letters.where, CLASSES["letters", name])
        if letters.mark is not None:
            marks = (code for code in _codes(letters.where) if unicodedata.category(chr(code)).startswith("M"))
            table[list(marks)] = CLASSES["marks", name]
    for name, given in CYRILLIC.items():
        _fill(table, f"={given}", CLASSES["cyrillic", name])
    for name, signs in SIGNS.items():
        _fill(table, signs.where, CLASSES["signs", name])
    _fill(table, f"={FREQUENT_CHINESE}", CLASSES["signs", "Chinese, frequent"])
    _fill(table, _BLANKS, SPACE)
    table[_PRIVATE] = NOTHING
    return table


def _latin(table: NDArray[np.uint8]) -> None:
    for code in range(0xC0, 0x250):
        small = chr(code).lower() == chr(code)
        table[code] = CLASSES["accented", "other" if small else "capital"]
    table[0x250:0x300] = CLASSES["accented", "phonetic"]
    table[0x300:0x370] = CLASSES["accented", "combining"]
    table[0x1E00:0x1F00] = CLASSES["accented", "Vietnamese"]
    for name, given in ACCENTED.items():
        _fill(table, f"={given}", CLASSES["accented", name])


def _fill(table: NDArray[np.uint8], where: str, kind: int) -> None:
    """``where``: as in the tables, ranges of code points in hexadecimal, or the characters themselves after ``=``."""
    if where.startswith("="):
        table[list(map(ord, where[1:]))] = kind
    for part in [] if where.startswith("=") else where.split():
        first, _, last = part.partition("-")
        table[int(first, 16) : int(last or first, 16) + 1] = kind


def _codes(where: str) -> Iterator[int]:
    for part in where.split():
        first, _, last = part.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)
