"""Dates that are written like paths (`2024/7/19`, `./2024/7/19`): no place to remember. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from bot.compaction.facts.fact import Candidate, Decision, FactKind, Reason, Speaker

_MOST = 10
"""Of one entry."""
_LED = r"(?:~|\.{1,2})?[/\\]"
"""What makes a path of what stands behind it."""
_SLASHED = r"(?:\d{4}[/\\]\d{1,2}[/\\]\d{1,2}|\d{1,2}[/\\]\d{1,2}[/\\]\d{4})"
_WHOLE = r"(?:\d{4}([-.])\d{1,2}\1\d{1,2}|\d{1,2}([-.])\d{1,2}\2\d{4})"
_TIME = r"(?:T\d[\d:.]*Z?)?"
_IN_TEXT = re.compile(
    rf"(?<![\w/\\.:~@%=-])(?:(?:{_LED})?{_SLASHED}|{_LED}{_WHOLE}|{_LED}\d{{1,4}}[/\\]\d{{1,2}}){_TIME}[/\\]?(?![\w/\\@:]|[-.]\w)",
    re.ASCII,
)
_MAY_HOLD_ONE = re.compile(r"[/\\][0-9]")
_IS_ONE = re.compile(
    rf"(?:{_LED})?(?:\d{{1,4}}[/\\.-]\d{{1,2}}(?:[/\\.-]\d{{1,4}})?|\d{{4}}[/\\]){_TIME}[/\\]?\Z", re.ASCII
)


def is_date_like(place: str) -> bool:
    """Whether what is written like a path is nothing but a date, or a part of one."""
    return bool(_IS_ONE.fullmatch(place))


def date_candidates(text: str, seq: int, speaker: Speaker = Speaker.TOOL) -> Iterator[Candidate]:
    """The dates in a text that look like paths, each rejected, so that one can read why it is no place."""
    if not _MAY_HOLD_ONE.search(text):
        return
    found = dict.fromkeys(hit[0] for hit in _IN_TEXT.finditer(text))
    for date in islice(found, _MOST):
        yield Candidate(
            FactKind.PATH,
            date,
            seq,
            f"path:{date}",
            speaker,
            weight=0.0,
            decision=Decision.REJECTED,
            reason=Reason.DATE_LIKE,
        )
