"""`reset`: the marker, the summary, and the request that waits. FEATURES D1, D6."""

from __future__ import annotations

import pytest

from bot.compaction import Plan, PlanContext
from bot.compaction.plan import SUMMARY
from bot.compaction.strategies.reset import GO_ON, MARKER, Reset, ResetOptions
from bot.estimate import Level
from bot.history import Entry, EntryKind, History
from bot.messages import Audience
from tests.unit.entries import full, history, replied, returned, said, shown

LONG_TALK = (said(1, "one", tokens=400), replied(2, "two", tokens=400))


def planned(
    page: History, limit: int = 1_000, context: PlanContext | None = None, options: ResetOptions | None = None
) -> Plan:
    plan = Reset(options or ResetOptions()).plan(page.visible, full(800, limit), context or PlanContext())
    assert plan
    return plan


def compacted(page: History, limit: int = 1_000) -> History:
    number = max(page.stack, default=0) + 1
    layer, inserted = planned(page, limit).layer(number, page.last_seq + 1, run=None, summary=f"SUMMARY {number}")
    return page.covered(layer, inserted)


def test_the_marker_reads_exactly_so() -> None:
    assert MARKER == "Session context compacted."


def test_after_a_reset_the_page_is_marker_summary_and_the_request_that_waits() -> None:
    page = compacted(history(*LONG_TALK, said(3, "  and\tnow? 🙂")))
    assert shown(page) == [("user", [MARKER, f"SUMMARY 1\n\n{GO_ON}", "  and\tnow? 🙂"])]


def test_people_see_the_marker_and_only_the_model_the_summary() -> None:
    marker, summary = compacted(history(*LONG_TALK, said(3, "now?"))).visible[:2]
    assert (marker.kind, marker.audience) == (EntryKind.MARKER, Audience.EVERYONE)
    assert (summary.kind, summary.audience) == (EntryKind.SUMMARY, Audience.MODEL)


def test_all_requests_that_wait_for_one_answer_stay() -> None:
    page = compacted(history(*LONG_TALK, said(3, "now?"), said(4, "or then?")))
    assert shown(page)[0][1][2:] == ["now?", "or then?"]


def test_tools_that_ran_for_the_request_are_summarised_and_the_request_stays() -> None:
    ran = (replied(4, "", "a"), returned(5, "a", "a fox"), replied(6, "", "b", tokens=500), returned(7, "b", "a hare"))
    page = history(*LONG_TALK, said(3, "look"), *ran)
    assert planned(page).summarise == (1, 2, 4, 5, 6, 7)
    assert shown(compacted(page))[0][1][2:] == ["look"]


def test_what_tools_returned_and_the_model_has_not_read_yet_stays_unless_it_takes_half_of_the_room() -> None:
    ran = (replied(4, "", "a"), returned(5, "a", "a fox"), replied(6, "", "b", tokens=100), returned(7, "b", "a hare"))
    page = history(*LONG_TALK, said(3, "look"), *ran)
    assert planned(page).summarise == (1, 2, 4, 5)
    assert [entry.seq for entry in compacted(page).visible if entry.layer is None] == [3, 6, 7]
    assert planned(page, context=PlanContext(target=150)).summarise == (1, 2, 4, 5, 6, 7)


def test_a_request_whose_answer_was_interrupted_still_waits() -> None:
    page = history(*LONG_TALK, said(3, "look"), replied(4, "I w", interrupted=True))
    assert shown(compacted(page))[0][1][2:] == ["look"]


def test_an_answered_exchange_stays_whole_when_it_is_small() -> None:
    page = compacted(history(*LONG_TALK, said(3, "bye", tokens=50), replied(4, "bye", tokens=100)))
    assert shown(page)[-1] == ("assistant", ["bye"])
    assert shown(page)[0][1][2:] == ["bye"]


def test_of_an_exchange_that_is_large_the_request_and_its_answer_stay_or_the_answer() -> None:
    done = (replied(4, "", "a"), returned(5, "a", "a fox", tokens=200))
    page = history(*LONG_TALK, said(3, "look", tokens=50), *done, replied(6, "A fox. Shoo it?", tokens=100))
    assert planned(page).summarise == (1, 2, 4, 5)
    assert shown(compacted(page))[-1] == ("assistant", ["A fox. Shoo it?"])
    page = history(*LONG_TALK, said(3, "look", tokens=51), *done, replied(6, "A fox. Shoo it?", tokens=100))
    assert planned(page).summarise == (1, 2, 3, 4, 5)
    after = compacted(page).appended(said(19, "yes"))
    assert shown(after)[1:] == [("assistant", ["A fox. Shoo it?"]), ("user", ["yes"])]


