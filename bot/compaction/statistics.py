"""The seven statistics of a compaction (FEATURES P4), as ProbeAgent names them. Pure."""

from __future__ import annotations

from typing import TypedDict


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
