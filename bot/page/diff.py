"""What one compaction did, side by side: what the model saw before, and what in its place after. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from bot.compaction.plan import Plan
from bot.history import Entry
from bot.messages import Block
from bot.page.entries import Piece, is_prose, pieces

_LONG_LINE = 160
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")

Fate = Literal["kept", "hidden", "replaced", "inserted"]


@dataclass(frozen=True)
class Row:
    """One entry on one side or both. ``before`` and ``after`` are what it says there; empty: it is not there."""

    seq: int
    role: str
    kind: str
    fate: Fate
    tokens: int
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Group:
    """Rows that follow each other and share a fate, with the tokens that they took before."""

    fate: Fate
    rows: tuple[Row, ...]

    @property
    def tokens(self) -> int:
        """Of all of them."""
        return sum(row.tokens for row in self.rows)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.rows)

    @property
    def span(self) -> str:
        """Which entries these are."""
        low, high = self.rows[0].seq, self.rows[-1].seq
        return f"#{low}" if low == high else f"#{low} to #{high}"


@dataclass(frozen=True)
class Line:
    """One line of a difference between two texts."""

    kind: Literal["same", "added", "gone", "place"]
    text: str


def side_by_side(before: Sequence[Entry], plan: Plan, inserted: Sequence[Entry]) -> list[Group]:
    """``before``: what the model saw, in reading order; ``inserted``: what the layer put in, if it was put down."""
    rows = [(entry.position, _row(entry, plan)) for entry in before]
    rows += [(entry.position, _row_of_inserted(entry)) for entry in inserted]
    rows.sort(key=lambda pair: pair[0])
    return [Group(fate, tuple(group)) for fate, group in groupby((row for _, row in rows), key=lambda row: row.fate)]


def counts(groups: Sequence[Group]) -> Mapping[Fate, int]:
    """How many entries have each fate."""
    found: dict[Fate, int] = {"kept": 0, "hidden": 0, "replaced": 0, "inserted": 0}
    for group in groups:
        found[group.fate] += len(group.rows)
    return found


def difference(before: str, after: str) -> list[Line]:
    """The lines of two texts that differ, with some around them; none where they are the same."""
    lines = difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=2)
    return [_line(line) for number, line in enumerate(lines) if number > 1]


def _lines(text: str) -> list[str]:
    """A long line is told apart by its sentences."""
    return [
        sentence
        for line in text.splitlines()
        for sentence in (_SENTENCES.split(line) if len(line) > _LONG_LINE else [line])
    ]


def _line(line: str) -> Line:
    if line.startswith("@@"):
        return Line("place", line)
    if line.startswith("+"):
        return Line("added", line)
    return Line("gone", line) if line.startswith("-") else Line("same", line)


def _row(entry: Entry, plan: Plan) -> Row:
    before = _pieces(entry, entry.blocks)
    if any(low <= entry.seq <= high for low, high in plan.hidden):
        return Row(entry.seq, entry.role, entry.kind.value, "hidden", entry.tokens, before)
    if entry.seq in plan.replaced:
        after = _pieces(entry, plan.replaced[entry.seq])
        return Row(entry.seq, entry.role, entry.kind.value, "replaced", entry.tokens, before, after)
    return Row(entry.seq, entry.role, entry.kind.value, "kept", entry.tokens, before, before)


def _row_of_inserted(entry: Entry) -> Row:
    return Row(entry.seq, entry.role, entry.kind.value, "inserted", entry.tokens, after=_pieces(entry, entry.blocks))


def _pieces(entry: Entry, blocks: Sequence[Block]) -> tuple[Piece, ...]:
    return pieces(blocks, markdown=is_prose(entry))
