"""What people read of a compaction."""

from __future__ import annotations

from bot.compaction_status import finished
from bot.meter import Meter, Part


def test_a_compaction_during_which_much_was_said_is_told_without_a_share_below_nothing() -> None:
    def told(after: int) -> str:
        return finished(1_353, Meter.of([Part("history", after)], limit=10_000), "")

    assert told(1_000) == "🗜 Compacted: 1,353 → 1,000 tokens (26% freed). /undo takes it back."
    assert told(1_719) == "🗜 Compacted: 1,353 → 1,719 tokens (more was said meanwhile). /undo takes it back."
