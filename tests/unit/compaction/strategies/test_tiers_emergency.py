"""The third tier of `tiered`: the last messages stay, and the rest is summarised. FEATURES T4."""

from __future__ import annotations

import pytest

from bot.compaction import PlanContext
from bot.compaction.plan import SUMMARY
from bot.compaction.strategies.tiers import ASKS, GO_ON
from bot.history import EntryKind
from tests.unit.entries import history, replied, said, shown
from tests.unit.tiered_pages import (
    CODE,
    chat,
    covered,
    notes,
    planned,
    reading,
    sent,
    visible_seqs,
)


def test_everything_but_the_last_four_messages_is_summarised() -> None:
    page = history(*chat(1, 20, tokens=100))
    plan = planned(page, 0.95)
    assert plan
    assert plan.summarise == tuple(range(1, 17))
    assert plan.asks == ASKS
    assert shown(covered(page, plan))[0] == (
        "user",
        ["Session context compacted.", f"SUMMARY\n\n{GO_ON}", "question 17"],
    )
    assert visible_seqs(covered(page, plan)) == [17, 18, 19, 20]


@pytest.mark.parametrize("wanted", ["goals", "technical details", "code references", "constraints"])
def test_the_summary_is_asked_for_what_the_decision_flow_wants_kept(wanted: str) -> None:
    assert wanted in ASKS.lower()


def test_the_request_that_waits_stays_however_many_tools_ran_for_it() -> None:
    steps = [entry for seq in range(12, 40, 2) for entry in reading(seq, f"files/{seq}.txt", "words " * 300)]
    page = history(*chat(1, 10), said(11, "do it", tokens=9), *steps)
    after = covered(page, planned(page, 0.95))
    assert visible_seqs(after) == [11, *range(32, 40)]


def test_files_become_outlines_and_those_last_that_the_model_has_not_read_yet() -> None:
    read = reading(12, "files/old.py", CODE * 3)
    new = reading(14, "files/new.py")
    page = history(*chat(1, 10, tokens=400), said(11, "do it", tokens=9), *read, *new)
    plan = planned(page, 0.95)
    assert plan
    assert set(plan.replaced) == {13}
    assert "in outline" in covered(page, plan).visible[-3].blocks[0]["content"]
    assert covered(page, plan).visible[-1] == new[1]


def test_a_file_that_was_not_read_yet_becomes_an_outline_when_it_does_not_fit() -> None:
    page = history(*chat(1, 10), said(11, "do it", tokens=9), *reading(12, "files/new.py", CODE * 9))
    plan = planned(page, 0.95)
    assert plan
    assert set(plan.replaced) == {13}


def test_files_that_go_leave_their_outlines() -> None:
    page = history(said(1, "look"), sent(2, "files/a.py"), replied(3, "so"), *chat(4, 12, tokens=2_000))
    (note,) = notes(covered(page, planned(page, 0.95)))
    assert note.startswith("Files from the part of the conversation that is out of view:")
    assert "def function_0(value)" in note
    told = [line for line in note.splitlines() if line and not line.startswith((">", "["))]
    assert told == ["Files from the part of the conversation that is out of view:"], "the file's own lines are marked"
    small = history(said(1, "look"), sent(2, "files/a.py"), replied(3, "so"), *chat(4, 12, tokens=200))
    assert notes(covered(small, planned(small, 0.95)))[0].endswith('To read them again: read_file("files/a.py")')


def test_fewer_messages_stay_when_the_last_four_alone_are_too_large() -> None:
    page = history(*chat(1, 4), said(5, "a", tokens=2_000), replied(6, "b", tokens=2_000), *chat(7, 2, tokens=500))
    after = covered(page, planned(page, 0.95))
    assert visible_seqs(after) == [6, 7, 8]


def test_an_earlier_summary_is_input_to_the_next_and_its_marker_is_not() -> None:
    page = history(*chat(1, 20, tokens=100))
    once = covered(page, planned(page, 0.95))
    more = once.appended(*chat(once.last_seq + 1, 12, tokens=100))
    plan = planned(more, 0.95)
    assert plan
    kinds = [entry.kind for entry in more.visible if entry.seq in plan.summarise]
    assert kinds.count(EntryKind.SUMMARY) == 1
    assert EntryKind.MARKER not in kinds
    twice = covered(more, plan, "SECOND")
    assert [entry.kind for entry in twice.visible].count(EntryKind.SUMMARY) == 1
    assert [entry.kind for entry in twice.visible].count(EntryKind.MARKER) == 1


def test_the_focus_is_passed_on_and_rules_hold() -> None:
    talk = [said(1, "It must cost 4711 EUR, the code word is blau-wal.", tokens=60), *chat(2, 20, tokens=100)]
    context = PlanContext(focus="the price of 4711", rules=(r"blau-\w+",), trigger="manual")
    plan = planned(history(*talk), 0.95, context)
    assert plan
    assert plan.focus == "the price of 4711"
    assert plan.must_keep == ("blau-wal", "4711")
    assert any(SUMMARY in item.text for item in plan.inserted)
