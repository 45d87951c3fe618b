"""Markdown as Telegram's classic messages: a text, and entities that mark it. Pure.

https://core.telegram.org/bots/api#messageentity and #formatting-options
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from connectors.text.clean import is_blank
from connectors.text.cutting import cut, resume
from connectors.text.layout import Looks, laid_out
from connectors.text.links import telegram_takes
from connectors.text.measure import utf16_length
from connectors.text.parsing import parse
from connectors.text.spans import Kind, Marked, Span, Spans, Whole, resolved, trimmed

MOST_ENTITIES = 100
"""Telegram ignores what is beyond."""

_LOOKS = Looks(takes_link=telegram_takes, indent=4, tab="    ")  # Telegram makes a tab one space
_LAST_TO_GO: tuple[Kind, ...] = ("pre", "text_link", "blockquote", "code", "bold", "strikethrough", "italic")
_SHOWN = frozenset(_LAST_TO_GO)


@dataclass(frozen=True, slots=True)
class Entity:
    """A marked part of a message: ``offset`` and ``length`` in UTF-16 units, ``kind`` as the Bot API's ``type``."""

    kind: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Formatted:
    """One message."""

    text: str
    entities: tuple[Entity, ...] = ()


def for_telegram(markdown: str, limit: int = 4096) -> list[Formatted]:
    """A reply as messages of at most ``limit`` UTF-16 units; none where people would see nothing.

    Takes any text, whole or only begun. Telegram removes white space around a message, so there is none, but for
    the indentation of code at the very beginning, which it leaves. Raises ValueError where the limit is below a
    single character.
    """
    marked = laid_out(parse(markdown), _LOOKS)
    spans = Spans(span for span in resolved(marked, code_in_quotes=False) if span.kind in _SHOWN)
    return [_formatted(marked.text, start, end, spans) for start, end in _pieces(marked, limit)]


def _pieces(marked: Marked, limit: int) -> Iterator[tuple[int, int]]:
    """The places of the messages in the text."""
    text, whole = marked.text, Whole(marked.spans)
    start = 0
    while start < len(text):
        end = cut(text, start, limit, whole, utf16_length)
        if not is_blank(text[start:end]):
            yield start, end
        start = resume(text, end)


def _formatted(text: str, start: int, end: int, spans: Spans) -> Formatted:
    found = [span for piece in spans.within(start, end) if (span := trimmed(piece, text))]
    start += len(text[start:end]) - len(text[start:end].lstrip())
    if found and found[0].kind == "pre":
        start = min(start, found[0].start)
    end = start + len(text[start:end].rstrip())
    return Formatted(text[start:end], _entities(text, start, _most_important(found)))


def _most_important(spans: Sequence[Span]) -> Sequence[Span]:
    if len(spans) <= MOST_ENTITIES:
        return spans
    kept = sorted(spans, key=lambda span: _LAST_TO_GO.index(span.kind))[:MOST_ENTITIES]
    return sorted(kept, key=lambda span: (span.start, -span.end))


def _entities(text: str, start: int, spans: Sequence[Span]) -> tuple[Entity, ...]:
    """Spans counted in UTF-16 units from ``start``, in one walk over the text."""
    units = {start: 0}
    before = start
    for place in sorted({place for span in spans for place in (span.start, span.end)}):
        units[place] = units[before] + utf16_length(text[before:place])
        before = place
    return tuple(
        Entity(span.kind, units[span.start], units[span.end] - units[span.start], span.url, span.language)
        for span in spans
    )
