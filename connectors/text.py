"""Cutting a text into messages that a platform takes. Pure.

A limit counts units of a ``measure``: UTF-16 units for Telegram (https://core.telegram.org/bots/api#sendmessage),
characters for Discord (``len``). A measure is a sum over characters, at least 1 for each.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

Measure = Callable[[str], int]

ELLIPSIS = "…"

_PARAGRAPH = re.compile(r"(?<=\S)(?=[^\S\n]*\n[^\S\n]*\n)")
_LINE = re.compile(r"(?<=\S)(?=[^\S\n]*\n)")
_SENTENCE = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[.!?…][\"')\]”’»])(?=\s)|(?<=[。！？])")
_SPACE = re.compile(r"(?<=\S)(?=[^\S\u00a0\u202f])")
_FENCE = re.compile(r"^[ \t]*(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
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

_ZERO_WIDTH_JOINER = "\u200d"
_CONTINUING = (
    (0x1160, 0x11FF),  # Hangul vowels and final consonants
    (0xD7B0, 0xD7FF),
    (0xFF9E, 0xFF9F),  # half-width voicing marks
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0xE0020, 0xE007F),  # tags, as in the flag of Scotland
)


def utf16_length(text: str) -> int:
    """The length in UTF-16 units: 2 for a character beyond U+FFFF, such as most emoji."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split(text: str, limit: int, *, measure: Measure = utf16_length) -> list[str]:
    """Cut a text into pieces of at most ``limit`` units; none for a text that is only white space.

    A cut is made after a paragraph, else a line, a sentence, a word, and never inside of what people see as
    one character unless that alone is over the limit. Code between fences stays whole where it can; where
    it cannot, it is closed, and opened again with its language in the next piece. Only white space at the
    cuts is lost. Raises ValueError where the limit is below a single character.
    """
    if measure(text) <= limit:
        return [text] if text.strip() else []
    fences = _Fences.of(text, longest=limit // 8, measure=measure)
    pieces = []
    start = 0
    while start < len(text):
        block = fences.around(start)
        opening = f"{block.header}\n" if block else ""
        cut = _cut(text, start, limit - measure(opening), fences, measure)
        piece, start, closing = text[start:cut], cut, ""
        if cut < len(text):
            piece, start = piece.rstrip(), _resume(text, cut)
            block = fences.around(cut)
            if block:
                closing = block.closing
                start = start if start < block.close else _resume(text, block.end)
        if piece.strip():
            pieces.append(opening + piece + closing)
    return pieces


def shorten(text: str, limit: int, *, measure: Measure = utf16_length) -> str:
    """The beginning of a text, with an ellipsis on a line of its own where something was left out."""
    if measure(text) <= limit:
        return text
    more = f"\n{ELLIPSIS}"
    pieces = split(text[:limit], limit - measure(more), measure=measure)
    return (pieces[0] if pieces else "") + more


@dataclass(frozen=True)
class _Block:
    """A fenced code block: ``opens`` < ``content`` <= ``close`` <= ``end`` are places in the text."""

    opens: int
    content: int
    close: int
    end: int
    header: str
    marker: str

    @property
    def closing(self) -> str:
        indent = self.header[: len(self.header) - len(self.header.lstrip())]
        return f"\n{indent}{self.marker}"

    def is_code(self, place: int) -> bool:
        """Whether a place is within the code, not within a fence."""
        return self.content < place < self.close


@dataclass(frozen=True)
class _Fences:
    blocks: tuple[_Block, ...]
    reserve: int
    """Units that closing any of the blocks takes."""

    @classmethod
    def of(cls, text: str, *, longest: int, measure: Measure) -> _Fences:
        """The code blocks of a text. A fence of ``longest`` units or more is none: it would take the room."""
        blocks: list[_Block] = []
        opened: re.Match[str] | None = None
        for fence in _FENCE.finditer(text):
            info = fence["info"]
            if measure(fence[0].rstrip()) >= longest:
                continue
            if opened is None:
                opened = None if "`" in info and fence["marker"].startswith("`") else fence
            elif fence["marker"].startswith(opened["marker"]) and not info.strip():
                blocks.append(_block(opened, fence.start(), fence.end("marker")))
                opened = None
        if opened is not None:
            blocks.append(_block(opened, len(text), len(text)))
        return cls(tuple(blocks), max((measure(block.closing) for block in blocks), default=0))

    def around(self, place: int) -> _Block | None:
        """The block whose fences stand on both sides of a place."""
        index = bisect_right(self.blocks, place - 1, key=lambda block: block.opens) - 1
        block = self.blocks[index] if index >= 0 else None
        return block if block and place < block.end else None


def _block(opened: re.Match[str], close: int, end: int) -> _Block:
    return _Block(opened.start(), opened.end() + 1, close, end, opened[0].rstrip(), opened["marker"])


def _cut(text: str, start: int, room: int, fences: _Fences, measure: Measure) -> int:
    """Where the piece that begins at ``start`` ends."""
    end = _furthest(text, start, room, measure)
    if end == len(text):
        return end
    end = _furthest(text, start, room - fences.reserve, measure)
    for boundary, share, in_code in _CUTS:
        earliest = start + max(1, (end - start) // share)
        for found in reversed(list(boundary.finditer(text, earliest, min(end + 2, len(text))))):
            if found.start() <= end and _is_fit(text, found.start(), start, fences, in_code=in_code):
                return found.start()
    return _off_the_fence(end, start, fences)


def _is_fit(text: str, cut: int, start: int, fences: _Fences, *, in_code: bool) -> bool:
    block = fences.around(cut)
    if block and (not in_code or not block.is_code(cut)):
        return False
    return _is_boundary(text, _resume(text, cut), start) and _is_boundary(text, cut, start)


def _off_the_fence(cut: int, start: int, fences: _Fences) -> int:
    """A cut that would fall into a fence itself goes before it."""
    block = fences.around(cut)
    if not block or block.is_code(cut):
        return cut
    before = block.opens if cut <= block.content or block.close <= block.content + 1 else block.close - 1
    return before if before > start else cut


def _furthest(text: str, start: int, room: int, measure: Measure) -> int:
    """The last place between characters, as people see them, that stays within ``room`` units."""
    reach = min(room, len(text) - start)
    count = bisect_right(range(reach + 1), room, key=lambda length: measure(text[start : start + length])) - 1
    if count < 1:
        raise ValueError("the limit is too small for one character")
    furthest = start + count
    for end in range(furthest, start, -1):
        if _is_boundary(text, end, start):
            return end
    return furthest


def _resume(text: str, cut: int) -> int:
    found = _AT_A_CUT.match(text, cut)
    return found.end() if found else cut


def _is_boundary(text: str, place: int, start: int) -> bool:
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
