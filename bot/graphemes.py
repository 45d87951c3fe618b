"""What people see as one character. Pure."""

from __future__ import annotations

import unicodedata

_ZERO_WIDTH_JOINER = "\u200d"
_CONTINUING = (
    (0x1160, 0x11FF),  # Hangul vowels and final consonants
    (0xD7B0, 0xD7FF),
    (0xFF9E, 0xFF9F),  # half-width voicing marks
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0xE0020, 0xE007F),  # tags, as in the flag of Scotland
)


def is_boundary(text: str, place: int, start: int) -> bool:
    """Whether no character as people see it spans a place; in doubt it does. https://unicode.org/reports/tr29/"""
    if place in {0, len(text)}:
        return True
    before, after = text[place - 1], text[place]
    if before == _ZERO_WIDTH_JOINER or (before, after) == ("\r", "\n") or _continues(after):
        return False
    if not _is_flag_half(after):
        return True
    first = place
    while first > start and _is_flag_half(text[first - 1]):
        first -= 1
    return (place - first) % 2 == 0


def _continues(character: str) -> bool:
    if character < "\u0300":
        return False
    if character == _ZERO_WIDTH_JOINER or unicodedata.category(character).startswith("M"):
        return True
    return any(first <= ord(character) <= last for first, last in _CONTINUING)


def _is_flag_half(character: str) -> bool:
    """Two regional indicators make one flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"
