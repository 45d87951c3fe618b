"""Where a phrase says when, and where it says what: `tomorrow 9:00 call Ana`, `call Ana tomorrow at 9`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.agent.appointments.reading.reading import Asked, Now, Outcome, Understood, read, readings_of, together

_LEADING = re.compile(r"(?:me|mich|moi|me)\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s:,–—-]+")
_TO = re.compile(r"(?:to|that)\s+", re.IGNORECASE)
_WORD_BEGINS = re.compile(r"(?<!\S)(?=\S)")
_MOST_BEGINNINGS = 12
"""Words of the end that may say when."""


@dataclass(frozen=True)
class Split:
    """``when``: the words that say so; ``what``: the rest, as it was written."""

    outcome: Outcome
    when: str
    what: str


def split(text: str, now: Now) -> Split | None:
    """The longest beginning that says when, else an end that does; None where neither is there."""
    text = text.strip()
    if leading := _LEADING.match(text):
        text = text[leading.end() :]
    return _at_the_beginning(text, now) or _at_the_end(text, now)


def _at_the_beginning(text: str, now: Now) -> Split | None:
    found = readings_of(text, now)
    furthest = max((reach for _, reach in found), default=0)
    if not furthest or not _ends_there(text, furthest):
        return None
    outcome = together([outcome for outcome, reach in found if reach == furthest])
    what = _BETWEEN.sub("", text[furthest:], count=1) if _BETWEEN.match(text, furthest) else text[furthest:]
    return Split(outcome, text[:furthest], _TO.sub("", what, count=1) if _TO.match(what) else what)


def _ends_there(text: str, at: int) -> bool:
    return at == len(text) or bool(_BETWEEN.match(text, at))


def _at_the_end(text: str, now: Now) -> Split | None:
    begins = [found.start() for found in _WORD_BEGINS.finditer(text)][1:][-_MOST_BEGINNINGS:]
    asked: Split | None = None
    for at in begins:
        outcome = read(text[at:], now)
        split_here = Split(outcome, text[at:], text[:at].strip(" ,:–—-"))
        if isinstance(outcome, Understood):
            return split_here
        if isinstance(outcome, Asked) and not outcome.readings:
            continue
        asked = asked or split_here
    return asked
