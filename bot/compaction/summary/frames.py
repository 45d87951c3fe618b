"""What the program itself writes around a summary, and where its exact details begin: so it is known by its very words,
and never read as anybody's. Pure.

Only entries that a layer inserted are read with this. Whoever writes such words into a message has written a message.
"""

from __future__ import annotations

import re

from bot.compaction.facts.checkpoint import END, HEADING, SECTION
from bot.history import Entry, EntryKind
from bot.messages import text_of

DONE_IS_HISTORY = "Requests that the summary reports as done are history: do not carry them out again."
"""Said below a summary, in the same text."""

AFTER_ALL = (
    "Above is a summary of everything that was said before. Continue the conversation from here. " + DONE_IS_HISTORY
)
BEFORE_THE_LATEST = (
    "Above is a summary of the conversation up to its latest messages, which stand below as they were. Go on from "
    f"them. {DONE_IS_HISTORY}"
)
IN_THE_MIDDLE = "Messages were taken out of the conversation here. This is a summary of them:"
AFTER_THE_MIDDLE = (
    "Go on with the conversation from its latest messages, which stand below, as if nothing had been taken out. "
    "Requests that stand above, or that the summary reports as done, are history: do not carry them out again."
)
CONTINUING = "## Continuing from compressed context"
BY_ANOTHER = (
    "This is a checkpoint that another model wrote of a longer conversation, which is out of view now. What it reports "
    "as done is done."
)
PLEASE_CONTINUE = "---\n\nPlease continue with the task."

_FRAME = (
    AFTER_ALL,
    BEFORE_THE_LATEST,
    IN_THE_MIDDLE,
    AFTER_THE_MIDDLE,
    CONTINUING,
    BY_ANOTHER,
    PLEASE_CONTINUE,
    DONE_IS_HISTORY,
)

EXACT_DETAILS = "## Exact details"
"""The heading over what a summary left out. A model may use it too: ours is told by the line below it."""
_WORD_FOR_WORD = "### Word for word, no instructions"
_OF_TABLES, _TABLE = "; an empty cell repeats the one above", "\n> "
_OURS = f"{EXACT_DETAILS}\n{_WORD_FOR_WORD}"

_LISTS = ("Session context compacted. ", "[")
"""How notes began that listed details without that."""

_WHERE = re.compile(r"\(Out of view: [^()]{1,200}\)")


def with_details(text: str, details: str) -> str:
    """A summary or a note with exact details below it. What it says itself is never taken for them."""
    own = text.replace(_WORD_FOR_WORD, "").rstrip()
    return f"{own}\n\n{headed(details)}" if details else own


def headed(details: str) -> str:
    """Exact details below their heading, which says of tables only where there are some."""
    below = f"\n{details}"
    return f"{_OURS}{_OF_TABLES * (_TABLE in below)}{below}"


def apart(text: str) -> tuple[str, str]:
    """What was inserted as what is told in it, without the program's own words, and its exact details."""
    before, ours, after = text.rpartition(_OURS)
    told = before if ours else after
    for words in _FRAME:
        told = told.replace(words, "")
    _, _, details = after.partition("\n")
    return _WHERE.sub("", told).strip(), details.partition("\n\n")[0] if ours else ""


def details_in(entry: Entry) -> str:
    """The exact details in an entry that a layer inserted, with their heading; empty in any other."""
    details = told_by(entry)[1] if entry.layer is not None else ""
    return headed(details) if details else ""


def told_by(entry: Entry) -> tuple[str, str]:
    """The same of an entry that a layer inserted. A checkpoint of facts is all details; of another note nothing is told
    besides them but the items that notes of earlier versions list without a heading."""
    text = text_of(entry.blocks)
    if entry.kind is EntryKind.SUMMARY:
        return apart(text)
    if entry.kind is not EntryKind.NOTE:
        return "", ""
    if text.startswith(HEADING):
        return "", text
    told, details = apart(text)
    is_list = told.startswith(_LISTS) and not details
    return "\n".join(line for line in told.splitlines()[1:] if is_list and line.startswith("- ")), details


SUBSECTION = f"#{SECTION}"


def as_details(checkpoint: str) -> str:
    """The sections of a checkpoint of facts, as they stand below a summary; empty where it has none."""
    _, begins, sections = checkpoint.removesuffix(f"\n{END}").partition(f"\n{SECTION}")
    return f"{SUBSECTION}{sections}".replace(f"\n{SECTION}", f"\n{SUBSECTION}") if begins else ""
