"""Markdown as Discord's dialect of it. Pure.

https://support.discord.com/hc/en-us/articles/210298617 Its apps read it with regular expressions, without
CommonMark's rules for what can open and close; so marks are closed at every line's end, and never nested in code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import quote

from connectors.text.clean import is_blank
from connectors.text.cutting import cut, resume
from connectors.text.escaping import Dangers, code_block, code_span, escaped
from connectors.text.layout import Looks, laid_out
from connectors.text.links import discord_takes
from connectors.text.parsing import parse
from connectors.text.spans import Kind, Span, Spans, Whole, resolved, trimmed, without

_LOOKS = Looks(takes_link=discord_takes, bullet="- ", task_bullet="- ", headings=3)
_MARKERS: dict[Kind, str] = {"bold": "**", "italic": "*", "strikethrough": "~~"}
_BETWEEN = "\N{ZERO WIDTH SPACE}"
"""Keeps the stars that close from those that open."""
_IN_MARKERS = frozenset("*~|`")
_IN_THE_WAY = re.compile(r"[()*`|]")
"""What would end a link's address, or a style around it."""
_ENDS_STRIKE = re.compile("~~|~$")
"""Escaped or not: then the text is better not struck at all."""
_SWALLOWED = re.compile(r"[^\s<]*[\\`*_~|\[]")
_SPACE = re.compile(r"[\s<]")


def for_discord(markdown: str, limit: int = 2000) -> list[str]:
    """A reply as messages of at most ``limit`` characters; none where people would see nothing.

    Takes any text, whole or only begun. Raises ValueError where the limit is too small for a character and its
    marks.
    """
    marked = laid_out(parse(markdown), _LOOKS)
    page = _Page(marked.text, resolved(marked, code_in_quotes=True))
    whole = Whole(marked.spans)
    messages = []
    start = 0
    while start < len(page.text):
        end, message = _longest(page, start, limit, whole)
        if not is_blank(page.text[start:end]):
            messages.append(message)
        start = resume(page.text, end)
    return messages


