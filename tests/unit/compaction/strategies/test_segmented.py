"""`segmented`: the first and the last messages stay, the middle is summarised. FEATURES A3."""

from __future__ import annotations

from typing import Any

import pytest

from bot.compaction import STRATEGIES, Plan, PlanContext
from bot.compaction.strategies.segmented import GO_ON, SUMMARY_TEXT, Segmented, SegmentedOptions
from bot.estimate import Level, Meter, Part
from bot.history import Entry, EntryKind, History
from bot.messages import Audience
from tests.unit.entries import full, history, replied, returned, said, shown

AUTO, MANUAL, RECOVERY = (PlanContext(trigger=trigger) for trigger in ("auto", "manual", "recovery"))
SUMMARY = SUMMARY_TEXT.split("\n\n", maxsplit=1)[0] + "\n\nSUMMARY"


def talk(last: int, *, tokens: int = 50, since: int = 1) -> list[Entry]:
    """Questions at odd seqs, answers at even ones."""
    return [
        said(seq, f"q{seq}", tokens=tokens) if seq % 2 else replied(seq, f"a{seq}", tokens=tokens)
        for seq in range(since, last + 1)
    ]


def planned(page: History, context: PlanContext = AUTO, *, limit: int = 10_000, **options: Any) -> Plan | None:
    view = page.visible
    meter = Meter.of([Part("conversation", sum(entry.tokens for entry in view))], limit=limit)
    return Segmented(SegmentedOptions(**options)).plan(view, meter, context)


def compacted(page: History, context: PlanContext = AUTO, *, limit: int = 10_000, **options: Any) -> History:
    plan = planned(page, context, limit=limit, **options)
    assert plan
    number = max(page.stack, default=0) + 1
    layer, inserted = plan.layer(number, page.last_seq + 1, run=None, summary="SUMMARY")
    return page.covered(layer, inserted)


def seqs(page: History) -> list[int]:
    """Of what was said and is still visible."""
    return [entry.seq for entry in page.visible if entry.layer is None]


def test_the_first_three_and_the_last_ten_stay_and_a_summary_stands_between_them() -> None:
    after = compacted(history(*talk(30)))
    assert seqs(after) == [1, 2, 3, *range(21, 31)]
    assert shown(after)[2] == ("user", ["q3", SUMMARY, GO_ON, "q21"])


def test_only_the_model_sees_the_summary_and_the_instruction_and_people_see_the_originals() -> None:
    page = history(*talk(30))
    after = compacted(page)
    inserted = [entry for entry in after.visible if entry.layer]
    assert [(entry.kind, entry.audience) for entry in inserted] == [
        (EntryKind.SUMMARY, Audience.MODEL),
        (EntryKind.NOTE, Audience.MODEL),
    ]
    assert after.entries[:30] == page.entries


@pytest.mark.parametrize("trigger", ["auto", "ahead"])
def test_unasked_it_needs_twenty_messages(trigger: Any) -> None:
    assert planned(history(*talk(19)), PlanContext(trigger=trigger)) is None
    assert planned(history(*talk(20)), PlanContext(trigger=trigger))


@pytest.mark.parametrize("context", [MANUAL, RECOVERY])
def test_asked_for_or_needed_it_takes_fewer(context: PlanContext) -> None:
    assert planned(history(*talk(19)), context)


def test_a_message_is_one_of_the_request_however_many_entries_it_has() -> None:
    calls = [replied(2, "", "a", "b"), returned(3, "a"), returned(4, "b"), replied(5, "so")]
    view = [said(1, "q"), *calls, *talk(24, since=7)]
    assert planned(history(*view)) is not None
    assert planned(history(*view[:-3])) is None  # 19 messages, 21 entries


@pytest.mark.parametrize(
    ("said_so_far", "kept"), [(19, [1, 2, 3, *range(10, 20)]), (13, [1, 2, *range(8, 14)]), (6, [5, 6])]
)
def test_by_hand_a_short_page_is_compacted_too(said_so_far: int, kept: list[int]) -> None:
    assert seqs(compacted(history(*talk(said_so_far, tokens=100)), MANUAL)) == kept


def test_on_the_smallest_page_the_request_that_waits_is_kept() -> None:
    page = history(said(1, "q", tokens=9), replied(2, "a", tokens=200), said(3, "now?"))
    assert seqs(compacted(page, MANUAL)) == [3]


def test_a_tool_call_and_its_result_are_not_parted_at_either_end() -> None:
    first = [said(1, "q"), said(2, "q"), replied(3, "", "a", "b"), returned(4, "a"), returned(5, "b")]
    last = [replied(41, "", "c", "d"), returned(42, "c"), returned(43, "d"), replied(44, "so")]
    after = compacted(history(*first, *talk(39, since=6), *last), keep_first=2, keep_last=2)
    assert seqs(after) == [1, 2, 3, 4, 5, 41, 42, 43, 44]
    assert not any("earlier tool call" in text for _, texts in shown(after) for text in texts)


def test_a_request_and_its_open_calls_stay_though_they_are_further_back() -> None:
    work = [entry for seq in range(22, 50, 2) for entry in (replied(seq, "", f"c{seq}"), returned(seq + 1, f"c{seq}"))]
    page = history(*talk(20), said(21, "do it all"), *work, replied(50, "", "x", "y"), returned(51, "x"))
    after = compacted(page, keep_last=0)
    assert seqs(after) == [1, 2, 3, 21, 50, 51]
    assert shown(after)[2] == ("user", ["q3", SUMMARY, GO_ON, "do it all"])
    assert [call["id"] for call in after.open_calls()] == ["y"]


