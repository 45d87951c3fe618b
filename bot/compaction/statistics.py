"""The seven statistics of a compaction (FEATURES P4), as ProbeAgent names them. Pure."""

from __future__ import annotations

from typing import TypedDict

from bot.estimate.meter import MeterRecord


class Stats(TypedDict):
    """Tokens are of the whole request, system prompt and tools included."""

    originalCount: int
    """Messages before."""
    compactedCount: int
    """Messages after."""
    removed: int
    reductionPercent: float
    """Of the messages; to one decimal."""
    originalTokens: int
    compactedTokens: int
    tokensSaved: int


def statistics(*, count: int, compacted: int, tokens: int, compacted_tokens: int) -> Stats:
    """``count`` and ``tokens`` before; ``compacted`` messages and ``compacted_tokens`` after."""
    removed = count - compacted
    return Stats(
        originalCount=count,
        compactedCount=compacted,
        removed=removed,
        reductionPercent=round(100 * removed / count, 1) if count else 0.0,
        originalTokens=tokens,
        compactedTokens=compacted_tokens,
        tokensSaved=tokens - compacted_tokens,
    )


def statistics_of(before: MeterRecord, after: MeterRecord | None) -> Stats | None:
    """Of a run, by its meters; None where nothing was changed, and of runs of earlier versions, which did not count
    messages."""
    if after is None or before.messages is None or after.messages is None:
        return None
    return statistics(
        count=before.messages, compacted=after.messages, tokens=before.total, compacted_tokens=after.total
    )


def messages_text(stats: Stats) -> str:
    """What became of the messages, for people and for operators: ``63 → 21 messages (66.7% fewer)``."""
    count, left = stats["originalCount"], stats["compactedCount"]
    what = "message" if left == 1 else "messages"
    if left == count:
        return f"{count:,} {what}, none fewer"
    fewer = f" ({stats['reductionPercent']}% fewer)" if left < count else ""
    return f"{count:,} → {left:,} {what}{fewer}"
