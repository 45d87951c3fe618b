"""What calls were given: each value once, one line a tool, and as facts again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.checkpoint import apart, facts_in, rendered
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.fact import Fact, FactKind, Speaker
from bot.compaction.facts.given import given_candidates
from bot.compaction.facts.merge import merged
from bot.history import Entry, EntryKind


def given(*calls: tuple[int, str, dict[str, str]], known: Sequence[Fact] = ()) -> tuple[Fact, ...]:
    """What is known after these calls, each in the entry with this number."""
    return merged((one for seq, tool, told in calls for one in given_candidates(tool, told, seq)), known).facts


CALLS = given(
    (2, "find_table", {"city": "San Jose", "date": "2019-03-05"}),
    (4, "book_table", {"city": "San Jose", "seats": "4"}),
    (6, "find_table", {"city": "Fremont", "date": "2019-03-05"}),
)


def lines(text: str) -> list[str]:
    return text.partition("## Given\n")[2].splitlines()


def test_each_value_stands_once_behind_the_tool_and_the_name_under_which_it_was_given_last() -> None:
    assert lines(rendered(CALLS)) == [
        "- book_table\tcity=San Jose\tseats=4",
        "- find_table\tdate=2019-03-05\tcity=Fremont",
    ]


def test_values_of_one_argument_stand_together() -> None:
    cities = given(*((at, "find_table", {"city": city}) for at, city in enumerate(("San Jose", "Fremont", "Oslo"), 1)))
    assert lines(rendered(cities)) == ["- find_table\tcity=San Jose ¦ Fremont ¦ Oslo"]


def test_what_stands_in_a_row_is_not_told_again() -> None:
    row = Fact(FactKind.VALUE, "city=Fremont\tname=Bistro", (7,), speaker=Speaker.TOOL)
    assert "Fremont" not in "\n".join(lines(rendered([*CALLS, row])))
    assert rendered([row, *given((6, "find_table", {"city": "Fremont"}))]) == rendered([row])


def test_it_is_read_back_from_a_checkpoint_and_goes_on() -> None:
    text = rendered(CALLS)
    again = merged(facts_in(text, 20)).facts
    assert {fact.kind for fact in again} == {FactKind.GIVEN}
    assert rendered(again) == text
    assert apart(f"{text}\n\nIt costs 5.") == (text, "It costs 5.")
    more = rendered(given((22, "book_table", {"city": "Oslo"}), known=again))
    assert lines(more)[0] == "- book_table\tcity=San Jose ¦ Oslo\tseats=4"


def test_a_value_knows_every_entry_in_which_a_call_was_given_it() -> None:
    seqs = {fact.text: fact.seqs for fact in CALLS}
    assert seqs["book_table\tcity=San Jose"] == (2, 4)
    assert seqs["find_table\tdate=2019-03-05"] == (2, 6)


def test_facts_of_whole_calls_that_a_book_holds_are_told_by_their_names_too() -> None:
    older = [
        Fact(FactKind.GIVEN, f"book_table\tcity={city}\tdate={date}", (at,), speaker=Speaker.TOOL)
        for at, (city, date) in enumerate((("San Jose", "2019-03-05"), ("Fremont", "2019-03-09")), 1)
    ]
    shown = lines(rendered(older))
    assert shown == ["- book_table\tcity=San Jose ¦ Fremont\tdate=2019-03-05 ¦ 2019-03-09"]


def test_a_text_is_none_of_them() -> None:
    told = given((1, "write", {"path": "/srv/a.txt", "text": "word " * 30}), (2, "list", {}))
    assert [fact.text for fact in told] == ["write\tpath=/srv/a.txt"]


def test_values_of_a_call_that_failed_are_known_for_the_next_try() -> None:
    call = {"type": "tool_use", "id": "a", "name": "register", "input": {"name": "Elena Paredes", "phone": "944-388"}}
    result = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": "Error: no such customer"}
    entries = [
        Entry(1, "assistant", (call,), EntryKind.REPLY),
        Entry(2, "user", (result,), EntryKind.RESULT),
    ]
    told = [fact.text for fact in merged(candidates_of(entries)).facts if fact.kind is FactKind.GIVEN]
    assert told == ["register\tname=Elena Paredes", "register\tphone=944-388"]


def test_where_room_is_short_names_that_calls_were_given_stay_and_small_numbers_do_not_crowd_out_ids() -> None:
    entries: list[Entry] = []
    for at in range(30):
        call = {"type": "tool_use", "id": f"t{at}", "name": "get_order", "input": {"number": at}}
        order = {"order_id": f"{70_000_000 + 977 * at}", "note": "As ever, all is well. " * 9}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": json.dumps(order)}
        entries += [
            Entry(2 * at + 1, "assistant", (call,), EntryKind.REPLY),
            Entry(2 * at + 2, "user", (result,), EntryKind.RESULT),
        ]
    facts = merged(candidates_of(entries)).facts
    text = checkpoint_of(given((61, "find", {"city": "Lower Mill"}), known=facts), 150)
    assert "Lower Mill" in text
    assert sum(f"{70_000_000 + 977 * at}" in text for at in range(30)) > text.count(" ¦ ")
