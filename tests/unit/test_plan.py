"""A plan becomes a layer, and survives the book."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.plan import SUMMARY, Inserted, Plan, everything_but, within
from bot.estimate import Family, text_tokens
from bot.history import EntryKind
from bot.messages import Audience, text_block
from tests.unit.entries import said

PLAN = Plan(
    strategy="reset",
    upto=9,
    floor=8,
    hidden=((1, 7), (9, 9)),
    replaced={8: (text_block("eight"),)},
    inserted=(
        Inserted(8, EntryKind.MARKER, "a marker", Audience.EVERYONE),
        Inserted(8, EntryKind.SUMMARY, f"<{SUMMARY}>"),
    ),
    summarise=(1, 2, 9),
    must_keep=("42",),
    focus="the number",
)


def test_the_layer_has_the_plans_ranges_and_the_runs_id() -> None:
    layer, _ = PLAN.layer(3, 10, run="r1", summary="s")
    assert (layer.number, layer.upto, layer.floor, layer.hidden, layer.run) == (3, 9, 8, ((1, 7), (9, 9)), "r1")
    assert layer.replaced == PLAN.replaced


def test_what_a_layer_inserts_is_numbered_on_and_holds_the_summary_word_for_word() -> None:
    _, inserted = PLAN.layer(3, 10, run=None, summary=r"\1 {0} %s <b>")
    assert [(entry.seq, entry.layer, entry.place, entry.role) for entry in inserted] == [
        (10, 3, 8, "user"),
        (11, 3, 8, "user"),
    ]
    assert [entry.blocks[0]["text"] for entry in inserted] == ["a marker", r"<\1 {0} %s <b>>"]
    assert [entry.audience for entry in inserted] == [Audience.EVERYONE, Audience.MODEL]


@pytest.mark.parametrize("plan", [PLAN, Plan("x", 1, 0)])
def test_a_plan_comes_back_from_json_as_it_was(plan: Plan) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    assert Plan.from_json(plan.as_json()) == plan


def test_everything_but_what_is_kept_is_hidden() -> None:
    assert everything_but([said(3, ""), said(4, ""), said(7, ""), said(12, "")], 9) == ((1, 2), (5, 6), (8, 9))
    assert everything_but([], 4) == ((1, 4),)
    assert everything_but([said(1, "")], 1) == ()


@given(st.sets(st.integers(1, 30)), st.integers(1, 30))
def test_hidden_and_kept_are_all_there_is(kept: set[int], upto: int) -> None:
    hidden = {
        seq for low, high in everything_but([said(seq, "") for seq in kept], upto) for seq in range(low, high + 1)
    }
    assert hidden == set(range(1, upto + 1)) - kept


def test_of_many_items_the_first_are_taken_that_fit() -> None:
    item = "the number is 42"
    size = text_tokens(item, family=Family.NEWER) + 2
    assert within([item] * 5, 3 * size) == (item,) * 3
    assert within([item], size - 1) == ()
    assert within([], 0) == ()
