"""A limit leaves room beside a summary, and exact details take it: values survive a summary that says nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compaction import compact_history
from bot.estimate import estimate_tokens
from bot.runtime.redact import redact

VAGUE = "They talked about several things."


def orders(count: int, since: int = 0) -> list[dict[str, Any]]:
    """What tools return is mostly prose that nobody needs again."""
    talk: list[dict[str, Any]] = []
    for number in range(since, since + count):
        order = {
            "order_id": f"{70_000_000 + 977 * number}",
            "city": f"Town{number}",
            "note": "As ever, all is well. " * 12,
        }
        call = {"type": "tool_use", "id": f"t{number}", "name": "get_order", "input": {"number": number}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": json.dumps(order)}
        talk += [
            {"role": "user", "content": f"And what of delivery number {number}?"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": "It is on its way, as you can see. Is there anything else?"},
        ]
    return talk


def ids_in(messages: object, count: int, since: int = 0) -> int:
    text = json.dumps(messages)
    return sum(f"{70_000_000 + 977 * number}" in text for number in range(since, since + count))


@pytest.mark.parametrize("strategy", ["reset", "segmented", "two_phase", "tiered"])
def test_values_survive_a_summary_that_keeps_none(strategy: str) -> None:
    talk = orders(30)
    limit = estimate_tokens(talk) // 4
    made = compact_history(talk, strategy=strategy, limit=limit, summary=VAGUE).messages
    assert estimate_tokens(made) <= limit
    assert ids_in(made, 30) >= 27


def test_they_survive_twenty_compactions_and_are_listed_once() -> None:
    page: list[dict[str, Any]] = []
    for turn in range(20):
        page = [*page, *orders(3, since=3 * turn)]
        page = compact_history(page, strategy="reset", limit=2_000, summary=VAGUE).messages
        assert estimate_tokens(page) <= 2_000
    assert ids_in(page, 60) >= 54
    listed = [line for line in page[0]["content"][-1]["text"].splitlines() if "70000" in line or "7005" in line]
    assert len(listed) == len(set(listed))


def test_without_a_limit_they_take_a_share() -> None:
    talk = orders(30)
    few = compact_history(talk, strategy="reset", summary=VAGUE, details_share=0.02).messages
    none = compact_history(talk, strategy="reset", summary=VAGUE, details_share=0).messages
    assert 0 < estimate_tokens(few) - estimate_tokens(none) <= 0.03 * estimate_tokens(talk)
    assert ids_in(none, 29) == 0 < ids_in(few, 29)


def test_what_is_redacted_is_not_listed() -> None:
    talk = [{"role": "user", "content": "My password: hunter2-lamp-44."}, {"role": "assistant", "content": "Hm."}]
    made = compact_history([*talk, *orders(8)], strategy="reset", limit=600, summary=VAGUE, redact=redact).messages
    assert "hunter2" not in json.dumps(made)