def test_an_answer_that_stays_alone_stays_when_it_is_compacted_again() -> None:
    page = history(*LONG_TALK, said(3, "look", tokens=200), replied(4, "A fox. Shoo it?", tokens=100))
    once = compacted(page)
    assert shown(once)[-1] == ("assistant", ["A fox. Shoo it?"])
    assert Reset().plan(once.visible, full(900), PlanContext()) is None


def test_an_answer_that_is_large_is_summarised_with_what_it_answers_so_that_nothing_is_answered_twice() -> None:
    page = history(*LONG_TALK, said(3, "bye", tokens=10), replied(4, "bye", tokens=151))
    assert planned(page).summarise == (1, 2, 3, 4)
    assert shown(compacted(page)) == [("user", [MARKER, f"SUMMARY 1\n\n{GO_ON}"])]


def test_the_next_message_stands_after_the_summary_of_everything() -> None:
    page = compacted(history(*LONG_TALK)).appended(said(9, "next"))
    assert shown(page) == [("user", [MARKER, f"SUMMARY 1\n\n{GO_ON}", "next"])]


def test_an_earlier_summary_is_input_again_and_an_earlier_marker_is_not() -> None:
    once = compacted(history(*LONG_TALK, said(3, "now?")))
    page = once.appended(replied(once.last_seq + 1, "so", tokens=300), said(once.last_seq + 2, "then?"))
    plan = planned(page)
    summarised = [entry.kind for entry in page.visible if entry.seq in plan.summarise]
    assert summarised == [EntryKind.SUMMARY, EntryKind.SAID, EntryKind.REPLY]
    assert shown(compacted(page)) == [("user", [MARKER, f"SUMMARY 2\n\n{GO_ON}", "then?"])]


@pytest.mark.parametrize(
    "view",
    [
        (said(1, "only this"),),
        (said(1, "small", tokens=10), replied(2, "small", tokens=10)),
        (),
    ],
)
def test_there_is_no_plan_where_nothing_would_be_won(view: tuple[Entry, ...]) -> None:
    assert Reset().plan(view, full(800), PlanContext()) is None


def test_there_is_no_plan_for_a_summary_and_a_request_alone() -> None:
    page = compacted(history(*LONG_TALK, said(3, "now?")))
    assert Reset().plan(page.visible, full(900), PlanContext()) is None


def test_a_plan_covers_all_that_it_saw_and_nothing_that_came_later() -> None:
    plan = planned(history(*LONG_TALK, said(3, "now?")))
    assert (plan.upto, plan.floor, plan.hidden) == (3, 3, ((1, 2),))
    layer, inserted = plan.layer(1, 5, run=None, summary="s")
    page = history(*LONG_TALK, said(3, "now?"), said(4, "meanwhile")).covered(layer, inserted)
    assert shown(page)[0][1][2:] == ["now?", "meanwhile"]


def test_a_summary_has_to_hold_what_the_rules_match_in_what_goes_but_not_more_than_a_tenth_of_the_limit() -> None:
    tickets = [replied(seq, f"Ticket ABC-{seq}") for seq in range(2, 60)]
    page = history(said(1, "It must cost 4711 EUR."), *tickets, said(60, "?"))
    rules = PlanContext(rules=(r"[A-Z]+-\d+",))
    everything = planned(page, limit=100_000, context=rules).must_keep
    assert everything[:2] == ("ABC-59", "ABC-58")
    assert 0 < len(planned(page, limit=600, context=rules).must_keep) < len(everything)


def test_nothing_is_demanded_of_a_summary_that_nobody_demanded() -> None:
    page = history(*LONG_TALK, replied(3, "It must never cost more than 4711 EUR."), said(4, "now?"))
    assert planned(page).must_keep == ()
    assert planned(page, context=PlanContext(focus="above all that of 4711 EUR, and ABC-1")).must_keep == ("4711",)


def test_the_share_of_exact_details_is_an_option() -> None:
    page = history(*LONG_TALK, said(3, "now?"))
    assert planned(page).details_share == 0.05
    assert planned(page, options=ResetOptions(details_share=0.2)).details_share == 0.2
    with pytest.raises(ValueError, match="details_share"):
        ResetOptions(details_share=1.2)


def test_rules_and_focus_reach_the_plan() -> None:
    page = history(said(1, "the code word is blau-wal"), said(2, "ok"), replied(3, "ok", tokens=900), said(4, "now?"))
    plan = planned(page, context=PlanContext(focus="the whale", rules=(r"blau-\w+",)))
    assert "blau-wal" in plan.must_keep
    assert plan.focus == "the whale"
    assert any(SUMMARY in item.text for item in plan.inserted)


def test_the_levels_are_daycares() -> None:
    levels = [Reset().level(full(total)) for total in (749, 750, 900)]
    assert levels == [Level.OK, Level.WARNING, Level.CRITICAL]
    assert Reset(ResetOptions(warning=0.5)).level(full(500)) is Level.WARNING
