"""What a new summary says with another value than was said before: that is not to stand below it once more. Pure.

::

    The theatre deadline of lot 4 is | signature 9478-10.       what was said before
    The theatre deadline of lot 4 is | press 8133-36.           the line of the summary
    └──────────── frame ───────────┘   └──── end ────┘

No word is read: the first words of a line say what it is about, and what stands behind them has a value. What is a
list (several lines of one frame) has no newer value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"[\d_]")
_BEGINS = 3
"""Words with which two lines begin that may be about one thing."""
_FRAME = 0.6
"""Of the words of a line: its frame."""
_Words = tuple[str, ...]


def words_of(text: str) -> _Words:
    """Its words, in one case."""
    return tuple(_WORD.findall(text.casefold()))


def outdated_lines(told: Iterable[str], summary: Iterable[str]) -> frozenset[str]:
    """The lines of an earlier summary that the new one, whose writer had them, says with another value."""
    new, old = _by_beginning(summary), _by_beginning(told)
    found: set[str] = set()
    for beginning, lines in old.items():
        for line, words in lines.items():
            least = _frame_of(words)
            alike = [other for other in new.get(beginning, {}).values() if other[:least] == words[:least]]
            siblings = [other for other in lines.values() if other[:least] == words[:least]]
            if len(alike) == len(siblings) == 1 and _differ(_values(words[least:]), _values(alike[0][least:])):
                found.add(line)
    return frozenset(found)


def outdated_values(said: Iterable[tuple[int, str]], summary: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Texts that were ``said`` (behind the number of their entry), of which a later one has the value of the summary's
    line; and the values that they had in its place."""
    frames = _ends(summary)
    places: dict[_Words, list[tuple[int, str, frozenset[str]]]] = {}
    for seq, text in said:
        words = words_of(text)
        for at in range(len(words) - _BEGINS):
            for frame, end in frames.get(words[at : at + _BEGINS], {}).items():
                behind = at + len(frame)
                if words[at:behind] == frame:
                    places.setdefault(frame, []).append((seq, text, _values(words[behind : behind + len(end)])))
    found: dict[str, frozenset[str]] = {}
    for frame, there in places.items():
        now = _values(frames[frame[:_BEGINS]][frame])
        last = max((seq for seq, _, values in there if now and values >= now), default=0)
        for seq, text, values in there:
            if seq < last and _differ(values, now):
                found[text] = found.get(text, frozenset()) | (values - now)
    return found


def _ends(summary: Iterable[str]) -> Mapping[_Words, Mapping[_Words, _Words]]:
    """What stands behind each frame of which there is one line, by the beginning of the frame."""
    found: dict[_Words, dict[_Words, list[_Words]]] = {}
    for beginning, lines in _by_beginning(summary).items():
        for words in lines.values():
            least = _frame_of(words)
            found.setdefault(beginning, {}).setdefault(words[:least], []).append(words[least:])
    return {
        beginning: {frame: ends[0] for frame, ends in frames.items() if len(ends) == 1}
        for beginning, frames in found.items()
    }


def _by_beginning(lines: Iterable[str]) -> dict[_Words, dict[str, _Words]]:
    """Each line with its words, by the first of them."""
    found: dict[_Words, dict[str, _Words]] = {}
    for line in lines:
        words = words_of(line)
        if len(words) > _BEGINS:
            found.setdefault(words[:_BEGINS], {})[line] = words
    return found


def _frame_of(words: _Words) -> int:
    return max(_BEGINS, math.ceil(_FRAME * len(words)))


def _values(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if _VALUE.search(word))


def _differ(values: frozenset[str], others: frozenset[str]) -> bool:
    """Whether each has one that the other has not."""
    return bool(values - others) and bool(others - values)
