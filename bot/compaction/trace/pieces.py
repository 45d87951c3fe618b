"""A text as pieces: what it has in common with texts that are kept elsewhere is named, and not said again.

A piece is a string, which is said, or a list: the key of a source, the first of its lines and how many. Together they
are the text, with nothing between them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bot.compaction.trace.lines import Lines
from bot.compaction.trace.section import lines_of

Key = tuple[str | int, ...]
"""Names a source."""
GONE = "[no longer in the history]"
"""Stands for what its source does not have any more."""
_LEAST = 40
"""Characters from which on naming them is shorter."""
_MOST_BEGINNINGS = 4
_BEGINNING = re.compile(r"^[-+ ]|(?:: |\] |\| )")
"""After which a line may go on as another one does: who speaks in a transcript, when; the sign in a difference."""


class Sources:
    """Texts by their keys."""

    def __init__(self, texts: Iterable[tuple[Key, str]] = ()) -> None:
        self._lines = Lines()
        self._starts: list[int] = []
        self._keys: list[Key] = []
        for key, text in texts:
            self.add(key, text)

    def add(self, key: Key, text: str) -> None:
        """One more."""
        if len(text) < _LEAST:
            return
        self._lines.add_break()
        self._starts.append(len(self._lines))
        self._keys.append(key)
        for line in lines_of(text):
            self._lines.add(line)

    def pieces(self, text: str) -> list[Any]:
        """This text, for JSON."""
        lines, found, said = lines_of(text), list[Any](), ""
        at = 0
        while at < len(lines):
            said += "\n" if at else ""
            begun, place, count = self._best(lines, at)
            said += lines[at][:begun]
            if count:
                found += [said] * bool(said)
                found.append(self._named(place, count))
                said = ""
            at += max(1, count)
        return found + [said] * bool(said)

    def _best(self, lines: Sequence[str], at: int) -> tuple[int, int, int]:
        """Where the line is said up to, and where what follows stands, in how many lines; 0 where it does not."""
        line = lines[at]
        for begun in (0, *_beginnings(line)):
            place, count = self._lines.longest(lines, at, line[begun:])
            if count and sum(len(one) + 1 for one in lines[at : at + count]) - begun >= _LEAST:
                return begun, place, count
        return len(line), 0, 0

    def _named(self, place: int, count: int) -> list[Any]:
        at = bisect_right(self._starts, place) - 1
        return [*self._keys[at], place - self._starts[at], count]


def _beginnings(line: str) -> Iterator[int]:
    if len(line) >= _LEAST:
        for _, found in zip(range(_MOST_BEGINNINGS), _BEGINNING.finditer(line), strict=False):
            yield found.end()


def keys_in(pieces: Sequence[Any]) -> Iterator[Key]:
    """The sources that a text is made of."""
    return (tuple(piece[:-2]) for piece in pieces if not isinstance(piece, str))


def text_from(pieces: Sequence[Any], source: Callable[[Key], str | None]) -> str:
    """The text. ``source``: a text by its key, None where there is none any more."""
    return "".join(piece if isinstance(piece, str) else _lines_from(piece, source) for piece in pieces)


def _lines_from(piece: Sequence[Any], source: Callable[[Key], str | None]) -> str:
    *key, first, count = piece
    text = source(tuple(key))
    lines = [] if text is None else lines_of(text)[first : first + count]
    return "\n".join(lines) if lines else GONE
