"""Cutting Markdown as it stands, its code blocks closed and opened again. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from connectors.text.cutting import Stretch, cut, resume
from connectors.text.measure import ELLIPSIS, Measure, utf16_length

_FENCE = re.compile(r"^[ \t]*(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


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
        end = cut(text, start, limit - measure(opening), fences, measure)
        piece, start, closing = text[start:end], end, ""
        if end < len(text):
            piece, start = piece.rstrip(), resume(text, end)
            block = fences.around(end)
            if block:
                closing = block.closing
                start = start if start < block.close else resume(text, block.end)
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
class _Block(Stretch):
    """A fenced code block: ``opens`` < ``content`` <= ``close`` <= ``end``."""

    header: str
    marker: str

    @property
    def closing(self) -> str:
        indent = self.header[: len(self.header) - len(self.header.lstrip())]
        return f"\n{indent}{self.marker}"


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
