"""Recent messages by number and by tokens, whichever is less unless one of them was chosen. FEATURES E5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bot.compaction import STRATEGIES, Plan, PlanContext, compact_history
from bot.compaction.options import with_options
from bot.compaction.plan import Scale, Trigger
from bot.compaction.strategies.recent import Preset, PresetShare, Recent
from bot.estimate import Meter, Part
from bot.history import Entry
from tests.unit.entries import full, replied, returned, said

LARGE = 1_000_000
"""Tokens: a window in which a number of tokens is what it says."""


def talk(count: int, tokens: int) -> list[Entry]:
    return [
        said(seq, f"question {seq}", tokens=tokens) if seq % 2 else replied(seq, f"answer {seq}", tokens=tokens)
        for seq in range(1, count + 1)
    ]


def kept(
    name: str, page: Sequence[Entry], *, limit: int = LARGE, trigger: Trigger = "manual", **options: Any
) -> list[int]:
    """The seqs that stay of this page, as it stands in a window."""
    meter = Meter.of([Part("conversation", sum(entry.tokens for entry in page))], limit=limit)
    # A focus takes tiered to the tier that keeps the last messages alone.
    context = PlanContext(trigger=trigger, focus="tea" if name == "tiered" else "")
    plan = with_options(STRATEGIES[name], options).plan(page, meter, context)
    return [entry.seq for entry in page if plan is None or not is_hidden(plan, entry.seq)]


def is_hidden(plan: Plan, seq: int) -> bool:
    return any(low <= seq <= high for low, high in plan.hidden)


@pytest.mark.parametrize(
    ("number", "tokens", "stays"),
    [
        (Preset(10), Preset(20_000), 4),
        (Preset(3), Preset(20_000), 3),
        (10, Preset(20_000), 10),
        (Preset(10), 60_000, 12),
        (10, 60_000, 10),
        (20, 60_000, 12),
        (0, 60_000, 0),
        (Preset(10), 0, 0),
    ],
)
def test_whichever_is_less_counts_unless_one_was_chosen(number: int, tokens: int, stays: int) -> None:
    recent = Recent.of(number, tokens, Scale(0, 1.0), full(10, LARGE))
    assert recent.number(number, [5_000] * 30) == stays


def test_tokens_are_those_of_the_meter_and_take_half_of_a_small_window_at_most() -> None:
    assert Recent.of(Preset(10), 8_000, Scale(0, 2.0), full(10, LARGE)).number(10, [1_000] * 30) == 4
    small = Recent.of(Preset(10), 20_000, Scale(1_000, 1.0), full(10, 5_000))
    assert small.number(10, [100] * 99) == 20, "half of the 4,000 that the head leaves"
    share = Recent.of(PresetShare(0.15), 20_000, Scale(1_000, 1.0), full(10, 5_000))
    assert (share.at_most(100), share.at_most(LARGE)) == (2_000, 2_000)


KEPT: Mapping[str, tuple[str, int]] = {
    "segmented": ("keep_last", 10), "two_phase": ("preserve_recent", 10), "tiered": ("emergency_keep_last", 4)
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_every_strategy_that_keeps_the_last_messages_keeps_20_000_tokens_of_them_at_most(name: str) -> None:
    option, number = KEPT[name]
    page = talk(60, 6_000)

    def last(**options: Any) -> int:
        return len([seq for seq in kept(name, page, **options) if seq > 30])

    assert last() == 3
    assert last(**{option: number}) == number, "whoever sets the number gets it"
    assert last(recent_tokens=80_000) == 13, "and whoever sets the tokens, whatever the number is by itself"
    assert last(**{option: 2}, recent_tokens=80_000) == 2


@pytest.mark.parametrize("name", KEPT)
def test_in_a_small_window_the_number_of_the_document_holds(name: str) -> None:
    page = talk(60, 60)
    number = KEPT[name][1]
    assert len([seq for seq in kept(name, page, limit=4_700, trigger="auto") if seq > 30]) == number
    more = kept(name, page, limit=4_700, trigger="auto", recent_tokens=20_000)
    assert len([seq for seq in more if seq > 5]) == 39, "20,000 tokens would be all: half of the window stays"


def test_reset_keeps_the_latest_exchange_by_share_and_by_tokens() -> None:
    page = [*talk(20, 6_000), said(21, "and", tokens=15_000), replied(22, "so", tokens=15_000)]
    assert kept("reset", page) == [22]
    assert kept("reset", page, keep_exchange_share=0.15) == [21, 22]
    assert kept("reset", page, recent_tokens=30_000) == [21, 22]


def test_memory_keeps_recent_messages_by_share_and_by_tokens() -> None:
    page = talk(60, 6_000)
    assert [len(kept("memory", page)), len(kept("memory", page, recent_tokens=40_000))] == [2, 6]
    assert len(kept("memory", page, recent_share=0.15)) > 10


def test_monologue_keeps_as_many_segments_whole_as_fit() -> None:
    page = [
        entry
        for seq in range(1, 40, 4)
        for entry in (
            said(seq, "do it", tokens=100),
            replied(seq + 1, "", f"c{seq}", tokens=5_000),
            returned(seq + 2, f"c{seq}", "x", tokens=5_000),
            replied(seq + 3, "done", tokens=100),
        )
    ]

    def whole(**options: Any) -> int:
        found = kept("monologue", page, **options)
        return len([seq for seq in found if seq % 4 == 2])

    assert [whole(), whole(recent_tokens=31_000), whole(recent_tokens=1)] == [1, 3, 1]
    assert [whole(min_segments_to_keep=4), whole(min_segments_to_keep=4, recent_tokens=31_000)] == [4, 3]


def test_a_transcript_is_compacted_with_as_many_tokens_of_recent_messages_as_asked_for() -> None:
    messages = [{"role": ("user", "assistant")[at % 2], "content": f"{at} " + "word " * 50} for at in range(60)]
    few = compact_history(messages, strategy="segmented", summary="a summary of all", recent_tokens=300)
    many = compact_history(messages, strategy="segmented", summary="a summary of all", recent_tokens=1_500)
    assert len(few.messages) < 9
    assert len(many.messages) > 20


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_negative_number_of_tokens_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="recent_tokens"):
        with_options(STRATEGIES[name], {"recent_tokens": -1})
