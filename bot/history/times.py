"""When people said what they said: how it is kept with an entry, and the mark that a model reads of it. Pure.

::

    2026-05-03T09:14:05+01:00[Europe/Lisbon]      kept: what the clocks there showed (RFC 9557)
    <sent at="Sun 3 May 2026, 09:14"/>            read: a block of its own before the words, in no entry
    <sent at="12:20, 3 hours later"/>             … the same day, after a pause

What is kept says where the clocks were, too, so a mark follows from it and from the entries in view before it alone:
whoever chooses another zone, whatever becomes of the rules of that one, the marks that were sent stay as they were,
byte for byte, and with them the provider's cache. The day is said where no mark in view before it has said it, so that
it is there again after a compaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from bot.messages import Block

if TYPE_CHECKING:
    from bot.history.entries import Entry

PAUSE_HOURS = 2
"""From so many hours on a pause is told."""
_HOURS_A_DAY = 24
_DAYS_FROM = 48
"""Hours from which on days are counted."""
_SECONDS = 3_600
_AT_ONCE_SECONDS = 60
_KEPT = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d(?::\d\d)?)\[([A-Za-z0-9][A-Za-z0-9_+/-]{0,63})\]", re.ASCII
)
_MARK = re.compile(r'<sent at="[^"\n]{1,200}"/>')
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Said:
    """When something was said. ``at``: with how far the clocks there were from UTC at that moment; ``zone``: whose
    clocks, by its IANA name."""

    at: datetime
    zone: str

    @classmethod
    def read(cls, kept: str) -> Said:
        """As the book has it. Raises ValueError for what is no such text."""
        found = _KEPT.fullmatch(kept)
        if found is None:
            raise ValueError(f"{kept[:80]!r} is no time as it is kept")
        return cls(datetime.fromisoformat(found[1]), found[2])

    @classmethod
    def of(cls, at: datetime, zone: str) -> Said:
        """As the book will have it: to the second, and without the rules of the zone, which may change. Raises
        ValueError."""
        return cls.read(_kept(at, zone))

    @property
    def kept(self) -> str:
        """For the book."""
        return _kept(self.at, self.zone)

    @property
    def day(self) -> str:
        """The day there, in words: ``Sun 3 May 2026``."""
        at = self.at
        return f"{_DAYS[at.weekday()]} {at.day} {_MONTHS[at.month - 1]} {at.year}"

    @property
    def minute(self) -> str:
        """What the clocks there showed: ``2026-05-03 09:14``."""
        return self.at.isoformat(sep=" ", timespec="minutes")[: len("2026-05-03 09:14")]


def _kept(at: datetime, zone: str) -> str:
    return f"{at.isoformat(timespec='seconds')}[{zone}]"


def mark(said: Said, before: Said | None) -> str:
    """What a model reads of it. ``before``: of the last message before it that has one in view."""
    clock = said.minute[-len("09:14") :]
    if before is None:
        return _tagged(f"{said.day}, {clock}")
    parts = [clock if said.at.date() == before.at.date() else f"{said.day}, {clock}"]
    if said.zone != before.zone:
        parts = [f"{said.day}, {clock} {said.zone}", f"until here {before.zone}"]
    elif said.at.utcoffset() != before.at.utcoffset():  # an hour that comes twice a year, or never
        parts[0] += f" (UTC{said.at.isoformat()[-len('+01:00') :]})"
    if pause := _pause((said.at - before.at).total_seconds() / _SECONDS):
        parts.append(f"{pause} later")
    return _tagged(", ".join(parts))


def days(first: Said, last: Said) -> str:
    """From when to when, in words."""
    return f"on {first.day}" if first.day == last.day else f"from {first.day} to {last.day}"


def without_marks(content: str | Sequence[Block]) -> str | list[Block]:
    """What was said, without them, for a model that would make nothing of them."""
    if isinstance(content, str):
        return content
    return [block for block in content if block.get("type") != "text" or not _MARK.fullmatch(block["text"])]


def _tagged(text: str) -> str:
    return f'<sent at="{text}"/>'


def _pause(hours: float) -> str:
    """In words; empty where it is none that has to be told."""
    if hours < PAUSE_HOURS:
        return ""
    if hours < _DAYS_FROM:
        return f"{round(hours)} hours"
    return f"{round(hours / _HOURS_A_DAY)} days"


def marked(entries: Iterable[Entry], page: Sequence[Entry] = ()) -> Iterable[Entry]:
    """Entries in reading order, each with its mark. ``page``: what stands before them, with its marks.

    Where one follows upon the other within a minute, and nothing was answered between them, they are pieces of one
    message or a quick exchange: the first one's mark stands for all.
    """
    at = next((at for at in range(len(page) - 1, -1, -1) if page[at].mark), None)
    before = page[at].said if at is not None else None
    is_answered = at is None or any(entry.role == "assistant" for entry in page[at + 1 :])
    for entry in entries:
        is_answered = is_answered or entry.role == "assistant"
        if entry.said is None or (before and not is_answered and _is_at_once(entry.said, before)):
            yield entry
        else:
            yield replace(entry, mark=mark(entry.said, before))
            before, is_answered = entry.said, False


def _is_at_once(said: Said, before: Said) -> bool:
    is_alike = (said.day, said.zone, said.at.utcoffset()) == (before.day, before.zone, before.at.utcoffset())
    return is_alike and 0 <= (said.at - before.at).total_seconds() < _AT_ONCE_SECONDS
