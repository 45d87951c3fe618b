"""What people read of a compaction."""

from __future__ import annotations

import pytest

from bot.compaction.notices import finished
from bot.compaction.statistics import messages_text, statistics, statistics_of
from tests.unit.one_run import a_meter


def test_a_compaction_during_which_much_was_said_is_told_without_a_share_below_nothing() -> None:
    def told(after: int, messages: int) -> str:
        return finished(statistics(count=12, compacted=messages, tokens=1_353, compacted_tokens=after), "")

    assert told(1_000, 5) == (
        "🗜 Compacted: 1,353 → 1,000 tokens (26% freed), 12 → 5 messages (58.3% fewer). /undo takes it back."
    )
    assert told(1_719, 14) == (
        "🗜 Compacted: 1,353 → 1,719 tokens (more was said meanwhile), 12 → 14 messages. /undo takes it back."
    )


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (63, 21, "63 → 21 messages (66.7% fewer)"),
        (13, 1, "13 → 1 message (92.3% fewer)"),
        (1_200, 600, "1,200 → 600 messages (50.0% fewer)"),
        (9, 9, "9 messages, none fewer"),
        (1, 1, "1 message, none fewer"),
    ],
)
def test_what_became_of_the_messages_is_one_phrase(before: int, after: int, text: str) -> None:
    assert messages_text(statistics(count=before, compacted=after, tokens=2, compacted_tokens=1)) == text


def test_a_run_whose_messages_were_not_counted_has_no_statistics() -> None:
    counted, after = a_meter(900, messages=9), a_meter(90, messages=3)
    assert statistics_of(a_meter(900), after) is None
    assert statistics_of(counted, None) is None
    assert statistics_of(counted, after) == statistics(count=9, compacted=3, tokens=900, compacted_tokens=90)
