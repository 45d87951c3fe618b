"""A history is read through its layers, and what stands on the page is a request that a provider takes."""

from __future__ import annotations

from bot.history import OPENING, Entry, EntryKind, History, Layer, Usage, merge_ranges, ranges_of, valid_request
from bot.messages import Audience, Message, text_block
from tests.unit.entries import call, history, replied, result, returned, said, shown


def test_what_was_said_reads_in_order() -> None:
    assert shown(history(said(1, "hi"), replied(2, "hello"), said(3, "how?"))) == [
        ("user", ["hi"]),
        ("assistant", ["hello"]),
        ("user", ["how?"]),
    ]


def test_an_empty_history_reads_as_nothing() -> None:
    assert History().view() == []
    assert (History().last_seq, History().stack, History().open_calls()) == (0, (), [])


def test_adjacent_messages_of_one_role_are_one_message() -> None:
    page = history(said(1, "one"), said(2, "two"), replied(3, "a"), replied(4, "b"))
    assert shown(page) == [("user", ["one", "two"]), ("assistant", ["a", "b"])]


def test_a_page_that_would_begin_with_the_assistant_begins_with_a_line_of_ours() -> None:
    assert shown(history(replied(1, "hello"), said(2, "hi")))[0] == ("user", [OPENING])


def test_empty_texts_are_left_out_and_messages_of_nothing_else_too() -> None:
    page = history(said(1, "one"), replied(2, " \n"), said(3, ""), said(4, "two"))
    assert shown(page) == [("user", ["one", "two"])]


def test_results_stand_before_what_a_person_said_meanwhile() -> None:
    page = history(said(1, "look"), replied(2, "", "a", "b"), said(3, "well?"), returned(4, "b"), returned(5, "a"))
    assert shown(page)[-1] == ("user", ["tool_result b", "tool_result a", "well?"])


def test_a_call_without_a_result_becomes_text() -> None:
    page = history(said(1, "look"), replied(2, "I look.", "a", "b"), returned(3, "b"))
    assert shown(page)[1] == (
        "assistant",
        ["I look.", "[Called the tool look; its result is no longer shown.]", "tool_use b"],
    )


def test_a_result_without_its_call_becomes_text() -> None:
    page = history(said(1, "look"), returned(2, "a", "a fox"), returned(3, "b", [text_block("a"), text_block("hen")]))
    assert shown(page) == [
        ("user", ["look", "[Result of an earlier tool call]\n> a fox", "[Result of an earlier tool call]\n> a\n> hen"])
    ]


def test_pictures_in_a_result_without_its_call_stay_and_a_failure_is_said() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVu"}}
    failed = {**result("a", [text_block("half a fox"), picture]), "is_error": True}
    assert valid_request([Message(role="user", content=[failed])]) == [
        {"role": "user", "content": [text_block("[Result of an earlier tool call that failed]\n> half a fox"), picture]}
    ]


def test_a_result_after_another_reply_becomes_text_and_so_does_its_call() -> None:
    page = history(said(1, "look"), replied(2, "", "a"), said(3, "?"), replied(4, "wait"), returned(5, "a", "a fox"))
    assert shown(page)[1:] == [
        ("assistant", ["[Called the tool look; its result is no longer shown.]"]),
        ("user", ["?"]),
        ("assistant", ["wait"]),
        ("user", ["[Result of an earlier tool call]\n> a fox"]),
    ]


def test_an_id_that_a_server_used_twice_stands_on_the_page_once() -> None:
    again = [
        said(1, "look"),
        replied(2, "", "a"),
        returned(3, "a", "a fox"),
        replied(4, "", "a"),
        returned(5, "a", "hen"),
    ]
    assert shown(history(*again))[1:] == [
        ("assistant", ["tool_use a"]),
        ("user", ["tool_result a"]),
        ("assistant", ["[Called the tool look; its result is no longer shown.]"]),
        ("user", ["[Result of an earlier tool call]\n> hen"]),
    ]


def test_two_calls_with_one_id_in_one_reply_are_one_call() -> None:
    page = history(said(1, "look"), replied(2, "", "a", "a"), returned(3, "a", "a fox"), returned(4, "a", "hen"))
    assert shown(page)[1:] == [
        ("assistant", ["tool_use a", "[Called the tool look; its result is no longer shown.]"]),
        ("user", ["tool_result a", "[Result of an earlier tool call]\n> hen"]),
    ]


