"""Whatever was said, and whatever compactions made of it: what the model reads is a request that a provider takes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from bot.compaction import STRATEGIES, Plan, PlanContext
from bot.compaction.fallback import excerpt, hide_oldest
from bot.estimate import Family, Meter, Part, message_tokens
from bot.history import ASKED, Entry, EntryKind, History, valid_request
from bot.messages import Message
from tests.unit.any_history import Author, Dice, Draw, assert_valid, histories, texts

EXAMPLES = int(os.environ.get("EXAMPLES", "200"))
"""`EXAMPLES=2000 make test ARGS=tests/unit/test_every_view_is_valid.py` looks harder."""

Planner: TypeAlias = Callable[[History, Draw], Plan | None]

often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
seldom = settings(often, max_examples=30)


def strategy_planner(name: str) -> Planner:
    def plan(history: History, draw: Draw) -> Plan | None:
        view = history.visible
        meter = Meter.of([Part("conversation", history.tally.total)], limit=draw(st.integers(1, 9_000)))
        context = PlanContext(
            target=draw(st.one_of(st.none(), st.integers(1, 9_000))),
            focus=draw(texts),
            rules=(r"\d+",),
            trigger=draw(st.sampled_from(("auto", "manual", "recovery", "ahead"))),
        )
        return STRATEGIES[name].plan(view, meter, context) if view else None

    return plan


def oldest_planner(history: History, draw: Draw) -> Plan | None:
    return hide_oldest(history.visible, draw(st.integers(1, 9_000))) if history.visible else None


def excerpt_planner(history: History, draw: Draw) -> Plan | None:
    large = [entry for entry in history.visible if entry.kind in (EntryKind.SAID, EntryKind.RESULT)]
    return excerpt(draw(st.sampled_from(large)), history.visible) if large else None


PLANNERS: dict[str, Planner] = {
    **{name: strategy_planner(name) for name in STRATEGIES},
    "hide_oldest": oldest_planner,
    "excerpt": excerpt_planner,
}
each_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)


def covered(history: History, plan: Plan, summary: str = "what was said") -> History:
    """As an agent puts a layer down: its number is new, and what it inserts is numbered after the newest entry."""
    number = max((entry.layer or 0 for entry in history.entries), default=0) + max(history.stack, default=0) + 1
    layer, inserted = plan.layer(number, history.last_seq + 1, run="run", summary=summary)
    return history.covered(layer, inserted)


def counted(entry: Entry) -> int:
    """What it takes."""
    return math.ceil(message_tokens({"role": entry.role, "content": entry.blocks}, family=Family.NEWER))


def planned(planner: Planner, history: History, data: st.DataObject) -> Plan:
    plan = planner(history, data.draw)
    assume(plan)
    assert plan
    return plan


def without_top(history: History) -> History:
    return History(history.entries, history.layers[:-1])


def as_loaded(history: History) -> History:
    """As the store loads it: without what lies below the floor."""
    floor = max((layer.floor for layer in history.layers), default=0)
    return History(tuple(entry for entry in history.entries if entry.seq >= floor), history.layers)


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
    after = covered(history, planned(planner, history, data), data.draw(texts))
    assert_valid(after.view())
    assert as_loaded(after).view() == after.view()
    assert without_top(after).view() == history.view()


@pytest.mark.parametrize("name", STRATEGIES)
@often
@given(history=histories(), data=st.data())
def test_a_plan_without_a_summary_makes_the_page_smaller(history: History, data: st.DataObject, name: str) -> None:
    plan = strategy_planner(name)(history, data.draw)
    if plan is None or plan.summarise:
        return
    after = covered(history, plan)
    inserted = sum(counted(entry) for entry in after.visible if entry.layer is not None and not entry.tokens)
    assert after.tally.total + inserted < history.tally.total


@each_planner
@seldom
@given(history=histories(), data=st.data())
def test_a_plan_names_only_what_it_was_shown_and_survives_the_book(
    history: History, data: st.DataObject, planner: Planner
) -> None:
    plan = planned(planner, history, data)
    shown = {entry.seq for entry in history.visible}
    assert plan.upto == max(shown)
    assert set(plan.summarise) <= shown
    assert set(plan.replaced) <= shown
    assert all(1 <= low <= high <= plan.upto for low, high in plan.hidden)
    assert Plan.from_json(plan.as_json()) == plan
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


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
    plan = planned(strategy_planner("reset"), waiting, data)
    after = covered(waiting, plan, "WHAT WAS SAID").visible
    assert [entry.kind for entry in after[:2]] == [EntryKind.MARKER, EntryKind.SUMMARY]
    assert after[-1] == latest
    assert all(entry.kind in ASKED for entry in after[2:])
    assert latest.seq not in plan.summarise


def newer(history: History, seq: int) -> list[Entry]:
    return [entry for entry in history.visible if entry.seq > seq and entry.layer is None]
