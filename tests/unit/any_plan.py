"""What holds for every plan, by whatever strategy and on whatever page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st

from bot.compaction import Plan, PlanContext, Strategy
from bot.estimate import Family, Meter, Part, message_tokens
from bot.history import Entry, History
from tests.unit.any_history import Draw, assert_valid, texts

Planner: TypeAlias = Callable[[History, Draw], Plan | None]


def planner_of(strategy: Strategy) -> Planner:
    """Asks a strategy, with any meter and for any reason."""

    def plan(history: History, draw: Draw) -> Plan | None:
        view = history.visible
        meter = Meter.of([Part("conversation", history.tally.total)], limit=draw(st.integers(1, 9_000)))
        context = PlanContext(
            target=draw(st.one_of(st.none(), st.integers(1, 9_000))),
            focus=draw(texts),
            rules=(r"\d+",),
            trigger=draw(st.sampled_from(("auto", "manual", "recovery", "ahead"))),
        )
        return strategy.plan(view, meter, context) if view else None

    return plan


def covered(history: History, plan: Plan, summary: str = "what was said") -> History:
    """As an agent puts a layer down: its number is new, and what it inserts is numbered after the newest entry."""
    number = max((entry.layer or 0 for entry in history.entries), default=0) + max(history.stack, default=0) + 1
    layer, inserted = plan.layer(number, history.last_seq + 1, run="run", summary=summary)
    return history.covered(layer, inserted)


def without_top(history: History) -> History:
    """As `/undo` leaves it."""
    return History(history.entries, history.layers[:-1])


def as_loaded(history: History) -> History:
    """As the store loads it: without what lies below the floor."""
    floor = max((layer.floor for layer in history.layers), default=0)
    return History(tuple(entry for entry in history.entries if entry.seq >= floor), history.layers)


def assert_page_holds(history: History, plan: Plan, summary: str) -> None:
    """Under the plan it is a request that a provider takes, needs nothing below its floor, and can be taken back."""
    after = covered(history, plan, summary)
    assert_valid(after.view())
    assert as_loaded(after).view() == after.view()
    assert without_top(after).view() == history.view()


def assert_smaller(history: History, plan: Plan) -> None:
    """A plan that wants no summary makes the page smaller."""
    if plan.summarise:
        return
    after = covered(history, plan)
    inserted = sum(_counted(entry) for entry in after.visible if entry.layer is not None and not entry.tokens)
    assert after.tally.total + inserted < history.tally.total


def assert_names_what_is_there(history: History, plan: Plan) -> None:
    """It names only entries that it was shown, and is the same after it was written down."""
    shown = {entry.seq for entry in history.visible}
    assert plan.upto == max(shown)
    assert set(plan.summarise) <= shown
    assert set(plan.replaced) <= shown
    assert all(1 <= low <= high <= plan.upto for low, high in plan.hidden)
    assert Plan.from_json(plan.as_json()) == plan
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


def _counted(entry: Entry) -> int:
    return math.ceil(message_tokens({"role": entry.role, "content": entry.blocks}, family=Family.NEWER))
