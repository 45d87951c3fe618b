"""What was said, and the layers that compactions wrote over it; from both, what a model reads. Pure.

`entries` has all that is exported; beside it are the words in which entries, files, quotations and replies are shown.
Nothing is ever deleted here: a layer hides, and taking it off shows what lay beneath. Entries become rows in
:mod:`bot.store`; which of them are hidden is decided in :mod:`bot.compaction`.
"""

from bot.history.entries import (
    ASKED,
    EARLIER_RESULT,
    ELSEWHERE,
    IMPORTED,
    LASTING,
    OPENING,
    PARKED,
    REASONING,
    REQUESTS,
    SET_ASIDE,
    THINKING,
    TO_ANSWER,
    Anchor,
    Entry,
    EntryKind,
    History,
    Layer,
    Ranges,
    Usage,
    as_request,
    merge_ranges,
    ranges_of,
    result_or_parts,
    valid_request,
)

__all__ = [
    "ASKED",
    "EARLIER_RESULT",
    "ELSEWHERE",
    "IMPORTED",
    "LASTING",
    "OPENING",
    "PARKED",
    "REASONING",
    "REQUESTS",
    "SET_ASIDE",
    "THINKING",
    "TO_ANSWER",
    "Anchor",
    "Entry",
    "EntryKind",
    "History",
    "Layer",
    "Ranges",
    "Usage",
    "as_request",
    "merge_ranges",
    "ranges_of",
    "result_or_parts",
    "valid_request",
]
