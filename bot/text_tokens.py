"""How many tokens a text takes in one of Claude's two tokenizer families, guessed from its characters.

A linear estimate over counts of character classes and of the places where a tokenizer has to cut: a word's
start, a change between cases or to digits inside a word (which is what makes hexadecimal, base64 and ids
dear), a run of punctuation, a line's indent. The rates are a non-negative least-squares fit of the relative
error, every class of text weighing the same. Everything is a translation or a count of bytes, so that a
megabyte takes milliseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Family(Enum):
    """A tokenizer family. Newer models need up to a third more tokens for the same English."""

    OLDER = "older"
    """Claude 3 to Claude 4.6, and what came before."""
    NEWER = "newer"
    """Claude 4.7 and later; also what is assumed of a model that is not known."""


_VERSION = re.compile(r"claude[-_ ]?(?:[a-z]+[-_ ])?v?(\d{1,2})(?!\d)(?:[-._](\d{1,2})(?!\d))?", re.IGNORECASE)
_LAST_OLDER = (4, 6)


def family_of(model: str | None) -> Family:
    """The family of a model's name as Anthropic, Bedrock, Vertex or OpenRouter write it; unknown names: the
    newest.
    """
    found = _VERSION.search(model or "")
    if found is None:
        return Family.NEWER
    return Family.OLDER if (int(found[1]), int(found[2] or 0)) <= _LAST_OLDER else Family.NEWER


@dataclass(frozen=True, kw_only=True)
class _Rates:
    """Tokens per unit, as fitted."""

    start: float
    """A word or number after white space."""
    letter: float
    """A Latin letter."""
    upper: float
    """A capital, beside its letter."""
    change: float
    """From small to capital letters, or between letters and digits, inside a word."""
    digit: float
    marks: float
    """A run of ASCII punctuation."""
    four_marks: float
    """Four marks in a row, beside their run."""
    line: float
    indent: float
    """A line that starts with white space."""
    han: float
    cyrillic: float
    emoji: float
    symbol: float
    """A dash, quote, dingbat, joiner, or mark of Chinese and Japanese text."""


_RATES = {
    Family.OLDER: _Rates(
        start=0.594,
        letter=0.081,
        upper=0.164,
        change=1.067,
        digit=0.417,
        marks=1.433,
        four_marks=0.462,
        line=0.573,
        indent=1.543,
        han=0.931,
        cyrillic=0.398,
        emoji=2.510,
        symbol=2.683,
    ),
    Family.NEWER: _Rates(
        start=0.388,
        letter=0.213,
        upper=0.707,
        change=0.684,
        digit=0.561,
        marks=1.306,
        four_marks=0.628,
        line=0.801,
        indent=1.495,
        han=0.946,
        cyrillic=0.409,
        emoji=2.585,
        symbol=2.437,
    ),
}

# Orders of magnitude, rounded up and not fitted: an estimate that is too low overflows, one that is too high
# compacts a little early.
_ACCENTED = 1.4
_KANA = 1.1
_HANGUL = 1.3
_TWO_BYTE_SCRIPT = 0.9
_THREE_BYTE_SCRIPT = 1.3
_SPACE = 0.01
_LONG_RUN = 16
"""Letters of one case in a row that no word has. The fit has no such text, whose tokens are short."""
_LONG_RUN_TOKENS = 0.2 * _LONG_RUN

_LEADS = (
    (0xC3, "S"),  # signs of Latin-1
    (0xCC, "L"),  # accented Latin
    (0xD0, "T"),  # combining marks, Greek
    (0xD4, "C"),  # Cyrillic
    (0xE0, "T"),  # Armenian, Hebrew, Arabic
    (0xE2, "B"),  # Indic, Thai, Georgian and other scripts of three bytes
    (0xE3, "S"),  # dashes, quotes, arrows, dingbats, joiners
    (0xE4, "K"),  # kana, and the marks of Chinese and Japanese
    (0xEA, "H"),  # Han
    (0xEE, "G"),  # Hangul
    (0xF0, "S"),  # full-width forms, variation selectors
    (0x100, "E"),  # emoji, and rare letters
)
"""UTF-8 lead bytes below a bound, and the class of the characters that they start."""


def _class_of(byte: int) -> str:
    char = chr(byte)
    if not char.isascii():
        return next(name for bound, name in _LEADS if byte < bound)
    if char.isalnum():
        return "0" if char.isdigit() else "a" if char.islower() else "A"
    return "\n" if char == "\n" else " " if char in " \t\r" else "."


def _renamed(pairs: dict[str, str], otherwise: str) -> bytes:
    """A translation table from class names to coarser ones."""
    return "".join(pairs.get(chr(byte), otherwise) for byte in range(256)).encode()


_CLASSES = "".join(_class_of(byte) for byte in range(256)).encode()
_CONTINUATION = bytes(range(0x80, 0xC0))
_MARK_RUNS = _renamed({".": "."}, "x")
_STARTS = _renamed({" ": " ", "\n": " ", "a": "a", "A": "a", "0": "a"}, "x")
_CHANGES = (b"aA", b"a0", b"A0", b"0a", b"0A")
_CJK_MARK = b"\xe3\x80"


def text_tokens(text: str, *, family: Family) -> float:
    """The tokens of ``text`` alone, without the framing of a message. Not rounded, so that parts can be
    added.
    """
    if not text:
        return 0.0
    rates = _RATES[family]
    plain = text.isascii()
    raw = text.encode("utf-8", "surrogatepass")
    if plain:
        classes = b"\n" + raw.translate(_CLASSES)
    else:
        classes = b"\n" + raw.translate(_CLASSES, _CONTINUATION)
    count = classes.count
    small, capitals = count(b"a"), count(b"A")
    total = (
        rates.start * classes.translate(_STARTS).count(b" a")
        + rates.letter * (small + capitals)
        + rates.upper * capitals
        + rates.change * sum(count(pair) for pair in _CHANGES)
        + rates.digit * count(b"0")
        + rates.marks * classes.translate(_MARK_RUNS).count(b"x.")
        + rates.four_marks * count(b"....")
        + rates.line * (count(b"\n") - 1)
        + rates.indent * count(b"\n ")
        + _SPACE * count(b" ")
        + _LONG_RUN_TOKENS * count(b"a" * _LONG_RUN)
    )
    return total if plain else total + _foreign(raw, classes, rates)


def _foreign(raw: bytes, classes: bytes, rates: _Rates) -> float:
    count = classes.count
    cjk_marks = raw.count(_CJK_MARK)
    return (
        rates.han * count(b"H")
        + rates.cyrillic * count(b"C")
        + rates.emoji * count(b"E")
        + rates.symbol * (count(b"S") + cjk_marks)
        + _KANA * (count(b"K") - cjk_marks)
        + _ACCENTED * count(b"L")
        + _HANGUL * count(b"G")
        + _TWO_BYTE_SCRIPT * count(b"T")
        + _THREE_BYTE_SCRIPT * count(b"B")
    )
