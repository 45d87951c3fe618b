"""What the model is woken for by an appointment is asked like what a person asks: it stays until it is answered."""

from __future__ import annotations

import pytest

from bot.compaction import STRATEGIES, Plan, PlanContext
from bot.compaction.fallback import hide_oldest, last_resorts
from bot.estimate import Meter, Part
from bot.history import Entry, EntryKind
from bot.messages import text_block
from tests.unit.entries import replied, said

WOKEN = 41
TALK = [
    said(seq, f"question {seq}", tokens=500) if seq % 2 else replied(seq, f"answer {seq}", tokens=500)
    for seq in range(1, WOKEN)
]
NOTE = Entry(WOKEN, "user", (text_block("[An appointment is due: look at the oven.]"),), EntryKind.WOKEN)
PAGE = [*TALK, NOTE]


def hides_much_and_not_the_note(plan: Plan | None) -> bool:
    assert plan
    hidden = {seq for low, high in plan.hidden for seq in range(low, high + 1)}
    assert hidden
    return WOKEN not in hidden and WOKEN not in plan.summarise


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_compaction_before_the_first_request_leaves_what_it_was_woken_for(name: str) -> None:
    meter = Meter.of([Part("conversation", 20_500)], limit=21_000)
    context = PlanContext(trigger="auto", target=8_000)
    plan = STRATEGIES[name].plan(PAGE, meter, context)
    if name == "monologue":  # it takes out what the model did between two messages, and nothing of these
        assert plan is None
    else:
        assert hides_much_and_not_the_note(plan)


def test_so_does_what_helps_where_no_summary_comes() -> None:
    assert hides_much_and_not_the_note(hide_oldest(PAGE, 5_000))
    assert all(hides_much_and_not_the_note(plan) for plan in last_resorts(PAGE, 5_000))