def _longest(page: _Page, start: int, limit: int, whole: Whole) -> tuple[int, str]:
    """The next message, and where it ends. What marks it takes room as well, so less and less is tried."""
    room = limit
    while True:
        end = cut(page.text, start, room, whole, len)
        message = page.written(start, end)
        if len(message) <= limit:
            return end, message
        room = min(room - 1, room * limit // len(message), end - start - 1)


@dataclass(frozen=True)
class _Active:
    """What is open at a place."""

    kind: Kind
    url: str | None


@dataclass(frozen=True)
class _Chunk:
    """A piece of a line as it is written."""

    text: str
    is_address: bool = False
    closes: bool = False
    """Whether it ends a style. Discord looks for that before it looks for addresses."""


class _Page:
    """The whole reply, of which any stretch can be written."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self.text = text
        self._blocks = Spans(span for span in spans if span.kind in {"pre", "blockquote", "heading"})
        inline = [span for span in spans if span.kind not in {"pre", "blockquote", "heading"}]
        # Markers within an address would end a style around it, so it has none.
        bare = Spans(span for span in inline if span.kind == "raw" and set(text[span.start : span.end]) & _IN_MARKERS)
        self._inline = Spans(
            piece
            for span in inline
            if span.kind != "strikethrough" or not _ENDS_STRIKE.search(text, span.start, span.end)
            for part in (without(span, bare) if span.kind in _MARKERS else (span,))
            for piece in _by_line(part, text)
        )

    def written(self, start: int, end: int) -> str:
        """The dialect for what is between two places, without white space around it."""
        blocks = list(self._blocks.within(start, end))
        codes = {code.start: code for span in blocks if span.kind == "pre" and (code := trimmed(span, self.text))}
        quotes = [span for span in blocks if span.kind == "blockquote"]
        headings = [span for span in blocks if span.kind == "heading"]
        dangers = self._dangers(start, end)
        lines: list[str] = []
        place = start
        while place < end:
            code = codes.get(place)
            stop = code.end if code else self._end_of_line(place, end)
            ink = self._first_ink(place, stop)
            if code:
                written = code_block(self.text[code.start : code.end], code.language)
            else:
                heading = _around(headings, ink)
                written = self._line(place, stop, heading.level if heading else 0, dangers).rstrip()
            quoted = _around(quotes, ink)
            lines += [f"> {line}" for line in written.split("\n")] if quoted else [written]
            place = stop + 1
        return "\n".join(lines).strip()

    def _dangers(self, start: int, end: int) -> Dangers:
        spans = [*self._blocks.within(start, end), *self._inline.within(start, end)]
        verbatim = (self.text[span.start : span.end] for span in spans if span.kind in {"pre", "code", "raw"})
        has_links = any(span.kind == "text_link" for span in spans)
        return Dangers.of(self.text[start:end], verbatim, has_links=has_links)

    def _end_of_line(self, place: int, end: int) -> int:
        found = self.text.find("\n", place, end)
        return found if found >= 0 else end

    def _first_ink(self, start: int, end: int) -> int:
        line = self.text[start:end]
        return start + len(line) - len(line.lstrip())

    def _line(self, start: int, end: int, level: int, dangers: Dangers) -> str:
        spans = [span for piece in self._inline.within(start, end) if (span := trimmed(piece, self.text))]
        opening = "#" * level + " " if level else ""
        return opening + "".join(_apart(self._stretches(start, end, spans, dangers, at_start=not level)))

    def _stretches(
        self, start: int, end: int, spans: Sequence[Span], dangers: Dangers, *, at_start: bool
    ) -> Iterator[_Chunk]:
        """Text and markers in turn: between two places where a span begins or ends, the same ones are open."""
        places = sorted({start, end, *(place for span in spans for place in (span.start, span.end))})
        open_now: list[_Active] = []
        waiting = list(reversed(spans))
        current: list[Span] = []
        for place, until in pairwise(places):
            current = [span for span in current if span.end > place]
            while waiting and waiting[-1].start <= place:
                current.append(waiting.pop())
            text = self.text[place:until]
            wanted = _stack(current)
            yield from _change(open_now, wanted)
            open_now = wanted
            kinds = {active.kind for active in wanted}
            if "code" in kinds:
                yield _Chunk(code_span(text, dangers))
            elif kinds & {"raw", "bullet"}:
                yield _Chunk(text, is_address="raw" in kinds)
            else:
                literal = escaped(
                    text,
                    dangers,
                    before=self.text[place - 1] if place > start else "",
                    after=self.text[until] if until < end else "",
                    at_start=at_start,
                    styled=bool(kinds & _MARKERS.keys()),
                )
                yield _Chunk(literal)
            at_start = at_start and ("bullet" in kinds or not text.strip())
        yield from _change(open_now, [])


def _apart(chunks: Iterable[_Chunk]) -> Iterator[str]:
    """The chunks, and a space after an address that would swallow the markup behind it."""
    address, before = False, ""
    for chunk in chunks:
        if before.endswith("`") and chunk.text.startswith("`"):
            yield _BETWEEN
        before = chunk.text or before
        if address and not chunk.closes and _SWALLOWED.match(chunk.text):
            yield " "
            address = False
        if chunk.is_address:
            address = True
        elif chunk.closes or _SPACE.search(chunk.text):
            address = False
        yield chunk.text


def _around(spans: list[Span], place: int) -> Span | None:
    """The span around a place, which no earlier place is asked for after."""
    while spans and spans[0].end <= place:
        del spans[0]
    return spans[0] if spans and spans[0].start <= place else None


def _by_line(span: Span, text: str) -> Iterator[Span]:
    """A span cut at the ends of lines."""
    start = span.start
    for line in text[span.start : span.end].split("\n"):
        piece = trimmed(replace(span, start=start, end=start + len(line)), text)
        if piece:
            yield piece
        start += len(line) + 1


def _stack(spans: Sequence[Span]) -> list[_Active]:
    """What is open at a place, the outer first."""
    stack: list[_Active] = []
    for span in spans:
        active = _Active(span.kind, span.url)
        if active not in stack:
            stack.append(active)
    return stack


def _change(before: Sequence[_Active], after: Sequence[_Active]) -> Iterator[_Chunk]:
    """The markers that close what is not open any more, and open what is."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    closing = "".join(_closing(active) for active in reversed(before[same:]))
    opening = "".join(_opening(active) for active in after[same:])
    if closing:
        yield _Chunk(closing, closes=True)
    if closing and opening and closing[-1] == opening[0]:
        yield _Chunk(_BETWEEN)
    if opening:
        yield _Chunk(opening)


def _opening(active: _Active) -> str:
    return "[" if active.kind == "text_link" else _MARKERS.get(active.kind, "")


def _closing(active: _Active) -> str:
    if active.kind == "text_link":
        return f"]({_IN_THE_WAY.sub(lambda one: quote(one[0]), active.url or '')})"
    return _MARKERS.get(active.kind, "")
