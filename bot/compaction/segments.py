"""How a page is cut into segments: what was asked, what the model did about it, and what came of it. Pure.

From ProbeAgent (FEATURES P1)::

    SAID (FILE …)   REPLY  RESULT  REPLY  RESULT   REPLY without tool calls
    └── asked ──┘   └──────── monologue ───────┘   └──────── answer ───────┘

The answer is the completion that ends the segment; of a segment without one, it is what its last tools returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.compaction.boundaries import WORK
from bot.history import ASKED, Entry, EntryKind
from bot.messages import tool_calls


@dataclass(frozen=True)
class Segment:
    """The entries of one segment in reading order. What layers inserted and the program noted is ``apart``."""

    asked: tuple[Entry, ...] = ()
    monologue: tuple[Entry, ...] = ()
    answer: tuple[Entry, ...] = ()
    apart: tuple[Entry, ...] = ()


def segments_of(view: Sequence[Entry]) -> list[Segment]:
    """The segments of a page, oldest first; every entry is in exactly one. What stands before the first request is a
    segment of its own that nothing asked for.

    Several messages of one turn are one request, also when a later one came in while the model was at work.
    """
    starts: list[int] = []
    asked: Entry | None = None
    worked = False
    for index, entry in enumerate(view):
        if entry.kind in WORK:
            worked = True
        elif entry.kind in ASKED:
            if asked is None or entry.turn != asked.turn or (entry.turn is None and worked):
                starts.append(index)
            asked, worked = entry, False
    cuts = sorted({0, *starts, len(view)})
    return [_segment(view[start:end]) for start, end in pairwise(cuts)]


def _segment(entries: Sequence[Entry]) -> Segment:
    work = [entry for entry in entries if entry.kind in WORK]
    answer = _answer(work)
    return Segment(
        asked=tuple(entry for entry in entries if entry.kind in ASKED),
        monologue=tuple(work[: -len(answer)] if answer else work),
        answer=tuple(answer),
        apart=tuple(entry for entry in entries if entry.kind not in WORK and entry.kind not in ASKED),
    )


def _answer(work: Sequence[Entry]) -> Sequence[Entry]:
    """The completion, or the last tools' results; calls that nothing answered are the answer themselves, so that it
    stays known that they were made."""
    last = next((index for index in reversed(range(len(work))) if work[index].kind is EntryKind.REPLY), None)
    if last is None:
        return work
    results = work[last + 1 :]
    return results if results and tool_calls(work[last].blocks) else work[last:]
