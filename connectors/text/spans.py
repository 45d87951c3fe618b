"""Marked stretches of a text. Pure. Places are counted in characters."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from connectors.text.cutting import Stretch

Kind = Literal[
    "bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote",
    "heading",  # Discord's, its size in ``level``
    "bullet",
    "raw",  # a bare address: what must not be escaped
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    kind: Kind
    start: int
    end: int
    url: str | None = None
    language: str | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Marked:
    """A text as people see it, and what is marked in it. Of two spans that overlap, one is within the other."""

    text: str
    spans: Sequence[Span]


class Spans:
    """Spans in the order of their starts, the outer first, to be looked up by place."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.all = sorted(spans, key=lambda span: (span.start, -span.end))
        self._starts = [span.start for span in self.all]
        self._reach = list(accumulate((span.end for span in self.all), max))

    def __iter__(self) -> Iterator[Span]:
        return iter(self.all)

    def within(self, start: int, end: int) -> Iterator[Span]:
        """What is marked between two places, cut off there."""
        first, last = bisect_right(self._reach, start), bisect_left(self._starts, end)
        for span in self.all[first:last]:
            if span.end > start:
                yield replace(span, start=max(span.start, start), end=min(span.end, end))


class Whole:
    """What is not to be cut: links and code. Code blocks may be, after a line."""

    reserve = 0

    def __init__(self, spans: Iterable[Span]) -> None:
        self._stretches: list[Stretch] = []
        for span in outermost(span for span in spans if span.kind in {"pre", "code", "text_link", "raw", "bullet"}):
            content, close = (span.start, span.end) if span.kind == "pre" else (span.end, span.start)
            self._stretches.append(Stretch(span.start, content, close, span.end))
        self._opens = [stretch.opens for stretch in self._stretches]

    def around(self, place: int) -> Stretch | None:
        """The stretch on both sides of a place."""
        index = bisect_left(self._opens, place) - 1
        stretch = self._stretches[index] if index >= 0 else None
        return stretch if stretch and place < stretch.end else None


def outermost(spans: Iterable[Span]) -> list[Span]:
    """The spans that are in no other of them."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not found or span.start >= found[-1].end:
            found.append(span)
    return found


def trimmed(span: Span, text: str) -> Span | None:
    """Without white space at its ends, but for the indentation of code; None if nothing is left."""
    content = text[span.start : span.end]
    if span.kind == "pre":
        left = len(content) - len(content.lstrip())
        start = span.start + content.rfind("\n", 0, left) + 1
    else:
        start = span.start + len(content) - len(content.lstrip())
    end = span.start + len(content.rstrip())
    if start == span.start and end == span.end:
        return span
    return replace(span, start=start, end=end) if start < end else None


def resolved(marked: Marked, *, code_in_quotes: bool) -> list[Span]:
    """The spans such that nothing contains code or is contained in it, and none is in one of its own kind.

    A link keeps its address and loses its code. Without ``code_in_quotes`` so does a quote, but code blocks
    interrupt it instead. https://core.telegram.org/bots/api#formatting-options
    """
    keepers = {"text_link"} if code_in_quotes else {"text_link", "blockquote"}
    around = Spans(outermost(span for span in marked.spans if span.kind in keepers))
    solid = Spans(
        span
        for span in marked.spans
        if span.kind == "pre" or (span.kind == "code" and not any(True for _ in around.within(span.start, span.end)))
    )
    cut = [span for span in marked.spans if span.kind not in {"pre", "code"}]
    quotes = [span for span in cut if span.kind == "blockquote"] if code_in_quotes else []
    pieces = [piece for span in cut if not (quotes and span.kind == "blockquote") for piece in without(span, solid)]
    found = [trimmed(span, marked.text) for span in (*solid, *quotes, *pieces)]
    return _once(span for span in found if span)


def without(span: Span, holes: Spans) -> Iterator[Span]:
    """What is left of a span beside others."""
    start = span.start
    for hole in holes.within(span.start, span.end):
        if start < hole.start:
            yield replace(span, start=start, end=hole.start)
        start = hole.end
    if start < span.end:
        yield replace(span, start=start, end=span.end)


def _once(spans: Iterable[Span]) -> list[Span]:
    """Without those that are in another of the same kind."""
    reach: dict[Kind, int] = {}
    found = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.end > reach.get(span.kind, 0):
            reach[span.kind] = span.end
            found.append(span)
    return found
