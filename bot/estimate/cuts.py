"""Where a text is cut for a model: between words, never in a word, a number, an id or any other value, never in a
character as people see it, and with a mark where something is missing.

A model takes what it is shown for the whole: of "ORDER is ORD-5512…" cut from ORD-55123 it makes an order that does not
exist. So a cut goes where a blank is, and in writing without blanks (Chinese, Japanese, Thai and others) between
characters, but not beside a digit. What people see as one character (:func:`is_boundary`) may be several code points.
Pure.
"""

from __future__ import annotations

import re
import unicodedata

MARK = "…"
_LONGEST_VALUE = 256
"""Characters: what is so long without a blank, at the place of the cut, is no value that anybody would name."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u2e80-\u2fff\u3001-\u312f\u31f0-\u9fff\ua9e0-\ua9ff"
    "\uaa60-\uaa7f\uf900-\ufaff\uff01-\uff0c\uff0e-\uff0f\uff1a-\uff20\uff5b-\uff9f\U00020000-\U000323af"
    "\U0001f000-\U0001faff\u2600-\u27bf]"
)
"""Writing that has no blanks between words, its punctuation, and emoji."""
_LEADS = re.compile("[\u0e40-\u0e44\u0ec0-\u0ec4]")
_FOLLOWS = re.compile("[\u0e30\u0e32\u0e33\u0e45-\u0e47\u0eb0\u0eb2\u0eb3\u0ec6ーゝゞヽヾ々]")
"""Vowels of Thai and Lao that are read with the letter behind or before them, and signs that repeat or lengthen."""
_NUMERAL = re.compile("[〇零一二三四五六七八九十百千万亿兩两萬億]")
"""Digits of Chinese and Japanese, which belong to what stands beside them as others do."""
_JOINING = re.compile(r"[-_./\\@#:+=&~’']|\uff0d")
_ENDS_A_STRETCH = re.compile(r"[\s\u3001\u3002\uff0c\uff1b\uff1a\uff01\uff1f\uff08\uff09\u300c-\u3011()\[\]<>“”\"]")
_IN_A_PATH = re.compile(r"[/\\@_]")
_LOOK = 80
"""Characters on either side of a place in which a path or an address is looked for."""
_UNBROKEN_BLANKS = "\u00a0\u202f\u2007\u2060"
_ZERO_WIDTH_JOINER = "\u200d"
_CONTINUING = (
    (0x1160, 0x11FF),  # Hangul vowels and final consonants
    (0xD7B0, 0xD7FF),
    (0xFF9E, 0xFF9F),  # half-width voicing marks
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0xE0020, 0xE007F),  # tags, as in the flag of Scotland
)


def beginning(text: str, most: int, mark: str = MARK) -> str:
    """About ``most`` characters from the beginning of a text, mark included; whole where it is no longer.

    A value that stands across the place is left out; one that a text begins with is kept whole, and then the result may
    be longer than ``most``.
    """
    if len(text) <= most:
        return text
    cut = cut_before(text, most - len(mark) - 1) or _end_of_first(text)
    shown = text[:cut].rstrip()
    if not shown or cut == len(text):
        return text if cut == len(text) else mark
    between = " " if text[cut : cut + 1].isspace() or text[cut - 1].isspace() else ""
    return f"{shown}{between}{mark}"


def one_line(text: str, most: int) -> str:
    """The beginning of a text, as :func:`beginning` cuts it, with one space for each run of white space."""
    return beginning(" ".join(beginning(text, 4 * most).split()), most)


def ending(text: str, most: int) -> str:
    """About ``most`` characters from the end of a text, without a mark; whole where it is no longer."""
    return text if len(text) <= most else text[cut_after(text, len(text) - most) :]


def head_of(text: str, most: int) -> str:
    """At most ``most`` characters from the beginning of a text, without a mark: for what is searched and not shown."""
    return text if len(text) <= most else text[: cut_before(text, most)]


def head_and_end_of(text: str, most: int, between: str = f"\n{MARK}\n") -> str:
    """The beginning and the end of a text, at most ``most`` characters of it together."""
    half = most // 2
    return text if len(text) <= most else f"{head_of(text, half)}{between}{ending(text, half)}"


def cut_before(text: str, place: int) -> int:
    """The last place up to this one where a text may be cut; 0 where there is none. Of a stretch that is too long for a
    value the last place between two characters."""
    if place >= len(text):
        return len(text)
    place = max(0, place)
    for at in range(place, max(0, place - _LONGEST_VALUE), -1):
        if may_cut(text, at):
            return at
    if place <= _LONGEST_VALUE:
        return 0
    return next((at for at in range(place, 0, -1) if is_boundary(text, at, max(0, at - _LONGEST_VALUE))), place)


def cut_after(text: str, place: int) -> int:
    """The first place from this one on where a text may be cut; the text's length where there is none."""
    place = max(0, place)
    for at in range(place, min(len(text), place + _LONGEST_VALUE)):
        if may_cut(text, at):
            return at
    if len(text) - place <= _LONGEST_VALUE:
        return len(text)
    return next(at for at in range(place, len(text) + 1) if is_boundary(text, at, max(0, at - _LONGEST_VALUE)))


def may_cut(text: str, place: int) -> bool:
    """Whether neither a word nor a value nor a character, as people see it, stands across this place."""
    if place <= 0 or place >= len(text):
        return True
    before, after = text[place - 1], text[place]
    if before in _UNBROKEN_BLANKS or after in _UNBROKEN_BLANKS:
        return False
    if before.isspace() or after.isspace():
        return not _is_between_digits(text, place) and is_boundary(text, place, place - 1)
    if _is_digit(before) or _is_digit(after) or _JOINING.match(before) or _JOINING.match(after):
        return False
    if not (_UNSPACED.match(before) or _UNSPACED.match(after)) or _LEADS.match(before) or _FOLLOWS.match(after):
        return False
    return is_boundary(text, place, max(0, place - _LONGEST_VALUE)) and not _is_in_a_path(text, place)


def _is_between_digits(text: str, place: int) -> bool:
    """Whether the one blank here stands in a number (12 345) or between two."""
    at = place if text[place].isspace() else place - 1
    return text[at] == " " and text[at - 1 : at].isdecimal() and text[at + 1 : at + 2].isdecimal()


def _is_in_a_path(text: str, place: int) -> bool:
    """Whether a path or an address in writing without blanks stands across this place."""
    before = _ENDS_A_STRETCH.split(text[max(0, place - _LOOK) : place])[-1]
    after = _ENDS_A_STRETCH.split(text[place : place + _LOOK], maxsplit=1)[0]
    return bool(before and after and _IN_A_PATH.search(before + after))


def _is_digit(character: str) -> bool:
    return character.isnumeric() or bool(_NUMERAL.match(character))


def _end_of_first(text: str) -> int:
    """Where the word or value ends that a text begins with; where it is too long for one, a place within it."""
    longest = min(len(text), _LONGEST_VALUE)
    end = next((at for at in range(1, longest + 1) if may_cut(text, at)), None)
    if end is not None:
        return end
    return next(at for at in range(longest, 0, -1) if is_boundary(text, at, 0) or at == 1)


def middle_of(text: str) -> int:
    """A place to halve a text of at least two characters at: near its middle, where it may be cut if it may be."""
    half = len(text) // 2
    place = cut_before(text, half) or cut_after(text, half)
    if 0 < place < len(text):
        return place
    return next((at for at in range(half, 0, -1) if is_boundary(text, at, max(0, at - _LONGEST_VALUE))), half)


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
