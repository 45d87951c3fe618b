"""Which characters of a model's text may go out. Pure."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\x85]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of the text after them, which Telegram takes out too."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc")
"""Letters and marks by their category that show nothing."""


def clean(text: str) -> str:
    """The text with one kind of line end, and without control characters and halves of characters."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", _SURROGATES.sub(REPLACEMENT, _LINE_ENDS.sub("\n", text)))


def is_blank(text: str) -> bool:
    """Whether people see nothing of a text: Telegram refuses such a message."""
    return all(
        character.isspace()
        or character in _BLANK
        or (character >= "\x80" and unicodedata.category(character) in {"Cf", "Mn", "Cc"})
        for character in text
    )
