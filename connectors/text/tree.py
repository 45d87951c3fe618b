"""What a reply is made of, whichever platform shows it. Pure.

A block's ``gap`` says that an empty line stood before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["bold", "italic", "strikethrough"]
Alignment = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Url:
    """An address as such in the text. Platforms find these themselves."""

    url: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Break:
    """A line's end. Soft or hard: people who chat expect to see both."""


@dataclass(frozen=True, slots=True)
class Styled:
    style: Style
    children: Sequence[Inline]


@dataclass(frozen=True, slots=True)
class Link:
    """A link, or an image by its alternative text."""

    url: str
    children: Sequence[Inline]


Inline = Text | Url | Code | Break | Styled | Link


@dataclass(frozen=True, slots=True)
class Paragraph:
    children: Sequence[Inline]
    gap: bool


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    children: Sequence[Inline]
    gap: bool


@dataclass(frozen=True, slots=True)
class CodeBlock:
    text: str
    language: str | None
    gap: bool


@dataclass(frozen=True, slots=True)
class Quote:
    blocks: Sequence[Block]
    gap: bool


@dataclass(frozen=True, slots=True)
class Item:
    blocks: Sequence[Block]
    checked: bool | None
    """None where it is no task."""
    gap: bool


@dataclass(frozen=True, slots=True)
class ListBlock:
    items: Sequence[Item]
    first: int | None
    """The first item's number; None where the list has bullets."""
    gap: bool


@dataclass(frozen=True, slots=True)
class Table:
    alignments: Sequence[Alignment]
    rows: Sequence[Sequence[Sequence[Inline]]]
    """Rows of cells; the first is the header. Each has as many cells as there are alignments."""
    gap: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break."""

    gap: bool


Block = Paragraph | Heading | CodeBlock | Quote | ListBlock | Table | Rule


def plain(children: Sequence[Inline]) -> str:
    """What people read of it."""
    parts = []
    for child in children:
        match child:
            case Text(text) | Url(text) | Code(text):
                parts.append(text)
            case Break():
                parts.append("\n")
            case Styled(children=inner) | Link(children=inner):
                parts.append(plain(inner))
    return "".join(parts)
