"""How a page is cut into segments. FEATURES P1."""

from __future__ import annotations

from hypothesis import given, settings

from bot.compaction.parts.segments import Segment, segments_of
from bot.history import Entry, EntryKind, History
from bot.messages import text_block
from tests.unit.any_history import histories
from tests.unit.entries import replied, returned, said

SUMMARY = Entry(90, "user", (text_block("so far"),), EntryKind.SUMMARY, layer=1, place=1)


def file(seq: int) -> Entry:
    return Entry(seq, "user", (text_block("[File: a.txt]"),), EntryKind.FILE)


def seqs(segment: Segment) -> tuple[list[int], list[int], list[int]]:
    """Of what was asked, the monologue and the answer."""
    asked, monologue, answer = (
        [entry.seq for entry in part] for part in (segment.asked, segment.monologue, segment.answer)
    )
    return asked, monologue, answer


def test_a_segment_is_a_request_a_monologue_and_the_completion() -> None:
    page = [
        said(1, "q"),
        replied(2, "hm", "a"),
        returned(3, "a"),
        replied(4, "", "b"),
        returned(5, "b"),
        replied(6, "!"),
    ]
    assert [seqs(segment) for segment in segments_of(page)] == [([1], [2, 3, 4, 5], [6])]


def test_without_a_completion_the_answer_is_what_the_last_tools_returned() -> None:
    page = [said(1, "q"), replied(2, "", "a"), returned(3, "a"), replied(4, "", "b", "c"), returned(5, "b")]
    page += [returned(6, "c"), said(7, "next")]
    assert [seqs(segment) for segment in segments_of(page)] == [([1], [2, 3, 4], [5, 6]), ([7], [], [])]


def test_words_before_the_last_tools_ran_are_no_completion() -> None:
    page = [said(1, "q"), replied(2, "let me look"), replied(3, "", "a"), returned(4, "a")]
    assert seqs(segments_of(page)[0]) == ([1], [2, 3], [4])


def test_calls_that_nothing_answered_are_the_answer_so_that_they_stay_known() -> None:
    page = [said(1, "q"), replied(2, "", "a"), returned(3, "a"), replied(4, "now b", "b"), said(5, "stop", turn="t")]
    assert seqs(segments_of(page)[0]) == ([1], [2, 3], [4])


def test_a_request_has_its_files_with_it() -> None:
    page = [said(1, "look"), file(2), file(3), replied(4, "nice"), said(5, "and"), file(6)]
    assert [seqs(segment)[0] for segment in segments_of(page)] == [[1, 2, 3], [5, 6]]


def test_messages_of_one_turn_are_one_request_also_while_the_model_works() -> None:
    page = [said(1, "a", turn="t"), said(2, "b", turn="t"), replied(3, "", "x", turn="t"), returned(4, "x", turn="t")]
    page += [said(5, "and c", turn="t"), replied(6, "done", turn="t"), said(7, "next", turn="u")]
    assert [seqs(segment) for segment in segments_of(page)] == [([1, 2, 5], [3, 4], [6]), ([7], [], [])]


def test_a_turn_that_was_stopped_before_any_answer_is_a_segment_of_its_own() -> None:
    page = [said(1, "a", turn="t"), said(2, "b", turn="u"), replied(3, "done", turn="u")]
    assert [seqs(segment) for segment in segments_of(page)] == [([1], [], []), ([2], [], [3])]


def test_without_turns_neighbouring_messages_are_one_request_and_later_ones_another() -> None:
    page = [said(1, "a"), said(2, "b"), replied(3, "", "x"), returned(4, "x"), said(5, "c")]
    assert [seqs(segment)[0] for segment in segments_of(page)] == [[1, 2], [5]]


def test_what_layers_inserted_is_apart() -> None:
    first, second = segments_of([SUMMARY, said(1, "q"), replied(2, "a")])
    assert (first.apart, first.asked) == ((SUMMARY,), ())
    assert seqs(second) == ([1], [], [2])


def test_a_page_may_begin_with_a_reply_and_may_be_empty() -> None:
    assert segments_of([]) == []
    assert [seqs(segment) for segment in segments_of([replied(1, "hi"), said(2, "q")])] == [
        ([], [], [1]),
        ([2], [], []),
    ]


@settings(max_examples=100, deadline=None)
@given(histories())
def test_every_entry_is_in_exactly_one_segment(history: History) -> None:
    found = [
        entry.seq
        for segment in segments_of(history.visible)
        for part in (segment.asked, segment.monologue, segment.answer, segment.apart)
        for entry in part
    ]
    assert sorted(found) == sorted(entry.seq for entry in history.visible)