def test_a_result_of_nothing_but_white_space_is_an_empty_result() -> None:
    page = history(said(1, "look"), replied(2, "", "a"), returned(3, "a", " \n"))
    assert page.view()[-1]["content"] == [result("a", "")]


def test_contents_as_plain_strings_are_taken_too() -> None:
    assert valid_request([Message(role="user", content="hi"), Message(role="user", content="")]) == [
        Message(role="user", content=[text_block("hi")])
    ]


def test_what_only_people_may_see_is_not_on_the_page() -> None:
    page = history(said(1, "a", audience=Audience.PEOPLE), said(2, "b", audience=Audience.MODEL))
    assert shown(page) == [("user", ["b"])]


def test_a_layer_hides_replaces_and_inserts_and_off_it_leaves_no_trace() -> None:
    page = history(said(1, "one"), replied(2, "two"), said(3, "three"), replied(4, "four"))
    layer = Layer(1, upto=4, hidden=((1, 2),), replaced={4: (text_block("4"),)})
    note = Entry(5, "user", (text_block("before three"),), EntryKind.NOTE, layer=1, place=3)
    covered = page.covered(layer, [note])
    assert shown(covered) == [("user", ["before three", "three"]), ("assistant", ["4"])]
    assert History(covered.entries, ()).view() == page.view()


def test_a_later_layer_covers_what_an_earlier_one_inserted_and_replaced() -> None:
    first = Layer(1, upto=2, replaced={2: (text_block("second text"),)})
    note = Entry(3, "user", (text_block("note"),), EntryKind.NOTE, layer=1, place=2)
    page = history(said(1, "one"), said(2, "two")).covered(first, [note])
    later = page.covered(Layer(2, upto=3, hidden=((3, 3),), replaced={2: (text_block("third text"),)}), [])
    assert shown(page) == [("user", ["one", "note", "second text"])]
    assert shown(later) == [("user", ["one", "third text"])]


def test_what_is_inserted_at_one_place_keeps_its_order_and_stands_before_it() -> None:
    notes = [
        Entry(seq, "user", (text_block(text),), EntryKind.NOTE, layer=1, place=2)
        for seq, text in ((3, "marker"), (4, "summary"))
    ]
    page = history(said(1, "one"), said(2, "two")).covered(Layer(1, upto=2), notes)
    assert shown(page) == [("user", ["one", "marker", "summary", "two"])]


def test_what_comes_after_a_layer_stands_after_what_it_inserted() -> None:
    note = Entry(2, "user", (text_block("summary"),), EntryKind.SUMMARY, layer=1, place=2)
    page = history(said(1, "one")).covered(Layer(1, upto=1, hidden=((1, 1),)), [note]).appended(said(3, "three"))
    assert shown(page) == [("user", ["summary", "three"])]


def test_open_calls_are_those_of_the_last_reply_that_nobody_answered() -> None:
    page = history(said(1, "look"), replied(2, "", "a", "b"), returned(3, "b"), said(4, "well?"))
    assert page.open_calls() == [call("a")]
    assert page.appended(returned(5, "a")).open_calls() == []
    assert page.appended(replied(5, "done")).open_calls() == []


def test_a_replaced_entry_counts_as_what_it_is_now() -> None:
    page = history(said(1, "one", tokens=900)).covered(Layer(1, upto=1, replaced={1: (text_block("1"),)}), [])
    assert [0 < entry.tokens < 20 for entry in page.visible] == [True]


def test_ranges_are_sorted_joined_and_disjoint() -> None:
    assert merge_ranges([(5, 6), (1, 2), (3, 3), (6, 9), (20, 21), (20, 20)]) == ((1, 3), (5, 9), (20, 21))
    assert ranges_of([4, 1, 2, 9]) == ((1, 2), (4, 4), (9, 9))
    assert merge_ranges([]) == ()


def test_the_size_of_a_request_counts_what_was_read_from_the_cache_and_written_to_it() -> None:
    both = Usage(1, 20, 300, 4_000) + Usage(1, 1, 1, 1)
    assert (both.context, both.output) == (324, 4_001)
