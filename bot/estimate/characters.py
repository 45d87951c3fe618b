"""What a character is to a tokenizer: the class of every code point. Pure."""

from __future__ import annotations

from enum import IntEnum, auto
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Class(IntEnum):
    """What a character is to a tokenizer."""

    EDGE = 0
    """Before the first character of a text and after its last one."""
    SPACE = auto()
    LINE = auto()
    LOWER = auto()
    UPPER = auto()
    DIGIT = auto()
    MARK = auto()
    RULE = auto()
    """A mark that lines are drawn with."""
    HAN = auto()
    CJK_MARK = auto()
    CYRILLIC = auto()
    QUOTE = auto()
    SYMBOL = auto()
    RARE_SYMBOL = auto()
    EMOJI = auto()
    RARE_EMOJI = auto()
    JOINER = auto()
    VARIATION = auto()
    CONTROL = auto()
    ACCENTED = auto()
    KANA = auto()
    HANGUL = auto()
    TWO_BYTES = auto()
    THREE_BYTES = auto()
    FOUR_BYTES = auto()


_BLOCKS = (
    (0x0000, Class.CONTROL),
    (0x0080, Class.QUOTE),  # signs of Latin-1
    (0x00C0, Class.ACCENTED),
    (0x0300, Class.TWO_BYTES),  # combining marks, Greek
    (0x0400, Class.CYRILLIC),
    (0x0530, Class.TWO_BYTES),  # Armenian, Hebrew, Arabic and others
    (0x0800, Class.THREE_BYTES),  # Indic, Thai, Georgian and others
    (0x1E00, Class.ACCENTED),  # Vietnamese
    (0x1F00, Class.THREE_BYTES),  # Greek with accents
    (0x2000, Class.QUOTE),
    (0x200D, Class.JOINER),
    (0x200E, Class.QUOTE),
    (0x2100, Class.SYMBOL),
    (0x2300, Class.RARE_SYMBOL),  # technical signs, media buttons
    (0x2400, Class.SYMBOL),
    (0x2C00, Class.THREE_BYTES),
    (0x2E80, Class.HAN),  # radicals
    (0x3000, Class.CJK_MARK),
    (0x3040, Class.KANA),
    (0x3100, Class.HAN),  # Bopomofo, strokes, enclosed characters
    (0xA000, Class.THREE_BYTES),
    (0xAC00, Class.HANGUL),
    (0xD800, Class.THREE_BYTES),  # surrogates, private use
    (0xF900, Class.HAN),
    (0xFB00, Class.THREE_BYTES),
    (0xFE00, Class.VARIATION),
    (0xFE10, Class.CJK_MARK),
    (0xFE70, Class.THREE_BYTES),
    (0xFF00, Class.CJK_MARK),
    (0xFF66, Class.KANA),
    (0xFFF0, Class.THREE_BYTES),
    (0x10000, Class.FOUR_BYTES),
    (0x1F000, Class.RARE_EMOJI),
    (0x1F1E6, Class.EMOJI),  # flags
    (0x1F200, Class.RARE_EMOJI),
    (0x1F300, Class.EMOJI),
    (0x1F400, Class.RARE_EMOJI),  # animals
    (0x1F440, Class.EMOJI),
    (0x1F500, Class.RARE_EMOJI),  # buttons, clocks
    (0x1F600, Class.EMOJI),
    (0x1F700, Class.RARE_EMOJI),
    (0x1F900, Class.EMOJI),
    (0x1FB00, Class.FOUR_BYTES),
)
"""The first code point of every block, and the class of its characters; ASCII has its own classes."""
_CODE_POINTS = 0x20000
"""Those above are all of the last block's class."""
_RULES = "-=#*_~."


def _ascii_class(char: str) -> Class:
    if char.isalpha():
        return Class.LOWER if char.islower() else Class.UPPER
    if char.isdigit():
        return Class.DIGIT
    if char in "\n\r":
        return Class.LINE
    if char in " \t":
        return Class.SPACE
    if char in _RULES:
        return Class.RULE
    return Class.MARK if char.isprintable() else Class.CONTROL


_ASCII = bytes(_ascii_class(chr(code)) for code in range(0x80))
ASCII_CLASSES = _ASCII + bytes(0x80)
"""The class of every ASCII character, as a table for ``bytes.translate``."""


@cache
def classes() -> NDArray[np.uint8]:
    """The class of every code point up to ``0x1FFFF``, which stands for those above."""
    import numpy as np

    table = np.empty(_CODE_POINTS, np.uint8)
    for first, kind in _BLOCKS:
        table[first:] = kind
    table[: len(_ASCII)] = np.frombuffer(_ASCII, np.uint8)
    return table
