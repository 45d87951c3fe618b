"""What people and machines are told of memory."""

from __future__ import annotations

import pytest

from bot.compaction.facts.fact import Candidate, FactKind, Reason
from bot.compaction.memory_report import NO_CANDIDATES, Changes, audit_of, runtime_in, runtime_notice

NEW = Candidate(FactKind.GOAL, "Build a boat.", 1)
DATED = Candidate(FactKind.PATH, "./2024/7/19", 2, reason=Reason.DATE_LIKE)


def test_the_audit_is_read_from_the_newest_on_with_codes_and_counts_what_repeats() -> None:
    assert audit_of([NEW, DATED, DATED], 1).splitlines() == [
        "The last 3 considered: 2 date_like, 1 new",
        "✗ date_like · path · ./2024/7/19 (×2)",
        "✓ new · goal · Build a boat.",
        "Page 1 of 1.",
    ]
    assert audit_of([], 1) == NO_CANDIDATES


def test_a_long_audit_has_pages_that_are_each_one_message() -> None:
    many = [Candidate(FactKind.STATEMENT, f"{at} {'word ' * 60}", at) for at in range(40)]
    pages = [audit_of(many, number) for number in range(1, 6)]
    assert all(len(page) < 2_000 for page in pages)
    assert pages[0].endswith(": /memory debug 2")
    assert "✓ new · statement · 0 word" in audit_of(many, 99), "the last one"


def test_a_notice_for_machines_is_read_back() -> None:
    changes = Changes(2, 3, 1, 14, "turn", {"date_like": 3})
    assert runtime_in(runtime_notice(changes, "debug")) == changes


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "[CFPM_RUNTIME_V1] ",
        "[CFPM_RUNTIME_V1] []",
        "[CFPM_RUNTIME_V1] {}",
        '[CFPM_RUNTIME_V1] {"acceptedCount": "<b>", "rejectedCount": 0, "prunedCount": 0, "factCount": 0}',
        '[CFPM_RUNTIME_V1] {"acceptedCount": 1, "rejectedCount": 0, "prunedCount": 0, "factCount": 0, "mode": []}',
        '[CFPM_TOOL_GATE_V1] {"tool": "shell"}',
    ],
)
def test_what_is_no_notice_of_memory_is_shown_as_it_is(payload: str) -> None:
    assert runtime_in(payload) is None
