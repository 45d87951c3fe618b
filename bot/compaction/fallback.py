"""What is done without a model when nothing else helps, so that a conversation is never bricked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.compaction.plan import Inserted, Plan, details_of, everything_but
from bot.cuts import beginning
from bot.history import Entry, EntryKind
from bot.messages import Audience, Block, text_block, text_of

FALLBACK = "fallback"
"""The name of these plans; no strategy is called so."""

_HEADROOM = 0.5
"""The share of the limit that may be filled afterwards."""
_EXCERPT_CHARACTERS = 400


def hide_oldest(view: Sequence[Entry], room: float) -> Plan | None:
    """Hide the oldest turns until what is left fills at most half of ``room`` (tokens); None if nothing can go.

    The latest request, and what followed it when that fits, stays. Exact details of what is hidden are listed.
    """
    requests = [index for index, entry in enumerate(view) if entry.kind is EntryKind.SAID]
    cuts = [index for index in requests if index > 0]
    latest = requests[-1] if requests else len(view)
    cut = next((at for at in cuts if _tokens(view[at:]) <= room * _HEADROOM), latest)
    kept = list(view[cut:])
    if requests and _tokens(kept) > room * _HEADROOM:
        kept = [view[latest]]
    staying = {entry.seq for entry in kept}
    gone = [entry for entry in view if entry.seq not in staying]
    if not any(entry.kind in (EntryKind.SAID, EntryKind.REPLY, EntryKind.RESULT) for entry in gone):
        return None
    upto = max(entry.seq for entry in view)
    place = min((entry.seq for entry in kept), default=upto + 1)
    return Plan(
        strategy=FALLBACK,
        upto=upto,
        floor=place,
        hidden=everything_but(kept, upto),
        inserted=(Inserted(place, EntryKind.NOTE, _note(gone, kept, room), Audience.MODEL),),
    )


def excerpt(entry: Entry, view: Sequence[Entry]) -> Plan:
    """Show only the beginning of one message, or of a tool's result, that is too large for the model by itself."""
    results = [block for block in entry.blocks if block.get("type") == "tool_result"]
    shown: list[Block] = [{**block, "content": _shown(text_of(block.get("content", "")))} for block in results]
    if any(block.get("type") not in ("text", "tool_result") for block in entry.blocks):
        shown = [text_block(f"{text_of(entry.blocks)} [It was too large to be shown.]".strip())]
    return Plan(
        strategy="excerpt",
        upto=max(item.seq for item in view),
        floor=min(item.seq for item in view),
        replaced={entry.seq: tuple(shown) or (text_block(_shown(text_of(entry.blocks))),)},
        kind="excerpt",
    )


def _shown(text: str) -> str:
    return (
        f"[This was too long to be read: {len(text):,} characters. It begins:]\n{beginning(text, _EXCERPT_CHARACTERS)}"
    )


def _note(gone: Sequence[Entry], kept: Sequence[Entry], room: float) -> str:
    opening = (
        f"Session context compacted. {len(gone)} older messages are hidden without a summary. Exact details from them:"
    )
    lines = [opening]
    lines += [f"- {item}" for item in details_of(gone, room * 0.1, kept=kept)]
    return "\n".join(lines)


def _tokens(entries: Sequence[Entry]) -> int:
    return sum(entry.tokens for entry in entries)
