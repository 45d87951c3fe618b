"""What is done without a model when nothing else helps, so that a conversation is never bricked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.compaction.plan import Inserted, Plan, everything_but
from bot.compaction.summary.details import Page, completed
from bot.estimate.cuts import beginning
from bot.history import REQUESTS, Entry, EntryKind
from bot.messages import Audience, Block, as_quoted, text_block, text_of

FALLBACK = "fallback"
"""The name of these plans; no strategy is called so."""

_HEADROOM = 0.5
"""The share of the limit that may be filled afterwards."""
_DETAILS = 0.1
"""Of the room: what is listed of what is hidden."""
_LEAST_INSERTED = 200
"""Characters of a summary or a note that can be halved."""
_LESS_AND_LESS = (0.5, 0.2, 0.0)
"""Of what is hidden: what is listed of it, where that alone is what can get smaller."""
_EXCERPT_CHARACTERS = 400


def last_resorts(view: Sequence[Entry], room: float) -> Iterator[Plan]:
    """What can be made smaller, the least harmful first: whoever still has to make room takes the next one. The latest
    request stays as it is."""
    if plan := hide_oldest(view, room):
        yield plan
    if plan := _shorten_largest(view):
        yield plan
    if plan := _shorten_summary(view):
        yield plan
    for share in _LESS_AND_LESS:
        if plan := _hide_all_but_the_request(view, room, share):
            yield plan


def _shorten_largest(view: Sequence[Entry]) -> Plan | None:
    """Of the largest result of a tool, or file, that is in view its beginning."""
    long = [
        entry
        for entry in view
        if entry.kind in (EntryKind.RESULT, EntryKind.FILE) and len(_text(entry)) > 2 * _EXCERPT_CHARACTERS
    ]
    largest = max(long, key=lambda entry: entry.tokens, default=None)
    return replace(excerpt(largest, view), strategy=FALLBACK, kind="compaction") if largest else None


def _shorten_summary(view: Sequence[Entry]) -> Plan | None:
    """Of the longest text that a compaction has inserted the first half, and exact details of the rest."""
    inserted = [entry for entry in view if entry.layer is not None and len(text_of(entry.blocks)) > _LEAST_INSERTED]
    longest = max(inserted, key=lambda entry: entry.tokens, default=None)
    if longest is None:
        return None
    text = text_of(longest.blocks)
    shown = beginning(text, len(text) // 2)
    others = [entry for entry in view if entry is not longest]
    told = completed(f"{shown}\n\n[The rest of this was left out.]", Page([longest], others), longest.tokens * _DETAILS)
    return Plan(
        strategy=FALLBACK,
        upto=max(entry.seq for entry in view),
        floor=min(entry.seq for entry in view),
        replaced={longest.seq: (text_block(told),)},
    )


def _text(entry: Entry) -> str:
    results = [text_of(block.get("content", "")) for block in entry.blocks if block.get("type") == "tool_result"]
    return "".join([text_of(entry.blocks), *results])


def _hide_all_but_the_request(view: Sequence[Entry], room: float, share: float) -> Plan | None:
    """Also a summary, or the note of what was hidden before: of them as many details stay as are worth a ``share``."""
    request = next((entry for entry in reversed(view) if entry.kind in REQUESTS), None)
    gone = [entry for entry in view if entry is not request]
    if not gone:
        return None
    return _hiding(gone, [request] if request else [], view, min(room * _DETAILS, share * _tokens(gone)))


def hide_oldest(view: Sequence[Entry], room: float) -> Plan | None:
    """Hide the oldest turns until what is left fills at most half of ``room`` (tokens); None if nothing can go.

    The latest request, and what followed it when that fits, stays. Exact details of what is hidden are listed.
    """
    requests = [index for index, entry in enumerate(view) if entry.kind in REQUESTS]
    cuts = [index for index in requests if index > 0]
    latest = requests[-1] if requests else len(view)
    cut = next((at for at in cuts if _tokens(view[at:]) <= room * _HEADROOM), latest)
    kept = list(view[cut:])
    if requests and _tokens(kept) > room * _HEADROOM:
        kept = [view[latest]]
    staying = {entry.seq for entry in kept}
    gone = [entry for entry in view if entry.seq not in staying]
    if not any(entry.kind in (*REQUESTS, EntryKind.REPLY, EntryKind.RESULT) for entry in gone):
        return None
    return _hiding(gone, kept, view, room * _DETAILS)


def _hiding(gone: Sequence[Entry], kept: Sequence[Entry], view: Sequence[Entry], details: float) -> Plan:
    """``details``: tokens of what is listed."""
    upto = max(entry.seq for entry in view)
    place = min((entry.seq for entry in kept), default=upto + 1)
    return Plan(
        strategy=FALLBACK,
        upto=upto,
        floor=place,
        hidden=everything_but(kept, upto),
        inserted=(Inserted(place, EntryKind.NOTE, _note(gone, kept, details), Audience.MODEL),),
    )


def excerpt(entry: Entry, view: Sequence[Entry]) -> Plan:
    """Show only the beginning of one message, or of a tool's result, that is too large for the model by itself."""
    results = [block for block in entry.blocks if block.get("type") == "tool_result"]
    shown: list[Block] = [{**block, "content": _shown(text_of(block.get("content", "")))} for block in results]
    is_file = entry.kind is EntryKind.FILE
    if any(block.get("type") not in ("text", "tool_result") for block in entry.blocks):
        shown = [text_block(f"{text_of(entry.blocks)} [It was too large to be shown.]".strip())]
    return Plan(
        strategy="excerpt",
        upto=max(item.seq for item in view),
        floor=min(item.seq for item in view),
        replaced={entry.seq: tuple(shown) or (text_block(_shown(text_of(entry.blocks), is_file=is_file)),)},
        kind="excerpt",
    )


def _shown(text: str, *, is_file: bool = False) -> str:
    """``is_file``: the words are nobody's who talks here, and no line of them is to be taken for theirs."""
    words = beginning(text, _EXCERPT_CHARACTERS)
    told = f"[This was too long to be read: {len(text):,} characters. It begins:]"
    return f"{told}\n{as_quoted(words) if is_file else words}"


def _note(gone: Sequence[Entry], kept: Sequence[Entry], details: float) -> str:
    hidden = f"Session context compacted. {len(gone)} older messages are hidden without a summary."
    return completed(hidden, Page(gone, kept), details)


def _tokens(entries: Sequence[Entry]) -> int:
    return sum(entry.tokens for entry in entries)
