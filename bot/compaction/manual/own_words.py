"""What is nobody's word in messages that come from outside: what an earlier compaction left, and files. Pure.

In a history an entry says what it is. Messages do not: there a summary of ours stands on the side of the person, as
text, and so do files and what a tool returned whose call is gone. They are known by the exact words around them, and
are nobody's demand from then on. To write these words by hand wins nothing: what stands between them counts for less.
"""

from __future__ import annotations

from bot.compaction.facts.checkpoint import HEADING, OPENING, apart
from bot.compaction.plan import SUMMARY
from bot.compaction.strategies import reset, segmented, tiers, two_phase
from bot.history import EARLIER_RESULT, EntryKind
from bot.history import OPENING as GOES_ON
from bot.history.file_headers import outlined_path, sent_path, shown_text
from bot.messages import Block

_MARKERS = frozenset({reset.MARKER})
_NOTES = frozenset({segmented.GO_ON, GOES_ON})
_SUMMARIES = tuple(
    (before, after)
    for before, _, after in (
        text.partition(SUMMARY)
        for text in (
            f"{SUMMARY}\n\n{reset.GO_ON}",
            f"{SUMMARY}\n\n{tiers.GO_ON}",
            segmented.SUMMARY_TEXT,
            two_phase.CHECKPOINT,
            two_phase.FIELDS_CHECKPOINT,
        )
    )
)
_CHECKPOINT = f"{HEADING}\n{OPENING}"
_BEGINNINGS = (_CHECKPOINT, tiers.FILES)


def kind_of(text: str) -> EntryKind | None:
    """What a text is that people did not write; None for any other."""
    if text in _MARKERS:
        return EntryKind.MARKER
    if text in _NOTES or text.startswith(_BEGINNINGS) or tiers.is_out_of_view(text) or _is_result(text):
        return EntryKind.NOTE
    if shown_text(text) or outlined_path(text) or ("\n" not in text and sent_path(text)):
        return EntryKind.FILE
    if any(text.startswith(before) and text.endswith(after) for before, after in _SUMMARIES):
        return EntryKind.SUMMARY
    return None


def parts_of(block: Block) -> list[Block]:
    """A block; a text in which words follow a checkpoint, where somebody joined what stood apart, as two."""
    if block["type"] != "text" or not block["text"].startswith(_CHECKPOINT):
        return [block]
    checkpoint, words = apart(block["text"])
    return [{**block, "text": checkpoint}, {**block, "text": words}] if words else [block]


def _is_result(text: str) -> bool:
    first, *lines = text.split("\n")
    return first.startswith(EARLIER_RESULT) and all(line.startswith(">") for line in lines)
