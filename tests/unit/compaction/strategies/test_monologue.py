"""`monologue`: what people said and what came of it stays. FEATURES P2, P5."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings

from bot.compaction import STRATEGIES, PlanContext
from bot.compaction.options import with_options
from bot.compaction.parts.segments import segments_of
from bot.compaction.plan import Trigger
from bot.compaction.strategies.monologue import Monologue, MonologueOptions
from bot.estimate import Level
from bot.history import Entry, EntryKind, History
from bot.messages import text_block
from tests.unit.any_history import histories
from tests.unit.entries import call, full, history, replied, result, returned, said, shown

THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}


def round_of(seq: int, *, answered: bool = True) -> tuple[Entry, ...]:
    """A segment of entries from this seq on: a request, a tool call with its result, and the answer."""
    call_id = f"c{seq}"
    work = (said(seq, f"q{seq}"), replied(seq + 1, "let me look", call_id), returned(seq + 2, call_id, f"r{seq}"))
    return (*work, replied(seq + 3, f"a{seq}")) if answered else work


def compacted(page: History, **options: Any) -> History:
    strategy = Monologue(MonologueOptions(**options))
    plan = strategy.plan(page.visible, full(900), PlanContext())
    assert plan
    assert not plan.summarise
    layer, inserted = plan.layer(max(page.stack, default=0) + 1, page.last_seq + 1, run=None)
    assert not inserted
    return page.covered(layer, inserted)


def test_older_segments_keep_request_and_answer_and_the_last_one_is_whole() -> None:
    page = compacted(history(*round_of(1), *round_of(5), *round_of(9)))
    assert shown(page) == [
        ("user", ["q1", "[Result of an earlier tool call]\n> r1"]),
        ("assistant", ["a1"]),
        ("user", ["q5", "[Result of an earlier tool call]\n> r5"]),
        ("assistant", ["a5"]),
        ("user", ["q9"]),
        ("assistant", ["let me look", "tool_use c9"]),
        ("user", ["tool_result c9"]),
        ("assistant", ["a9"]),
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories(layers=0))
def test_on_any_history_requests_and_answers_stay_and_the_last_segment_is_untouched(page: History) -> None:
    plan = Monologue().plan(page.visible, full(900), PlanContext())
    after = page.visible
    if plan:
        layer, _ = plan.layer(1, page.last_seq + 1, run=None)
        after = page.covered(layer, []).visible
    segments = segments_of(page.visible)
    for segment in segments:
        assert all(entry in after for part in (segment.asked, segment.answer, segment.apart) for entry in part)
    assert all(entry in after for segment in segments[-1:] for entry in segment.monologue)


def test_a_result_that_was_the_answer_is_read_as_text() -> None:
    page = compacted(history(*round_of(1, answered=False), *round_of(4)))
    assert shown(page)[0] == ("user", ["q1", "[Result of an earlier tool call]\n> r1", "q4"])


def test_all_results_of_the_last_calls_are_the_answer() -> None:
    work = (said(1, "q"), replied(2, "", "a", "b"), returned(3, "b", "B"), returned(4, "a", "A"))
    texts = shown(compacted(history(*work, *round_of(5))))[0][1]
    assert texts == ["q", "[Result of an earlier tool call]\n> B", "[Result of an earlier tool call]\n> A", "q5"]


@pytest.mark.parametrize(("keep_last_segment", "min_segments", "whole"), [(True, 0, 1), (True, 3, 3), (False, 2, 2)])
def test_as_many_recent_segments_stay_whole_as_the_options_say(
    min_segments: int, whole: int, *, keep_last_segment: bool
) -> None:
    page = history(*(entry for seq in range(1, 21, 4) for entry in round_of(seq)))
    after = compacted(page, keep_last_segment=keep_last_segment, min_segments_to_keep=min_segments)
    untouched = {entry.seq for entry in page.entries[-4 * whole :]}
    assert untouched <= {entry.seq for entry in after.visible}
    assert len(after.visible) == 4 * whole + 3 * (5 - whole)


def test_without_any_segment_to_keep_the_last_one_is_dropped_too() -> None:
    page = compacted(history(*round_of(1)), keep_last_segment=False, min_segments_to_keep=0)
    assert shown(page) == [("user", ["q1", "[Result of an earlier tool call]\n> r1"]), ("assistant", ["a1"])]


@pytest.mark.parametrize("results", [0, 1, 2])
def test_an_open_tool_exchange_stays_whatever_the_options_say(results: int) -> None:
    calls = Entry(12, "assistant", (THINKING, call("x"), call("y")), EntryKind.REPLY)
    parts = (returned(13, "x"), returned(14, "y"))[:results]
    page = history(*round_of(1), *round_of(5, answered=False), replied(8, "", "w"), returned(9, "w"), calls, *parts)
    after = compacted(page, keep_last_segment=False, min_segments_to_keep=0)
    assert [entry.seq for entry in after.visible] == [1, 3, 4, 5, *([] if results else [9]), *range(12, 13 + results)]
    assert next(entry for entry in after.visible if entry.seq == 12).blocks == calls.blocks


def test_thinking_goes_with_its_turn_and_stays_untouched_in_an_answer() -> None:
    work = Entry(2, "assistant", (THINKING, call("a")), EntryKind.REPLY)
    answer = Entry(4, "assistant", (THINKING, text_block("so")), EntryKind.REPLY)
    page = compacted(history(said(1, "q"), work, returned(3, "a"), answer, *round_of(5)))
    assert page.view()[1] == {"role": "assistant", "content": [THINKING, text_block("so")]}


def test_pictures_and_documents_of_people_stay() -> None:
    picture = {"type": "image", "source": {"type": "folder", "path": "a.png", "width": 8, "height": 8}}
    file = Entry(2, "user", (picture,), EntryKind.FILE)
    work = (replied(3, "", "a"), returned(4, "a"), replied(5, "a cat"))
    page = compacted(history(said(1, "what is it?"), file, *work, *round_of(6)))
    assert list(page.view()[0]["content"])[:2] == [text_block("what is it?"), picture]


def test_what_earlier_layers_inserted_stays() -> None:
    inserted = [
        Entry(90 + at, "user", (text_block(kind.value),), kind, layer=1, place=1)
        for at, kind in enumerate((EntryKind.MARKER, EntryKind.SUMMARY, EntryKind.NOTE))
    ]
    plan = Monologue().plan([*inserted, *round_of(1), *round_of(5)], full(900), PlanContext())
    assert plan
    assert (plan.upto, plan.floor) == (92, 1)
    assert plan.hidden == ((2, 2), (9, 89))


def test_calls_without_a_result_stay_known_as_text() -> None:
    page = compacted(history(said(1, "q"), replied(2, "", "a"), returned(3, "a"), replied(4, "now", "b"), *round_of(5)))
    told = "[Called the tool look; its result is no longer shown.]"
    assert shown(page)[1] == ("assistant", ["now", told])


@pytest.mark.parametrize(
    "view",
    [
        (),
        (said(1, "x" * 9_000, tokens=9_000),),
        (said(1, "one"), said(2, "two", turn="t"), said(3, "three", turn="u")),
        round_of(1),
        (said(1, "q"), replied(2, "a"), said(3, "q"), replied(4, "a"), said(5, "now?")),
    ],
)
@pytest.mark.parametrize("trigger", get_args(Trigger))
def test_there_is_no_plan_where_nothing_would_go(view: tuple[Entry, ...], trigger: Trigger) -> None:
    assert Monologue().plan(view, full(900), PlanContext(trigger=trigger)) is None


def test_a_second_compaction_right_after_the_first_finds_nothing() -> None:
    page = compacted(history(*round_of(1), *round_of(5)))
    assert Monologue().plan(page.visible, full(900), PlanContext(trigger="manual")) is None


def test_the_levels_are_its_own_and_can_be_set() -> None:
    assert [Monologue().level(full(total)) for total in (749, 750, 900)] == [Level.OK, Level.WARNING, Level.CRITICAL]
    assert Monologue(MonologueOptions(warning=0)).level(full(999)) is Level.OK


@pytest.mark.parametrize("option", ["min_segments_to_keep", "results_to_keep"])
def test_a_negative_number_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option}=-1 must not be negative"):
        with_options(Monologue(), {option: -1})


def finished(
    seq: int, *, outcome: str | None = "ok", name: str = "attempt_completion", **arguments: str
) -> list[Entry]:
    """A reply that hands its answer over by a tool call, and what that call returned."""
    handing = {"type": "tool_use", "id": f"d{seq}", "name": name, "input": arguments}
    reply = Entry(seq, "assistant", (text_block("<thinking>I am done.</thinking>"), handing), EntryKind.REPLY)
    return [reply, *([returned(seq + 1, f"d{seq}", outcome)] if outcome is not None else [])]


def test_an_answer_that_is_a_tool_call_stays_and_a_reader_of_the_page_finds_it() -> None:
    work = (said(1, "how far?"), replied(2, "", "a"), returned(3, "a", "42 km"), *finished(4, outcome="It is 42 km."))
    page = compacted(history(*work, *round_of(6)))
    assert [entry.seq for entry in page.visible][:4] == [1, 3, 4, 5]
    assert list(page.view()[1]["content"]) == [
        {"type": "tool_use", "id": "d4", "name": "attempt_completion", "input": {}}
    ]
    assert result("d4", "It is 42 km.") in page.view()[2]["content"]


def test_a_completion_that_nothing_answered_is_read_as_the_words_that_it_holds() -> None:
    page = compacted(history(said(1, "q"), *finished(2, outcome=None, more="", answer="It is 42 km."), *round_of(4)))
    assert shown(page)[:2] == [("user", ["q"]), ("assistant", ["It is 42 km."])]


def test_the_names_of_completions_are_an_option() -> None:
    work = (said(1, "q"), *finished(2, name="submit", text="It is 42 km."))
    named = compacted(history(*work, *round_of(4)), completions=("submit",))
    assert "tool_use d2" in shown(named)[1][1]
    assert "tool_use d2" not in str(shown(compacted(history(*work, *round_of(4)))))


def test_a_completion_of_an_mcp_server_is_one_too() -> None:
    work = (said(1, "q"), *finished(2, name="mcp__probe__attempt_completion", result="It is 42 km."))
    assert "tool_use d2" in shown(compacted(history(*work, replied(4, "", "a"), returned(5, "a"), *round_of(6))))[1][1]


def test_words_after_a_completion_do_not_take_its_place() -> None:
    page = compacted(history(said(1, "q"), *finished(2, outcome="It is 42 km."), replied(4, "Bye."), *round_of(5)))
    assert [entry.seq for entry in page.visible][:4] == [1, 2, 3, 4]


@pytest.mark.parametrize(("results", "seqs"), [(0, [1, 6]), (1, [1, 5, 6]), (2, [1, 3, 5, 6]), (9, [1, 3, 5, 6])])
def test_so_many_results_of_older_segments_stay_beside_the_completion(results: int, seqs: list[int]) -> None:
    work = (replied(2, "", "a"), returned(3, "a"), replied(4, "", "b"), returned(5, "b"), replied(6, "so"))
    page = compacted(history(said(1, "q"), *work, *round_of(7)), results_to_keep=results)
    assert [entry.seq for entry in page.visible if entry.seq < 7] == seqs


def test_a_long_result_beside_an_answer_becomes_the_usual_line_and_one_that_is_the_answer_stays() -> None:
    long = "x" * 2_847
    step = (said(1, "q"), replied(2, "", "a"), returned(3, "a", long, tokens=900), replied(4, "so"))
    answer = (said(5, "q"), replied(6, "", "b"), returned(7, "b", long, tokens=900))
    page = compacted(history(*step, *answer, *round_of(8)))
    head = "[Result of an earlier tool call]\n> "
    assert shown(page)[0] == ("user", ["q", f"{head}[Tool: look returned 2847 chars]"])
    assert shown(page)[2][1][:2] == ["q", f"{head}{long}"]


def test_what_was_thought_between_tags_goes_from_older_answers_and_stays_in_the_last_segment() -> None:
    thought = "<thinking>\nThe person wants 42.\n</thinking>\n\n42."
    page = compacted(history(said(1, "q"), replied(2, thought), said(3, "again"), replied(4, thought)))
    assert shown(page) == [("user", ["q"]), ("assistant", ["42."]), ("user", ["again"]), ("assistant", [thought])]


def test_words_about_the_tags_and_code_with_them_are_nobodys_thoughts() -> None:
    text = "Write `<thinking>` and close it:\n```\n<thinking>a</thinking>\n```\nor <think>b</think> within a line."
    assert Monologue().plan((said(1, "q"), replied(2, text), *round_of(3)[:1]), full(900), PlanContext()) is None


def test_a_reply_that_only_thinks_is_no_answer() -> None:
    work = (replied(2, "", "a"), returned(3, "a", "A"), replied(4, "<think>hm</think>"))
    page = compacted(history(said(1, "q"), *work, *round_of(5)))
    assert shown(page)[0] == ("user", ["q", "[Result of an earlier tool call]\n> A", "q5"])


def test_it_is_registered() -> None:
    assert STRATEGIES["monologue"] == Monologue()