def test_an_earlier_summary_is_summarised_again_and_replaced() -> None:
    once = compacted(history(*talk(30)))
    page = once.appended(*talk(60, since=once.last_seq + 1))
    plan = planned(page)
    assert plan
    kinds = [entry.kind for entry in page.visible if entry.seq in plan.summarise]
    assert kinds.count(EntryKind.SUMMARY) == 1
    assert EntryKind.NOTE not in kinds
    texts = [text for _, texts in shown(compacted(page)) for text in texts]
    assert (texts.count(SUMMARY), texts.count(GO_ON)) == (1, 1)


def test_after_a_reset_the_marker_goes_and_its_summary_is_part_of_the_next() -> None:
    reset = STRATEGIES["reset"].plan(talk(30), full(900), MANUAL)
    assert reset
    layer, inserted = reset.layer(1, 31, run=None, summary="EARLIER")
    page = history(*talk(30)).covered(layer, inserted).appended(*talk(80, since=33))
    plan = planned(page)
    assert plan
    assert next(entry.kind for entry in page.visible if entry.seq in plan.summarise) is EntryKind.SUMMARY
    assert EntryKind.MARKER not in [entry.kind for entry in compacted(page).visible]


def test_right_after_a_compaction_there_is_nothing_for_another() -> None:
    assert planned(compacted(history(*talk(30)))) is None


def test_by_hand_again_and_again_it_ends_with_nothing_left() -> None:
    page = history(*talk(31))
    for _ in range(9):
        if planned(page, MANUAL) is None:
            break
        page = compacted(page, MANUAL)
    assert planned(page, MANUAL) is None
    assert seqs(page) in ([31], [30, 31])


def test_in_recovery_fewer_messages_stay_when_the_ends_alone_do_not_fit() -> None:
    page = history(*talk(29, tokens=400))
    assert len(seqs(compacted(page, RECOVERY, limit=40_000))) == 13
    kept = seqs(compacted(page, RECOVERY, limit=4_000))
    assert kept == [1, 26, 27, 28, 29]
    assert seqs(compacted(page, RECOVERY, limit=500)) == [29]


def test_unasked_and_by_hand_the_ends_stay_whole_without_a_target() -> None:
    page = history(*talk(30, tokens=400))
    assert len(seqs(compacted(page, AUTO, limit=1_000))) == 13
    assert len(seqs(compacted(page, MANUAL, limit=1_000))) == 13


def test_a_recovery_after_a_recovery_goes_further() -> None:
    page = history(*talk(29, tokens=400))
    once = compacted(page, RECOVERY, limit=40_000)
    twice = compacted(once, RECOVERY, limit=40_000)
    assert 1 < len(seqs(twice)) < len(seqs(once)) == 13


@pytest.mark.parametrize("target", [3_000, 1_500, 800])
def test_a_target_is_met_with_a_summary_of_a_fifth_of_it(target: int) -> None:
    page = history(*talk(61, tokens=100))
    after = compacted(page, PlanContext(trigger="manual", target=target), limit=20_000)
    kept = sum(entry.tokens for entry in after.visible)
    assert kept + 0.2 * target + 120 <= target
    assert seqs(after)[-1] == 61


def test_a_target_that_cannot_be_met_leaves_only_what_waits() -> None:
    page = history(*talk(60, tokens=100), said(61, "this giant", tokens=50_000))
    assert seqs(compacted(page, PlanContext(trigger="manual", target=1_000))) == [61]


def test_a_meter_that_counts_more_than_was_guessed_is_believed() -> None:
    view = talk(61, tokens=100)
    context = PlanContext(trigger="manual", target=3_000)
    guessed = Segmented().plan(view, Meter.of([Part("conversation", 6_100)], limit=9_000), context)
    head = [Part("system prompt", 1_000), Part("conversation", 12_200)]
    reported = Segmented().plan(view, Meter.of(head, limit=20_000), context)
    assert guessed
    assert reported
    assert len(reported.summarise) > len(guessed.summarise)


@pytest.mark.parametrize(
    "view",
    [
        [],
        [said(1, "only this", tokens=90_000)],
        [said(seq, "and", tokens=90) for seq in range(1, 40)],
        talk(30, tokens=1),
    ],
)
@pytest.mark.parametrize("context", [AUTO, MANUAL, RECOVERY])
def test_there_is_no_plan_where_nothing_would_be_won(view: list[Entry], context: PlanContext) -> None:
    assert planned(history(*view), context) is None


def test_unasked_it_does_not_bother_with_crumbs() -> None:
    page = history(*talk(3), *talk(13, since=4, tokens=10), *talk(23, since=14, tokens=400))
    assert planned(page) is None
    assert planned(page, MANUAL)


def test_rules_and_focus_reach_the_summary() -> None:
    view = talk(30)
    view[10] = said(11, "It costs 4711 EUR, and the word is blau-wal.")
    context = PlanContext(focus="the whale of 4711 EUR", rules=(r"blau-\w+",))
    plan = planned(history(*view), context)
    assert plan
    assert plan.must_keep == ("blau-wal", "4711")
    assert plan.focus == "the whale of 4711 EUR"
    assert planned(history(*view), context, limit=10).must_keep == ()  # type: ignore[union-attr]


def test_the_levels_are_its_own_and_can_be_set() -> None:
    assert [Segmented().level(full(total)) for total in (799, 800, 900)] == [Level.OK, Level.WARNING, Level.CRITICAL]
    assert Segmented(SegmentedOptions(warning=1)).level(full(999)) is Level.OK


@pytest.mark.parametrize("name", ["keep_first", "keep_last", "min_messages"])
def test_a_negative_number_of_messages_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=-1"):
        SegmentedOptions(**{name: -1})


def test_it_is_registered() -> None:
    assert STRATEGIES["segmented"] == Segmented()
