"""Where a text is cut into messages. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

from bot.estimate.cuts import is_boundary
from connectors.text.measure import Measure

_PARAGRAPH = re.compile(r"(?<=\S)(?=[^\S\n]*\n[^\S\n]*\n)")
_LINE = re.compile(r"(?<=\S)(?=[^\S\n]*\n)")
_SENTENCE = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[.!?…][\"')\]”’»])(?=\s)|(?<=[。！？])")
_SPACE = re.compile(r"(?<=\S)(?=[^\S\u00a0\u202f])")
_AT_A_CUT = re.compile(r"\s*\n|\s+")
"""What a cut swallows: white space, but not the indentation of the next line."""

_CUTS: tuple[tuple[re.Pattern[str], int, bool], ...] = (
    (_PARAGRAPH, 2, False),
    (_LINE, 2, False),
    (_SENTENCE, 2, False),
    (_LINE, 8, False),
    (_PARAGRAPH, 2, True),
    (_LINE, 2, True),
    (_SPACE, 8, True),
)
"""Where to cut, the best first: a boundary, the part (1/n) of the room that is full by then, in code too?

The floor keeps pieces from becoming tiny and the work linear: each piece looks at no more than its own room.
"""


@dataclass(frozen=True)
class Stretch:
    """A part of the text that is cut only where there is no other way.

    Between ``content`` and ``close`` is code, which may be cut after a line; elsewhere it is not cut.
    """

    opens: int
    content: int
    close: int
    end: int

    def is_code(self, place: int) -> bool:
        """Whether a place is within the code."""
        return self.content < place < self.close


class Kept(Protocol):
    """The stretches of a text."""

    @property
    def reserve(self) -> int:
        """Units that closing any of the stretches takes."""

    def around(self, place: int) -> Stretch | None:
        """The stretch on both sides of a place."""


def cut(text: str, start: int, room: int, kept: Kept, measure: Measure) -> int:
    """Where the piece that begins at ``start`` ends. Raises ValueError where the room is below one character."""
    end = _furthest(text, start, room, measure)
    if end == len(text):
        return end
    end = _furthest(text, start, room - kept.reserve, measure)
    for boundary, share, in_code in _CUTS:
        earliest = start + max(1, (end - start) // share)
        for found in reversed(list(boundary.finditer(text, earliest, min(end + 2, len(text))))):
            if found.start() <= end and _is_fit(text, found.start(), start, kept, in_code=in_code):
                return found.start()
    return _off_the_edge(end, start, kept)


def _is_fit(text: str, cut: int, start: int, kept: Kept, *, in_code: bool) -> bool:
    stretch = kept.around(cut)
    if stretch and (not in_code or not stretch.is_code(cut)):
        return False
    return is_boundary(text, resume(text, cut), start) and is_boundary(text, cut, start)


def _off_the_edge(cut: int, start: int, kept: Kept) -> int:
    """A cut that would fall into a fence itself, or into a link, goes before it."""
    stretch = kept.around(cut)
    if not stretch or stretch.is_code(cut):
        return cut
    within = cut <= stretch.content or stretch.close <= stretch.content + 1
    before = stretch.opens if within else stretch.close - 1
    return before if before > start else cut


def _furthest(text: str, start: int, room: int, measure: Measure) -> int:
    """The last place between characters, as people see them, that stays within ``room`` units."""
    reach = min(room, len(text) - start)
    count = bisect_right(range(reach + 1), room, key=lambda length: measure(text[start : start + length])) - 1
    if count < 1:
        raise ValueError("the limit is too small for one character")
    furthest = start + count
    for end in range(furthest, start, -1):
        if is_boundary(text, end, start):
            return end
    return furthest


def resume(text: str, cut: int) -> int:
    """Where the next piece begins."""
    found = _AT_A_CUT.match(text, cut)
    return found.end() if found else cut
