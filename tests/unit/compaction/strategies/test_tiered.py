"""`tiered`: which tier a page gets, and what all of them leave alone. FEATURES T1, T5."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.compaction import STRATEGIES, PlanContext
from bot.compaction.plan import Trigger
from bot.compaction.strategies.tiered import Tiered, TieredOptions
from bot.estimate import Level, Meter, Part
from bot.history import Entry, EntryKind, History
from bot.messages import Block, text_block
from tests.unit.any_history import Draw
from tests.unit.entries import full, history, replied, returned, said
from tests.unit.tiered_pages import (
    CODE,
    chat,
    counted,
    covered,
    meter_of,
    planned,
    reading,
    sent,
    visible_seqs,
)


def test_it_is_registered_with_the_thresholds_of_the_decision_flow() -> None:
    strategy = STRATEGIES["tiered"]
    levels = [strategy.level(full(total)) for total in (599, 600, 750, 899, 900)]
    assert levels == [Level.OK, Level.WARNING, Level.WARNING, Level.WARNING, Level.CRITICAL]
    addendum = Tiered(TieredOptions(soft=0.5, hard=0.65, emergency=0.8))
    assert [addendum.level(full(total)) for total in (499, 500, 800)] == [Level.OK, Level.WARNING, Level.CRITICAL]


@pytest.mark.parametrize("wrong", [{"keep_last": -1}, {"file_stale_after": -1}, {"keep_share": 1.5}])
def test_options_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TieredOptions(**wrong)


def test_the_tier_is_that_of_the_share_and_the_lowest_that_is_enough() -> None:
    page = history(said(1, "look"), sent(2, "files/a.py", CODE * 4), replied(3, "so"), *chat(4, 20, tokens=100))

    def tier(share: float, **more: Any) -> str:
        plan = planned(page, share, PlanContext(**more))
        assert plan
        return "emergency" if plan.summarise else "hard" if plan.hidden else "soft"

    assert [tier(share) for share in (0.61, 0.74, 0.76, 0.89, 0.91)] == ["soft", "soft", "hard", "hard", "emergency"]
    assert tier(0.91, trigger="manual") == "soft", "who asks begins with the lowest tier"
    assert tier(0.3, trigger="manual") == "soft"
    assert tier(0.3, trigger="manual", focus="tea") == "emergency", "only a summary can heed a focus"


def test_from_the_second_threshold_on_a_tier_that_is_not_enough_is_followed_by_the_next_in_the_same_plan() -> None:
    heavy = history(*chat(1, 8, tokens=100), *chat(9, 5, tokens=900))
    plan = planned(heavy, 0.8)
    assert plan
    assert plan.summarise, "half of the first eight would free too little"


@pytest.mark.parametrize("trigger", ["auto", "ahead"])
@pytest.mark.parametrize("share", [0.60, 0.62, 0.74])
def test_below_the_second_threshold_plain_talk_is_never_touched(share: float, trigger: Trigger) -> None:
    assert planned(history(*chat(1, 40, tokens=100)), share, PlanContext(trigger=trigger)) is None
    heavy = history(*chat(1, 8, tokens=10), *chat(9, 5, tokens=900))
    assert planned(heavy, share, PlanContext(trigger=trigger)) is None
    small = history(said(1, "look"), sent(2, "files/a.py", CODE[:900]), replied(3, "so"), *chat(4, 40, tokens=100))
    assert planned(small, share, PlanContext(trigger=trigger)) is None, "an outline of it is not worth a compaction"


def test_below_the_second_threshold_a_file_that_is_spoken_of_in_every_message_is_left_alone() -> None:
    talk = [replace(entry, blocks=(text_block("and files/a.py?"),)) for entry in chat(4, 20, tokens=60)]
    page = history(said(1, "look"), sent(2, "files/a.py"), sent(3, "files/b.py"), *talk)
    plan = planned(page, 0.61)
    assert plan
    assert (set(plan.replaced), plan.hidden, plan.summarise) == ({3}, (), ())
    large = history(*chat(1, 20, tokens=60), said(21, "look"), sent(22, "files/c.py", CODE * 4))
    assert planned(large, 0.65) is None, "and a large file that just came sends nothing else away"


@pytest.mark.parametrize("trigger", ["auto", "ahead"])
def test_below_the_first_threshold_nothing_happens_by_itself(trigger: Trigger) -> None:
    page = history(said(1, "look"), sent(2, "files/a.py"), replied(3, "so"), *chat(4, 40, tokens=100))
    assert planned(page, 0.599, PlanContext(trigger=trigger)) is None
    assert planned(page, 0.601, PlanContext(trigger=trigger))
    assert planned(page, 0.3, PlanContext(trigger="manual")), "but whoever asks gets it"


def test_before_the_emergency_no_summary_is_asked_for_that_frees_next_to_nothing() -> None:
    page = history(*chat(1, 8, tokens=100), said(9, "look", tokens=9), sent(10, "files/c.py", CODE * 4))
    assert sum(entry.tokens for entry in page.visible[:8]) > 0.08 * meter_of(page, 0.79).limit
    plan = planned(page, 0.79)
    assert plan is None or not plan.summarise
    late = planned(page, 0.91)
    assert late
    assert late.summarise, "in an emergency every piece counts"


@pytest.mark.parametrize("share", [0.62, 0.76, 0.89, 0.91, 0.99, 1.3])
@pytest.mark.parametrize("read", [True, False])
def test_a_file_that_somebody_spoke_of_lately_is_never_hidden_and_becomes_an_outline_last(
    share: float, read: bool
) -> None:
    brought = reading(2, "files/used.py") if read else [sent(2, "files/used.py"), replied(3, "I see", tokens=9)]
    more = [said(4, "and this", tokens=9), sent(5, "files/stale.py"), replied(6, "so", tokens=9)]
    talk = [*chat(7, 40, tokens=100), said(47, "what of used.py?", tokens=9)]
    page = history(said(1, "look", tokens=9), *brought, *more, *talk)
    plan = planned(page, share)
    after = covered(page, plan)
    assert plan
    holder = 3 if read else 2
    assert holder in visible_seqs(after)
    assert holder not in plan.replaced, "without it, there is room enough"
    assert 5 in plan.replaced or 5 not in visible_seqs(after)


def test_a_file_in_use_becomes_an_outline_when_nothing_else_is_enough_and_stays_in_view_as_one() -> None:
    talk = [*chat(4, 20, tokens=50), said(24, "what of used.py?", tokens=9)]
    page = history(said(1, "look", tokens=9), sent(2, "files/used.py", CODE * 9), replied(3, "so", tokens=9), *talk)
    once = planned(page, 0.95)
    assert once
    assert set(once.replaced) == {2}
    assert 2 in visible_seqs(covered(page, once))
    more = covered(page, once).appended(*chat(60, 20, tokens=200), said(80, "used.py, please", tokens=9))
    assert 2 in visible_seqs(covered(more, planned(more, 0.95)))


def test_of_a_file_that_was_read_again_the_newest_text_is_the_one_that_is_in_use() -> None:
    again = [entry for seq in range(2, 10, 2) for entry in reading(seq, "files/used.py")]
    talk = [*chat(11, 20, tokens=100), said(31, "what of used.py?", tokens=9)]
    page = history(said(1, "look", tokens=9), *again, replied(10, "so", tokens=9), *talk)
    seqs = visible_seqs(covered(page, planned(page, 0.92)))
    assert {8, 9} <= set(seqs)
    assert seqs[0] == 8


def test_a_target_is_reached_by_the_lowest_tier_that_reaches_it() -> None:
    page = history(said(1, "look"), sent(2, "files/a.py"), replied(3, "so"), *chat(4, 40, tokens=100))
    total = meter_of(page, 0.5).total
    plans = [
        planned(page, 0.5, PlanContext(trigger="manual", target=target)) for target in (total, total - 900, 3_000, 900)
    ]
    assert plans[0] is None
    assert [bool(plan and plan.hidden) for plan in plans[1:]] == [False, True, True]
    assert [bool(plan and plan.summarise) for plan in plans[1:]] == [False, False, True]


def test_a_recovery_comes_to_clearly_less_than_the_meter_shows() -> None:
    page = history(*chat(1, 40, tokens=100))
    plan = planned(page, 0.4, PlanContext(trigger="recovery"))
    after = covered(page, plan)
    assert sum(entry.tokens for entry in after.visible) <= 0.75 * 4_000


@pytest.mark.parametrize(
    "talk",
    [
        [],
        [said(1, "only this", tokens=900)],
        chat(1, 4, tokens=200),
        [said(1, "hello", tokens=9), replied(2, "hello", tokens=9)],
    ],
)
@pytest.mark.parametrize("share", [0.61, 0.8])
def test_there_is_no_plan_where_nothing_would_be_won(talk: list[Entry], share: float) -> None:
    assert Tiered().plan(talk, full(800, int(800 / share)), PlanContext()) is None


def test_unasked_a_tiny_win_is_none_and_asked_it_is_one() -> None:
    page = history(said(1, "look"), sent(2, "files/a.py", CODE[:1_200]), replied(3, "so"), *chat(4, 4, tokens=3_000))
    assert planned(page, 0.65) is None
    assert planned(page, 0.65, PlanContext(trigger="manual", target=meter_of(page, 0.65).total - 50))


def test_the_reply_whose_tools_run_is_never_touched() -> None:
    open_reply = replied(22, "", "a", "b", tokens=50)
    page = history(*chat(1, 20, tokens=100), said(21, "look", tokens=9), open_reply, returned(23, "a", "x", tokens=20))
    later = page.appended(*(said(seq, "and?", tokens=100) for seq in range(24, 32)))
    for share in (0.65, 0.8, 0.95):
        for at in (page, later):
            plan = planned(at, share)
            after = covered(at, plan) if plan else at
            assert open_reply in after.visible
            assert after.open_calls() == at.open_calls()


def test_thinking_stays_untouched_or_goes_with_its_reply() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    replies = [
        Entry(seq, "assistant", (thought, text_block(f"answer {seq}")), EntryKind.REPLY, tokens=100)
        for seq in range(2, 30, 2)
    ]
    asked = [said(seq, f"question {seq}", tokens=100) for seq in range(1, 31, 2)]
    page = history(*sorted([*asked, *replies], key=lambda entry: entry.seq))
    for share in (0.8, 0.95):
        plan = planned(page, share)
        assert plan
        assert not plan.replaced
        assert all(entry in page.visible for entry in covered(page, plan).visible if entry.role == "assistant")


def test_a_conversation_that_grows_is_compacted_seldom_and_always_by_a_good_piece() -> None:
    limit, page, strategy = 20_000, history(), Tiered()
    freed: list[float] = []
    messages = 0
    while messages < 400:
        seq = page.last_seq + 1
        talk = [counted(said(seq, f"question {messages} of topic{messages % 7} " + "words " * 40))]
        if messages % 5 == 0:
            talk += reading(seq + 1, f"files/{messages}.py", CODE)
        talk.append(counted(replied(talk[-1].seq + 1, "words and more of them " * 30)))
        page, messages = page.appended(*talk), messages + 1
        before = Meter.of([Part("conversation", sum(entry.tokens for entry in page.visible))], limit=limit)
        if strategy.level(before) is Level.OK:
            continue
        plan = strategy.plan(page.visible, before, PlanContext())
        if plan is not None:
            page = covered(page, plan, "summary " * 200)
            freed.append(before.total - sum(entry.tokens for entry in page.visible))
    assert all(won > 0.03 * limit for won in freed)
    assert len(freed) < messages / 5
    assert sum(entry.tokens for entry in page.visible) < limit


def test_the_same_page_gives_the_same_plan() -> None:
    page = history(said(1, "look"), sent(2, "files/a.py"), replied(3, "so"), *chat(4, 40, tokens=100))
    plans = {json.dumps(plan.as_json()) for _ in range(3) if (plan := planned(page, 0.8))}
    assert len(plans) == 1


@st.composite
def pages(draw: Draw) -> tuple[History, dict[int, list[float]]]:
    """A conversation with files, parallel reads, notes, perhaps open calls at its end; and some vectors."""
    entries: list[Entry] = []
    paths = st.sampled_from(("files/a.py", "files/b.md", "заметки.txt"))
    words = st.sampled_from(("look at a.py", "数据库 🙂", "why?", "x" * 900, ""))
    for _ in range(draw(st.integers(1, 8))):
        entries += [counted(said(len(entries) + 1, draw(words))) for _ in range(draw(st.integers(1, 2)))]
        if draw(st.booleans()):
            entries.append(sent(len(entries) + 1, draw(paths), draw(st.sampled_from((CODE, "# A\n" * 400, "short")))))
        for _ in range(draw(st.integers(0, 2))):
            seq = len(entries) + 1
            calls: tuple[Block, ...] = tuple(
                {"type": "tool_use", "id": f"c{seq}-{at}", "name": "read_file", "input": {"path": draw(paths)}}
                for at in range(draw(st.integers(1, 3)))
            )
            entries.append(counted(Entry(seq, "assistant", calls, EntryKind.REPLY)))
            entries += [counted(returned(seq + at, call["id"], CODE)) for at, call in enumerate(calls, 1)]
        entries.append(counted(replied(len(entries) + 1, draw(words) or "so")))
    page = history(*entries[: draw(st.integers(1, len(entries)))])
    wide = st.lists(st.floats(-1, 1), min_size=2, max_size=2)
    return page, draw(st.dictionaries(st.integers(1, len(entries)), wide))


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(pages(), st.floats(0.3, 1.5), st.sampled_from(("auto", "ahead", "manual", "recovery")), st.integers(1, 4_000))
def test_no_page_gets_larger_loses_what_is_open_or_has_a_pair_split(
    drawn: tuple[History, dict[int, list[float]]], share: float, trigger: Trigger, target: int
) -> None:
    page, vectors = drawn
    before = page
    for goal in (None, None, target):
        context = PlanContext(trigger=trigger, target=goal, vectors=vectors)
        plan = planned(before, share, context)
        if plan is None:
            continue
        after = covered(before, plan, "brief")
        assert after.tally.total < before.tally.total
        assert after.open_calls() == page.open_calls()
        last = [entry for entry in page.visible if entry.kind in (EntryKind.SAID, EntryKind.REPLY)][-1]
        assert last in after.visible or last.kind is EntryKind.REPLY
        answered = {block["tool_use_id"] for entry in page.entries for block in entry.blocks if "tool_use_id" in block}
        assert calls_of(after) & answered == results_of(after)
        assert History(after.entries, after.layers[:-1]).view() == before.view()
        before = after


def calls_of(page: History) -> set[str]:
    return {block["id"] for entry in page.visible for block in entry.blocks if block["type"] == "tool_use"}


def results_of(page: History) -> set[str]:
    return {block["tool_use_id"] for entry in page.visible for block in entry.blocks if "tool_use_id" in block}
