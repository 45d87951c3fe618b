"""How a page is cut into segments: what was asked, what the model did about it, and what came of it. Pure.

From ProbeAgent (FEATURES P1)::

    SAID (FILE …)   REPLY  RESULT  REPLY  RESULT   REPLY without tool calls
    └── asked ──┘   └──────── monologue ───────┘   └──────── answer ───────┘

The answer is the completion that ends the segment: words without tool calls, or the call of a tool by which a model
hands its answer over, such as ``attempt_completion``. Of a segment without one, it is what its last tools returned.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.compaction.boundaries import WORK, answered_by
from bot.history import TO_ANSWER, Entry, EntryKind
from bot.messages import Block, text_of, tool_calls

COMPLETIONS = ("attempt_completion", "final_answer")
"""Tools by which models hand their answer over, in programs that have no other way: what they are called there."""

_THINKING = re.compile(r"^[ \t]*<(think|thinking)>.*?</\1>[ \t]*\n?", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


@dataclass(frozen=True)
class Segment:
    """The entries of one segment in reading order. What layers inserted and the program noted is ``apart``."""

    asked: tuple[Entry, ...] = ()
    monologue: tuple[Entry, ...] = ()
    answer: tuple[Entry, ...] = ()
    apart: tuple[Entry, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of it, by what it is."""
        return (*self.asked, *self.monologue, *self.answer, *self.apart)


def segments_of(view: Sequence[Entry], completions: Container[str] = COMPLETIONS) -> list[Segment]:
    """The segments of a page, oldest first; every entry is in exactly one. What stands before the first request is a
    segment of its own that nothing asked for. ``completions``: the names of tools whose call is an answer.

    Several messages of one turn are one request, also when a later one came in while the model was at work.
    """
    starts: list[int] = []
    asked: Entry | None = None
    worked = False
    for index, entry in enumerate(view):
        if entry.kind in WORK:
            worked = True
        elif entry.kind in TO_ANSWER:
            if asked is None or entry.turn != asked.turn or (entry.turn is None and worked):
                starts.append(index)
            asked, worked = entry, False
    cuts = sorted({0, *starts, len(view)})
    return [_segment(view[start:end], completions) for start, end in pairwise(cuts)]


def completes(entry: Entry, completions: Container[str]) -> bool:
    """Whether an answer is handed over in it by a tool call."""
    return entry.kind is EntryKind.REPLY and any(is_completion(call, completions) for call in tool_calls(entry.blocks))


def is_completion(call: Block, completions: Container[str]) -> bool:
    """Whether it is the call of such a tool; one of an MCP server has its name after the server's."""
    name = str(call["name"])
    return name in completions or name.rpartition("__")[2] in completions


def without_thinking(text: str) -> str:
    """A text of a model without what it thought between tags at the beginning of a line; code is left as it is."""

    def kept(found: re.Match[str]) -> str:
        is_code = len(_FENCE.findall(text, 0, found.start())) % 2
        return found[0] if is_code else ""

    made = _THINKING.sub(kept, text)
    return text if made == text else made.strip("\n")


def _segment(entries: Sequence[Entry], completions: Container[str]) -> Segment:
    work = [entry for entry in entries if entry.kind in WORK]
    answer = {entry.seq for entry in (*_handed_over(work, completions), *_last_of(work))}
    return Segment(
        asked=tuple(entry for entry in entries if entry.kind in TO_ANSWER),
        monologue=tuple(entry for entry in work if entry.seq not in answer),
        answer=tuple(entry for entry in work if entry.seq in answer),
        apart=tuple(entry for entry in entries if entry.kind not in WORK and entry.kind not in TO_ANSWER),
    )


def _handed_over(work: Sequence[Entry], completions: Container[str]) -> list[Entry]:
    """Replies that hand an answer over, with what their calls returned."""
    replies = [entry for entry in work if completes(entry, completions)]
    calls = {call["id"] for entry in replies for call in tool_calls(entry.blocks)}
    return [entry for entry in work if entry in replies or not calls.isdisjoint(answered_by(entry))]


def _last_of(work: Sequence[Entry]) -> Sequence[Entry]:
    """The last words, or the last tools' results; calls that nothing answered are the answer themselves, so that it
    stays known that they were made. A reply that only thinks is none."""
    last = next((index for index in reversed(range(len(work))) if _says(work[index])), None)
    if last is None:
        return [entry for entry in work if entry.kind is EntryKind.RESULT]
    results = [entry for entry in work[last + 1 :] if entry.kind is EntryKind.RESULT]
    return results or work[last : last + 1]


def _says(entry: Entry) -> bool:
    if entry.kind is not EntryKind.REPLY:
        return False
    others = [block for block in entry.blocks if block.get("type") != "text"]
    return bool(others) or bool(without_thinking(text_of(entry.blocks)).strip())
