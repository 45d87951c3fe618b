"""A plan becomes a layer, and survives the book."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import HEADING, facts_in, rendered
from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.plan import SUMMARY, Inserted, Plan, everything_but, fresh_start, within
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


WHERE = "(Out of view: messages 1 to 7, 9; recall finds and reads them.)"


def texts(plan: Plan, *, recall: bool) -> list[str]:
    _, inserted = plan.layer(3, 10, run=None, summary="s", recall=recall)
    return [entry.blocks[0]["text"] for entry in inserted]


def test_where_recall_is_had_the_summary_says_which_messages_it_stands_for() -> None:
    assert texts(PLAN, recall=True) == ["a marker", f"<s\n\n{WHERE}>"]
    assert texts(PLAN, recall=False) == ["a marker", "<s>"]


def test_without_a_summary_the_last_note_says_it_after_its_first_line() -> None:
    notes = (Inserted(8, EntryKind.NOTE, "first"), Inserted(8, EntryKind.NOTE, "second\n- a list"))
    assert texts(replace(PLAN, inserted=notes), recall=True) == ["first", f"second\n{WHERE}\n- a list"]
    assert texts(replace(PLAN, inserted=notes[:1]), recall=True) == [f"first\n{WHERE}"]


def test_a_layer_that_hides_nothing_or_inserts_only_a_marker_says_nothing_of_it() -> None:
    assert texts(replace(PLAN, hidden=()), recall=True) == ["a marker", "<s>"]
    assert texts(replace(PLAN, inserted=PLAN.inserted[:1]), recall=True) == ["a marker"]


def test_very_many_gaps_are_not_listed() -> None:
    hidden = tuple((seq, seq) for seq in range(1, 100, 2))
    assert "messages 1 to 99 with gaps;" in texts(replace(PLAN, hidden=hidden), recall=True)[1]


def test_a_checkpoint_of_facts_is_read_again_as_it_was_written() -> None:
    facts = [Fact(FactKind.STATEMENT, "The key is 4711.", (1,)), Fact(FactKind.VALUE, "order=A-1; price=7", (1,))]
    text = rendered(facts)
    plan = replace(PLAN, inserted=(Inserted(8, EntryKind.NOTE, text),))
    _, inserted = plan.layer(3, 10, run=None, recall=True)
    assert inserted[0].blocks[0]["text"].startswith(f"{HEADING}\n{WHERE}")
    assert candidates_of(inserted) == tuple(facts_in(text, 10))
    assert [found.text for found in candidates_of(inserted)] == [fact.text for fact in facts]


@pytest.mark.parametrize("plan", [PLAN, Plan("x", 1, 0)])
def test_a_plan_comes_back_from_json_as_it_was(plan: Plan) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    assert Plan.from_json(plan.as_json()) == plan


def test_a_plan_of_the_version_before_is_read_and_one_with_the_usual_share_can_be_read_by_it() -> None:
    old = {name: value for name, value in PLAN.as_json().items() if name not in ("given", "details_share")}
    assert Plan.from_json(json.loads(json.dumps(old))) == PLAN
    assert PLAN.as_json().keys() == old.keys()
    assert Plan.from_json(replace(PLAN, details_share=0.2).as_json()).details_share == 0.2


def test_a_fresh_start_hides_all_that_was_said() -> None:
    assert fresh_start(9) == Plan("new", 9, 10, ((1, 9),), kind="new")


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
