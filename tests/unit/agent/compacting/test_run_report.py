"""What the log says of a compaction that begins."""

from __future__ import annotations

import pytest
import structlog

from bot.agent.compacting.run_report import tell_begun
from bot.compaction.plan import Trigger
from bot.estimate.meter import Level
from tests.unit.entries import full


@pytest.mark.parametrize(
    ("trigger", "total", "level", "reason"),
    [
        ("recovery", 700, Level.OK, "context window limit exceeded"),
        ("auto", 1_001, Level.CRITICAL, "context window limit exceeded"),
        ("auto", 760, Level.WARNING, "level warning reached"),
        ("ahead", 710, Level.OK, "close to the first level"),
        ("manual", 300, Level.OK, "a person asked for it"),
    ],
)
def test_the_log_says_that_and_why_it_compacts(trigger: Trigger, total: int, level: Level, reason: str) -> None:
    with structlog.testing.capture_logs() as logged:
        tell_begun("run1", trigger, full(total), level)
    (line,) = logged
    assert (line["event"], line["log_level"], line["reason"]) == ("compaction_started", "info", reason)
    assert (line["total"], line["limit"]) == (total, 1_000)
