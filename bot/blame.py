"""Says which part makes a context that no compaction can help with. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bot.compaction import Plan
from bot.compaction.fallback import excerpt
from bot.estimate import Meter
from bot.history import ASKED, Entry, EntryKind, History


@dataclass(frozen=True)
class Blame:
    """A sentence for people, and a plan that takes the part out of the way where that can be done."""

    sentence: str
    plan: Plan | None = None


_LARGE = 0.4
"""Of the limit: what is smaller is not to blame by itself."""


def blame(history: History, meter: Meter, head_tokens: int, factor: float, *, surely: bool = False) -> Blame | None:
    """The part that alone is too large, or None when compacting can help. ``surely``: nothing else can be compacted,
    so the largest part is to blame even if by our own count it would fit. ``factor`` corrects our count."""
    limit = meter.limit
    if head_tokens >= limit:
        return Blame(
            f"The system prompt and the tools alone take about {head_tokens:,} of {limit:,} tokens, so that no "
            "conversation fits. Shorten SYSTEM_PROMPT, or raise AGENTS__EMERGENCY_CONTEXT_LIMIT."
        )
    largest = max(_uncompactable(history), key=lambda entry: entry.tokens, default=None)
    tokens = round(largest.tokens * factor) if largest else 0
    if not surely and head_tokens + tokens <= limit:
        return None
    if largest is None or tokens < _LARGE * limit:
        parts = ", ".join(f"{part.name} {part.tokens:,}" for part in meter.parts if part.tokens)
        return Blame(f"The context cannot be made smaller than {meter.total:,} of {limit:,} tokens ({parts}).")
    size = f"about {tokens:,} tokens, and {limit - head_tokens:,} fit"
    plan = excerpt(largest, history.visible)
    if largest.kind is EntryKind.SAID:
        return Blame(
            f"Your message alone is too large for the model: {size}. Send it in parts, or shorter. "
            "Nothing else was lost; I go on with only the beginning of that message in view.",
            plan,
        )
    if largest.kind is EntryKind.FILE:
        return Blame(
            f"Your file alone is too large for the model: {size}. Send a smaller one, or a part of it. "
            "Nothing else was lost; I go on without it in view.",
            plan,
        )
    return Blame(f"The result of a tool alone is too large for the model: {size}. Ask for a smaller part of it.", plan)


def _uncompactable(history: History) -> list[Entry]:
    """What a compaction keeps as it is: the latest request, and what tools returned for it."""
    visible = history.visible
    latest = next((entry for entry in reversed(visible) if entry.kind is EntryKind.SAID), None)
    if latest is None:
        return []
    return [
        entry
        for entry in visible
        if entry.turn == latest.turn and (entry.kind in ASKED or entry.kind is EntryKind.RESULT)
    ]
