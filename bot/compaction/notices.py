"""The status message of a compaction, as it reads from its beginning to its end. Pure."""

from __future__ import annotations

from bot.compaction.statistics import Stats, messages_text
from bot.estimate.meter import Meter, percent
from bot.messages import ABORT_ANSWER, ABORT_COMPACTION, Button

STOP_COMPACTING = Button("Stop compacting", ABORT_COMPACTION)
RULES = Button("📌 Rules", "/rules")
"""Shows which rules there are, so that what must not be lost is pinned."""
STOP_THE_ANSWER = Button("Stop the answer", ABORT_ANSWER)
ON_ALL = "Your message is answered on the whole conversation…"
WAS_ON_ALL = "Your message was answered on the whole conversation."
STAYS = "Your message stays in the conversation."
_SHORT_ID = 6
"""Of a run's id: enough to tell a conversation's last compaction from earlier ones."""


def undo(run_id: str) -> Button:
    """Takes this run back, and no other."""
    return Button("Undo", f"/undo {run_id[:_SHORT_ID]}")


def started(meter: Meter) -> str:
    """Below it stands a button that stops it."""
    return (
        f"🗜 Compacting this conversation: {meter.total:,} of {meter.limit:,} tokens ({percent(meter.share)}). "
        "/abort stops it…"
    )


def aborted(message: str = "") -> str:
    """Nobody says anything else of it. ``message``: what becomes of the message whose answer waited for it."""
    return f"🗜 Compaction aborted: nothing was changed. {message}".rstrip()


def finished(stats: Stats, note: str) -> str:
    """With tokens and messages, before and after."""
    before, after = stats["originalTokens"], stats["compactedTokens"]
    freed = 1 - after / before if before else 0.0
    how = f"{freed:.0%} freed" if freed >= 0 else "more was said meanwhile"
    text = f"🗜 Compacted: {before:,} → {after:,} tokens ({how}), {messages_text(stats)}. /undo takes it back."
    return f"{text}\n({note})" if note else text


def taken_back(before: int, after: int) -> str:
    """What was finished was undone since; no button stands below it any more."""
    return f"🗜 Compacted: {before:,} → {after:,} tokens. It was taken back."


def unchanged(reason: str, *, is_empty: bool) -> str:
    """It came to nothing."""
    text = "Nothing was compacted" if is_empty else "Compaction failed"
    why = f": {reason.rstrip('.')}" if reason else ""
    return f"🗜 {text}{why}. The conversation is unchanged."
