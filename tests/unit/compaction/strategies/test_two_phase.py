"""`two_phase`: old tool outputs are cleared; if that is not enough, a checkpoint and the recent messages. FEATURES E2
to E5."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from bot.compaction import STRATEGIES, Plan, PlanContext
from bot.compaction.options import with_options
from bot.compaction.plan import SUMMARY, Trigger
from bot.compaction.strategies.two_phase import ASKS, TwoPhase, TwoPhaseOptions
from bot.estimate import Level, Meter, Part
from bot.history import Entry, EntryKind, History
from bot.messages import text_of
from tests.unit.entries import full, history, replied, returned, said, shown

AUTO, MANUAL, RECOVERY = (PlanContext(trigger=trigger) for trigger in ("auto", "manual", "recovery"))
CLEARED = "[Tool: look returned 2000 chars]"


def rounds(number: int, *, since: int = 1, output: int = 800) -> list[Entry]:
    """So many rounds of four messages: a question, a call, its output of so many tokens, an answer; 60 tokens else."""
    return [
        entry
        for seq in range(since, since + 4 * number, 4)
        for entry in (
            said(seq, f"q{seq}", tokens=20),
            replied(seq + 1, "", f"c{seq}", tokens=20),
            returned(seq + 2, f"c{seq}", "x" * 2000, tokens=output),
            replied(seq + 3, f"a{seq}", tokens=20),
        )
    ]


def planned(page: History, context: PlanContext = AUTO, *, limit: int = 100_000, **options: Any) -> Plan | None:
    view = page.visible
    meter = Meter.of([Part("conversation", sum(entry.tokens for entry in view))], limit=limit)
    return TwoPhase(TwoPhaseOptions(**options)).plan(view, meter, context)


def compacted(page: History, context: PlanContext = AUTO, *, limit: int = 100_000, **options: Any) -> History:
    plan = planned(page, context, limit=limit, **options)
    assert plan
    layer, inserted = plan.layer(max(page.stack, default=0) + 1, page.last_seq + 1, run=None, summary="THE STATE")
    return page.covered(layer, inserted)


def outputs(page: History) -> dict[int, bool]:
    """Whether the output in the entry with this seq was cleared."""
    return {
        entry.seq: entry.blocks[0]["content"] == CLEARED for entry in page.visible if entry.kind is EntryKind.RESULT
    }


def seqs(page: History) -> list[int]:
    return [entry.seq for entry in page.visible if entry.layer is None]


def test_phase_one_clears_outputs_older_than_the_last_ten_messages_and_needs_no_summary() -> None:
    page = history(*rounds(8))  # 6,880 tokens, 32 messages; phase 1 comes to about 3,000
    plan = planned(page)
    assert plan
    assert (plan.summarise, plan.inserted, plan.hidden) == ((), (), ())
    after = compacted(page)
    assert outputs(after) == {3: True, 7: True, 11: True, 15: True, 19: True, 23: False, 27: False, 31: False}
    assert seqs(after) == seqs(page)


def test_phase_two_follows_only_where_phase_one_is_not_enough() -> None:
    page = history(*rounds(8))
    assert planned(page, target_tokens=3_100).summarise == ()  # type: ignore[union-attr]
    assert planned(page, target_tokens=2_900).summarise  # type: ignore[union-attr]


def test_phase_one_has_to_reach_half_of_a_limit_that_is_smaller_than_the_target() -> None:
    page = history(*rounds(8))
    assert planned(page, limit=6_200).summarise == ()  # type: ignore[union-attr]
    assert planned(page, limit=5_800).summarise  # type: ignore[union-attr]


def test_a_target_of_the_context_stands_above_the_option() -> None:
    page = history(*rounds(8))
    assert planned(page, PlanContext(target=3_100), target_tokens=10).summarise == ()  # type: ignore[union-attr]
    assert planned(page, PlanContext(target=1_400)).summarise  # type: ignore[union-attr]


def test_phase_two_keeps_the_recent_messages_after_a_checkpoint() -> None:
    after = compacted(history(*rounds(8)), target_tokens=100)
    assert seqs(after) == list(range(22, 33))
    role, (checkpoint,) = shown(after)[0]
    assert role == "user"
    assert checkpoint.startswith("## Continuing from compressed context\n")
    assert "checkpoint that another model wrote of a longer conversation" in checkpoint
    assert checkpoint.endswith("\n\nTHE STATE\n\n---\n\nPlease continue with the task.")


def test_a_call_that_is_kept_for_its_result_has_both() -> None:
    after = compacted(history(*rounds(8)), target_tokens=100)
    assert shown(after)[1:3] == [("assistant", ["tool_use c21"]), ("user", ["tool_result c21"])]


def test_what_is_kept_beyond_the_recent_messages_is_cleared_as_well() -> None:
    work = [replied(42, "", "a", tokens=20), returned(43, "a", "x" * 2000, tokens=900)]
    page = history(*rounds(10), said(41, "look twice", tokens=20), *work, said(44, "and?", tokens=20))
    kept = compacted(page, target_tokens=100, preserve_recent=1)
    assert outputs(kept) == {43: False}
    assert seqs(kept) == [42, 43, 44]


def test_without_the_lightweight_phase_nothing_is_cleared() -> None:
    plan = planned(history(*rounds(8)), try_lightweight_first=False)
    assert plan
    assert (dict(plan.replaced), plan.summarise) == ({}, tuple(range(1, 22)))


def test_results_that_the_model_has_not_read_are_never_cleared() -> None:
    calls = [replied(34, "", "a", "b", tokens=20)]
    results = [returned(seq, call_id, "x" * 2000, tokens=900) for seq, call_id in ((35, "a"), (36, "b"))]
    page = history(*rounds(8), said(33, "both", tokens=20), *calls, *results)
    after = compacted(page, RECOVERY, limit=1_000, preserve_recent=0)
    assert seqs(after) == [33, 34, 35, 36]
    assert outputs(after) == {35: False, 36: False}


@pytest.mark.parametrize("trigger", get_args(Trigger))
def test_switched_off_only_people_and_overflows_compact(trigger: Trigger) -> None:
    assert TwoPhase(TwoPhaseOptions(enabled=False)).level(full(999)) is Level.OK
    plan = planned(history(*rounds(8)), PlanContext(trigger=trigger), enabled=False)
    assert (plan is not None) is (trigger in ("manual", "recovery"))


def test_in_recovery_fewer_messages_stay_when_they_alone_do_not_fit() -> None:
    view = [said(seq, "q", tokens=400) if seq % 2 else replied(seq, "a", tokens=400) for seq in range(1, 34)]
    page = history(*view)
    assert seqs(compacted(page, RECOVERY, limit=9_000)) == list(range(24, 34))
    assert seqs(compacted(page, RECOVERY, limit=5_000)) == list(range(28, 34))
    assert seqs(compacted(page, RECOVERY, limit=1_000)) == [33]


def test_recent_outputs_are_cleared_before_the_messages_around_them_go() -> None:
    page = history(*rounds(8))
    after = compacted(page, PlanContext(target=2_900))
    assert seqs(after) == seqs(page)
    assert [seq for seq, is_cleared in outputs(after).items() if not is_cleared] == [27, 31]


def test_a_recovery_after_a_recovery_goes_further() -> None:
    once = compacted(history(*rounds(8, output=4_000)), RECOVERY, limit=90_000)
    twice = compacted(once, RECOVERY, limit=90_000)
    assert twice.visible != once.visible
    assert sum(entry.tokens for entry in twice.visible) < 0.8 * sum(entry.tokens for entry in once.visible)


def test_unasked_the_recent_messages_stay_whole_without_a_target() -> None:
    page = history(*rounds(8, output=4_000))
    assert seqs(compacted(page, AUTO, limit=1_000)) == list(range(22, 33))


def test_by_hand_a_short_page_is_compacted_too() -> None:
    page = history(*[said(seq, "q", tokens=90) if seq % 2 else replied(seq, "a", tokens=90) for seq in range(1, 7)])
    assert planned(page) is None
    assert seqs(compacted(page, MANUAL)) == [3, 4, 5, 6]


def test_by_hand_a_page_without_outputs_to_clear_is_summarised_though_it_is_below_the_target() -> None:
    page = history(*[said(seq, "q", tokens=90) if seq % 2 else replied(seq, "a", tokens=90) for seq in range(1, 31)])
    plan = planned(page, MANUAL)
    assert plan
    assert plan.summarise == tuple(range(1, 21))


def test_outputs_cleared_once_are_not_cleared_again_and_the_next_compaction_summarises() -> None:
    once = compacted(history(*rounds(8)))
    plan = planned(once, target_tokens=100)
    assert plan
    assert plan.summarise == tuple(range(1, 22))
    assert dict(plan.replaced) == {}


def test_an_earlier_checkpoint_is_part_of_the_next_and_is_replaced() -> None:
    once = compacted(history(*rounds(8)), target_tokens=100)
    page = once.appended(*rounds(8, since=once.last_seq + 1))
    plan = planned(page, target_tokens=100)
    assert plan
    summaries = [entry.seq for entry in page.visible if entry.kind is EntryKind.SUMMARY]
    assert set(summaries) <= set(plan.summarise)
    after = compacted(page, target_tokens=100)
    assert [entry.kind for entry in after.visible].count(EntryKind.SUMMARY) == 1


def test_a_marker_that_stands_lowest_stays_when_only_outputs_are_cleared() -> None:
    reset = STRATEGIES["reset"].plan(rounds(8), full(900), MANUAL)
    assert reset
    layer, inserted = reset.layer(1, 33, run=None, summary="EARLIER")
    page = history(*rounds(8)).covered(layer, inserted).appended(*rounds(8, since=35))
    plan = planned(page)
    assert plan
    assert plan.summarise == ()
    assert plan.floor == min(entry.seq for entry in page.visible)


@pytest.mark.parametrize(
    "view",
    [
        [],
        [said(1, "only this", tokens=90_000)],
        [said(seq, "and", tokens=90) for seq in range(1, 40)],
        rounds(1)[:3],
        [said(1, "q", tokens=9), replied(2, "a", tokens=9)],
    ],
)
@pytest.mark.parametrize("context", [AUTO, MANUAL, RECOVERY])
def test_there_is_no_plan_where_nothing_would_be_won(view: list[Entry], context: PlanContext) -> None:
    assert planned(history(*view), context) is None


def test_unasked_it_does_not_summarise_crumbs() -> None:
    crumbs = [said(1, "q", tokens=60), replied(2, "a", tokens=60)]
    talk = [said(seq, "q", tokens=2_000) if seq % 2 else replied(seq, "a", tokens=2_000) for seq in range(3, 13)]
    assert planned(history(*crumbs, *talk)) is None
    assert planned(history(*crumbs, *talk), MANUAL)


def test_the_summary_is_asked_for_what_a_checkpoint_has_to_hold() -> None:
    plan = planned(history(*rounds(8)), PlanContext(focus="the fox"), target_tokens=100)
    assert plan
    assert plan.asks == ASKS
    assert plan.focus == "the fox"
    assert sum(item.text.count(SUMMARY) for item in plan.inserted) == 1
    headings = [line[3:] for line in ASKS.splitlines() if line.startswith("## ")]
    assert headings == [
        "Original task",
        "Done",
        "In progress",
        "Files",
        "Tool results",
        "Decisions",
        "Constraints",
        "Unresolved issues",
        "Next steps",
        "Exact details",
    ]
    assert "Preserve:" in ASKS
    assert "Discard:" in ASKS


def test_the_template_with_fields_is_that_of_the_document_with_its_own_words_around_the_summary() -> None:
    plan = planned(history(*rounds(8)), target_tokens=100, template="fields")
    assert plan
    assert plan.asks.startswith("## Context Compression Task\n")
    form = plan.asks.partition("```\n")[2].partition("```")[0].splitlines()
    assert form[0] == "## Conversation Summary (Compressed Context)"
    assert form[2] == "**Original Task**: [one-line description]"
    fields = [line.strip("*:") for line in form if re.fullmatch(r"\*\*.+\*\*:", line)]
    assert fields == ["Completed", "In Progress", "Files", "Key Decisions", "Next Steps", "Notes"]
    (inserted,) = plan.inserted
    assert inserted.text.replace(SUMMARY, "S") == (
        "## Continuing from compressed context\n\nS\n\n---\n\nPlease continue with the task."
    )


@pytest.mark.parametrize(
    "name", ["preserve_recent_messages", "preserveRecentMessages", "compress_preserve_recent", "keep"]
)
def test_the_recent_messages_have_the_other_names_of_the_document_too(name: str) -> None:
    assert with_options(TwoPhase(), {name: "4"}).options == TwoPhaseOptions(preserve_recent=4)


def test_its_other_options_have_the_names_of_the_documents_flags_too() -> None:
    given = {"compress-target-tokens": "900", "auto-compress": "false"}
    assert with_options(TwoPhase(), given).options == TwoPhaseOptions(target_tokens=900, enabled=False)


def test_rules_reach_the_summary() -> None:
    view = rounds(8)
    view[4] = said(5, "It costs 4711 EUR, and the word is blau-wal.", tokens=20)
    plan = planned(history(*view), PlanContext(rules=(r"blau-\w+",)), target_tokens=100)
    assert plan
    assert plan.must_keep == ("blau-wal",)


def test_texts_of_people_are_never_cleared() -> None:
    long = "Das müssen wir 記住 🙂 " * 40
    after = compacted(history(said(1, long, tokens=400), *rounds(8, since=2)))
    assert text_of(after.visible[0].blocks) == long


def test_the_levels_are_its_own_and_can_be_set() -> None:
    assert [TwoPhase().level(full(total)) for total in (749, 750, 900)] == [Level.OK, Level.WARNING, Level.CRITICAL]
    assert TwoPhase(TwoPhaseOptions(critical=0.8)).level(full(800)) is Level.CRITICAL


@pytest.mark.parametrize("options", [{"target_tokens": 0}, {"preserve_recent": -1}])
def test_numbers_that_make_no_sense_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="="):
        TwoPhaseOptions(**options)  # type: ignore[arg-type]


def test_it_is_registered() -> None:
    assert STRATEGIES["two_phase"] == TwoPhase()
