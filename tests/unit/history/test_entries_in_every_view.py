"""Whatever was said, and whatever compactions made of it: what the model reads is a request that a provider takes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from bot.compaction import STRATEGIES, Plan, Strategy
from bot.compaction.fallback import excerpt, hide_oldest, last_resorts
from bot.history import ASKED, Entry, EntryKind, History, valid_request
from bot.messages import Message
from bot.runtime.strategies import named
from tests.unit.any_history import Author, Dice, Draw, assert_valid, histories, texts
from tests.unit.any_plan import (
    Planner,
    as_loaded,
    assert_names_what_is_there,
    assert_page_holds,
    assert_smaller,
    covered,
    planner_of,
    without_top,
)

EXAMPLES = int(os.environ.get("EXAMPLES", "200" if "LONG" in os.environ else "60"))
"""Each run has others. `EXAMPLES=2000 make test ARGS=tests/unit/history/test_entries_in_every_view.py` looks harder."""

OWN = os.environ.get("OWN_STRATEGY")
"""`OWN_STRATEGY=my_strategies:Minutes` holds one's own to it too."""

HELD: Mapping[str, Strategy] = {**STRATEGIES, **({OWN: named(OWN, STRATEGIES)} if OWN else {})}

often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
seldom = settings(often, max_examples=max(15, EXAMPLES // 6))


def oldest_planner(history: History, draw: Draw) -> Plan | None:
    return hide_oldest(history.visible, draw(st.integers(1, 9_000))) if history.visible else None


def last_resort_planner(history: History, draw: Draw) -> Plan | None:
    found = [*last_resorts(history.visible, draw(st.integers(1, 9_000)))] if history.visible else []
    return draw(st.sampled_from(found)) if found else None


def excerpt_planner(history: History, draw: Draw) -> Plan | None:
    large = [entry for entry in history.visible if entry.kind in (EntryKind.SAID, EntryKind.RESULT)]
    return excerpt(draw(st.sampled_from(large)), history.visible) if large else None


PLANNERS: dict[str, Planner] = {
    **{name: planner_of(strategy) for name, strategy in HELD.items()},
    "hide_oldest": oldest_planner,
    "excerpt": excerpt_planner,
    "last_resorts": last_resort_planner,
}
each_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)


def planned(planner: Planner, history: History, data: st.DataObject) -> Plan:
    plan = planner(history, data.draw)
    assume(plan)
    assert plan
    return plan


@often
@given(histories())
def test_every_history_reads_as_a_valid_request(history: History) -> None:
    assert_valid(history.view())


@seldom
@given(histories(), texts)
def test_a_valid_request_stays_valid_with_one_more_message(history: History, text: str) -> None:
    asked = Message(role="user", content=[{"type": "text", "text": text}])
    assert_valid(valid_request([*history.view(), asked]))


@seldom
@given(histories())
def test_what_is_valid_is_not_changed(history: History) -> None:
    view = history.view()
    assert valid_request(view) == view


@seldom
@given(histories())
def test_reading_a_page_changes_nothing_of_it(history: History) -> None:
    before = json.dumps([list(entry.blocks) for entry in history.entries])
    history.view()
    assert json.dumps([list(entry.blocks) for entry in history.entries]) == before


@each_planner
@often
@given(history=histories(), data=st.data())
def test_a_page_under_a_plan_is_valid_needs_nothing_below_its_floor_and_comes_back_by_taking_the_layer_off(
    history: History, data: st.DataObject, planner: Planner
) -> None:
    assert_page_holds(history, planned(planner, history, data), data.draw(texts))


@pytest.mark.parametrize("name", HELD)
@often
@given(history=histories(), data=st.data())
def test_a_plan_without_a_summary_makes_the_page_smaller(history: History, data: st.DataObject, name: str) -> None:
    if plan := PLANNERS[name](history, data.draw):
        assert_smaller(history, plan)


@each_planner
@seldom
@given(history=histories(), data=st.data())
def test_a_plan_names_only_what_it_was_shown_and_survives_the_book(
    history: History, data: st.DataObject, planner: Planner
) -> None:
    assert_names_what_is_there(history, planned(planner, history, data))


@often
@given(histories(layers=1), st.data())
def test_layers_over_layers_with_talk_between_them_stay_valid_and_come_off_one_by_one(
    history: History, data: st.DataObject
) -> None:
    author = Author(Dice(data.draw(st.integers(0, 2**48))))
    author.history = history
    for _ in range(data.draw(st.integers(1, 4))):
        plan = PLANNERS[data.draw(st.sampled_from(sorted(PLANNERS)))](author.history, data.draw)
        author.write(3)  # said while the summary was written: it stands on top, as it is
        before = author.history
        if plan is not None:
            event(f"layer by {plan.strategy}")
            author.history = covered(before, plan)
            assert without_top(author.history).view() == before.view()
            assert newer(author.history, plan.upto) == newer(before, plan.upto)
        author.write(3)
        assert_valid(author.history.view())
        assert as_loaded(author.history).view() == author.history.view()


@often
@given(histories(), st.text(min_size=1).filter(str.strip), st.data())
def test_a_reset_keeps_the_request_that_waits_word_for_word_after_the_summary(
    history: History, text: str, data: st.DataObject
) -> None:
    latest = Entry(history.last_seq + 1, "user", ({"type": "text", "text": text},), EntryKind.SAID)
    call = {"type": "tool_use", "id": "last-call", "name": "look", "input": {}}
    waiting = history.appended(latest)
    if data.draw(st.booleans()):
        waiting = waiting.appended(Entry(latest.seq + 1, "assistant", (call,), EntryKind.REPLY))
    plan = planned(PLANNERS["reset"], waiting, data)
    after = covered(waiting, plan, "WHAT WAS SAID").visible
    assert [entry.kind for entry in after[:2]] == [EntryKind.MARKER, EntryKind.SUMMARY]
    at = after.index(latest)
    assert all(entry.kind in ASKED for entry in after[2:at])
    assert after[at + 1 :] in ((), waiting.entries[len(history.entries) + 1 :]), (
        "and the call that waits, if it has room"
    )
    assert latest.seq not in plan.summarise


def newer(history: History, seq: int) -> list[Entry]:
    return [entry for entry in history.visible if entry.seq > seq and entry.layer is None]
