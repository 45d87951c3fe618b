"""Where a page may be cut, and what stays of it when its middle goes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.compaction.boundaries import Page, fewer, open_exchange, waiting_request
from bot.history import Entry, EntryKind, History, as_request
from bot.messages import text_block
from tests.unit.any_history import histories
from tests.unit.entries import replied, returned, said

often = settings(max_examples=200, deadline=None)


def note(seq: int, place: int, kind: EntryKind = EntryKind.NOTE) -> Entry:
    return Entry(seq, "user", (text_block("noted"),), kind, layer=1, place=place)


def talk(last: int) -> list[Entry]:
    """Questions at odd seqs, answers at even ones."""
    return [said(seq, f"q{seq}") if seq % 2 else replied(seq, f"a{seq}") for seq in range(1, last + 1)]


def kept(view: list[Entry], first: int, last: int) -> list[int]:
    ends = Page.of(view).ends(first, last)
    assert ends
    return [entry.seq for entry in ends.kept]


def test_a_message_is_one_as_the_model_reads_it() -> None:
    view = [said(1, "a"), said(2, "b"), replied(3, "", "x", "y"), returned(4, "x"), returned(5, "y"), said(6, "c")]
    assert Page.of(view).messages == ((0, 2), (2, 3), (3, 6))


def test_a_message_ends_where_a_summary_stands_and_the_summary_is_none() -> None:
    view = [said(1, "a"), note(9, 2, EntryKind.SUMMARY), said(2, "b"), replied(3, "c")]
    assert Page.of(view).messages == ((0, 1), (2, 3), (3, 4))


def test_the_first_and_the_last_messages_stay() -> None:
    assert kept(talk(30), 3, 10) == [1, 2, 3, *range(21, 31)]


def test_a_summary_stands_before_the_first_of_the_last_messages() -> None:
    ends = Page.of(talk(30)).ends(3, 10)
    assert ends
    assert (ends.place, ends.upto, ends.floor, ends.hidden) == (21, 30, 1, ((4, 20),))


@pytest.mark.parametrize(("first", "last"), [(20, 10), (30, 0), (0, 30), (99, 99)])
def test_nothing_goes_where_both_ends_meet(first: int, last: int) -> None:
    assert Page.of(talk(30)).ends(first, last) is None


def test_a_result_at_either_end_stays_with_its_call() -> None:
    view = [said(1, "q"), replied(2, "", "a"), returned(3, "a"), replied(4, "so"), said(5, "q")]
    view += [replied(6, "", "b"), returned(7, "b"), replied(8, "so")]
    assert kept(view, 2, 2) == [1, 2, 3, 6, 7, 8]


def test_a_result_stays_with_its_call_across_a_note() -> None:
    view = [*talk(4), said(5, "q"), replied(6, "", "a", "b"), returned(7, "a"), note(20, 8), returned(8, "b")]
    view += [replied(9, "so")]
    assert kept(view, 0, 2) == [6, 7, 20, 8, 9]


def test_the_request_that_waits_stays_wherever_it_stands() -> None:
    work = [entry for seq in range(8, 28, 2) for entry in (replied(seq, "", f"c{seq}"), returned(seq + 1, f"c{seq}"))]
    view = [*talk(6), said(7, "do it all"), *work]
    ends = Page.of(view).ends(2, 4)
    assert ends
    assert [entry.seq for entry in ends.kept] == [1, 2, 7, 24, 25, 26, 27]
    assert ends.place == 7


def test_an_open_tool_exchange_stays_even_when_no_messages_are_to() -> None:
    view = [*talk(6), said(7, "look"), replied(8, "", "a", "b"), returned(9, "a")]
    assert kept(view, 0, 0) == [7, 8, 9]


def test_with_everything_answered_nothing_has_to_stay() -> None:
    ends = Page.of(talk(6)).ends(0, 0)
    assert ends
    assert (ends.kept, ends.place, ends.floor, ends.hidden) == ((), 7, 7, ((1, 6),))


def test_earlier_summaries_go_and_notes_among_the_last_messages_stay() -> None:
    view = [*talk(2), note(20, 3, EntryKind.SUMMARY), *talk(8)[2:]]
    view[5:5] = [note(21, 5)]
    view[7:7] = [note(22, 7, EntryKind.SUMMARY)]
    assert kept(view, 0, 5) == [4, 21, 5, 6, 7, 8]


def test_markers_and_spent_notes_go_without_being_summarised() -> None:
    view = [note(20, 1, EntryKind.MARKER), note(21, 1), *talk(8)]
    ends = Page.of(view, without=("noted",)).ends(0, 2)
    assert ends
    assert [entry.seq for entry in ends.gone] == [1, 2, 3, 4, 5, 6]
    assert ends.upto == 21
    assert ends.hidden == ((1, 6), (9, 21))


def test_fewer_and_fewer_messages_down_to_none() -> None:
    assert list(fewer(3, 10)) == [(3, 10), (2, 6), (1, 4), (0, 2), (0, 1), (0, 0)]


def test_an_exchange_is_open_until_the_model_goes_on_from_it() -> None:
    called = [said(1, "q"), replied(2, "", "a"), returned(3, "a")]
    assert open_exchange(called[:2]) == 1
    assert open_exchange(called) == 1
    assert open_exchange([*called, replied(4, "so")]) == 4
    assert open_exchange([*called, said(4, "stop that")]) == 4
    assert open_exchange([*called[:2], said(4, "stop that")]) == 1
    assert open_exchange([]) == 0


def test_an_exchange_that_is_open_begins_with_the_first_reply_of_its_message() -> None:
    assert open_exchange([said(1, "q"), replied(2, "hm"), replied(3, "", "a")]) == 1


def test_a_request_waits_until_it_has_a_whole_answer() -> None:
    asked = [*talk(2), said(3, "q"), said(4, "and")]
    assert waiting_request(asked) == [2, 3]
    assert waiting_request([*asked, replied(5, "I w", interrupted=True)]) == [2, 3]
    assert waiting_request([*asked, replied(5, "", "a"), returned(6, "a")]) == [2, 3]
    assert waiting_request([*asked, replied(5, "this")]) == []
    assert waiting_request([replied(1, "", "a")]) == []


def test_all_that_a_turn_took_up_waits() -> None:
    view = [said(1, "q", turn="t"), replied(2, "", "a", turn="t"), returned(3, "a"), said(4, "and", turn="t")]
    assert waiting_request(view) == [0, 3]


@often
@given(histories(), st.integers(0, 6), st.integers(0, 6))
def test_no_result_that_stays_loses_its_call(history: History, first: int, last: int) -> None:
    ends = Page.of(history.visible).ends(first, last)
    if ends is None:
        return
    stays = {entry.seq for entry in ends.kept}
    paired = {block["tool_use_id"] for block in blocks(history, "tool_result")}
    under = History(tuple(entry for entry in history.visible if entry.seq in stays))
    expected = {
        block["tool_use_id"]
        for entry in ends.kept
        for block in entry.blocks
        if block["type"] == "tool_result" and block["tool_use_id"] in paired
    }
    # One that something stood between its call and itself may find it again when that is gone.
    assert expected <= {block["tool_use_id"] for block in blocks(under, "tool_result")}


@often
@given(histories(), st.integers(0, 6), st.integers(0, 6))
def test_every_entry_but_markers_and_empty_ones_is_kept_or_gone(history: History, first: int, last: int) -> None:
    ends = Page.of(history.visible).ends(first, last)
    if ends is None:
        return
    seqs = [entry.seq for entry in history.visible if entry.kind is not EntryKind.MARKER and as_request([entry])]
    assert sorted(entry.seq for entry in (*ends.kept, *ends.gone)) == sorted(seqs)


def blocks(history: History, kind: str) -> list[dict[str, str]]:
    found = [block for message in history.view() for block in message["content"]]
    return [dict(block) for block in found if not isinstance(block, str) and block["type"] == kind]
