"""Lines that stand somewhere, and where a stretch of others stands among them already."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

LONGEST = 50_000
"""Characters of a line to which others may refer."""


class Lines:
    """In their order, as hashes: a long day's file does not fit into memory."""

    def __init__(self) -> None:
        self._hashes = array("q")
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, line: str) -> None:
        """One more."""
        if len(line) > LONGEST:
            self.add_break()
            return
        known = hash(line)
        self._first.setdefault(known, len(self._hashes))
        self._last[known] = len(self._hashes)
        self._hashes.append(known)

    def add_break(self) -> None:
        """A line that no other is equal to."""
        self._hashes.append(hash(f"\n{len(self._hashes)}"))

    def longest(self, wanted: Sequence[str], at: int, first: str | None = None) -> tuple[int, int]:
        """Where these lines from ``at`` on stand, and how many of them; (0, 0) where the first does not. ``first``: in
        the place of that one. Of many places the first and the last are looked at."""
        known = hash(wanted[at] if first is None else first)
        found = (0, 0)
        for place in {self._first.get(known), self._last.get(known)}:
            if place is not None and (count := self._follow(wanted, at, place)) > found[1]:
                found = place, count
        return found

    def _follow(self, wanted: Sequence[str], at: int, place: int) -> int:
        most, count = min(len(wanted) - at, len(self._hashes) - place), 1
        while count < most and self._hashes[place + count] == hash(wanted[at + count]):
            count += 1
        return count
