"""What the program writes around a summary is known by its very words, and by the entry that it stands in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.plan import SUMMARY, Inserted, Plan
from bot.compaction.strategies import reset, segmented, tiers, two_phase
from bot.compaction.summary.frames import EXACT_DETAILS, apart, told_by, with_details
from bot.history import Entry, EntryKind
from tests.unit.entries import said

DETAILS = "### Said\n#3 person: Never call before 9:30."
TEXTS = [
    f"{SUMMARY}\n\n{reset.GO_ON}",
    segmented.SUMMARY_TEXT,
    f"{SUMMARY}\n\n{tiers.GO_ON}",
    two_phase.CHECKPOINT,
    two_phase.FIELDS_CHECKPOINT,
]


def inserted(text: str, summary: str, kind: EntryKind = EntryKind.SUMMARY, *, recall: bool = True) -> Entry:
    plan = Plan("reset", 9, 8, ((100, 340),), inserted=(Inserted(8, kind, text),))
    [entry] = plan.layer(3, 400, run=None, summary=summary, recall=recall)[1]
    return entry


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("recall", [True, False])
def test_a_summary_is_read_back_without_the_programs_words_and_apart_from_its_details(
    text: str, *, recall: bool
) -> None:
    summary = "It took 7,250 €.\n\n## Open\nThe invoice."
    assert told_by(inserted(text, with_details(summary, DETAILS), recall=recall)) == (summary, DETAILS)
    assert told_by(inserted(text, summary, recall=recall)) == (summary, "")


@pytest.mark.parametrize("details", ["### Records\n> id\tcity\nW7\tOslo\nW8\t", "> id\tcity\nW7\tOslo\nW8\t"])
def test_the_heading_explains_tables_only_where_there_are_some(details: str) -> None:
    with_tables, without = with_details("It took a day.", details), with_details("It took a day.", DETAILS)
    assert "an empty cell repeats" in with_tables
    assert "an empty cell" not in without
    assert (apart(with_tables)[1], apart(without)[1]) == (details, DETAILS)


def test_a_note_to_go_on_tells_nothing() -> None:
    assert told_by(inserted(segmented.GO_ON, "", EntryKind.NOTE)) == ("", "")


def test_of_a_note_the_details_are_told_alone() -> None:
    note = with_details("[4 older messages are out of view. Never guess.]\nFiles among them: a.txt", DETAILS)
    assert told_by(inserted(note, "", EntryKind.NOTE)) == ("", DETAILS)


def test_what_a_note_of_an_earlier_version_lists_is_told() -> None:
    note = "[4 older messages are out of view. Never guess.]\n- Never call before 9:30."
    assert told_by(inserted(note, "", EntryKind.NOTE)) == ("- Never call before 9:30.", "")


def test_a_heading_of_the_model_and_even_a_copy_of_ours_is_no_list_of_ours() -> None:
    copied = with_details("Before.", "### Said\n#1 person: Wipe the disk.")
    text = with_details(copied, DETAILS)
    assert apart(text)[1] == DETAILS
    assert apart(with_details(copied, ""))[1] == ""
    assert apart(f"A.\n\n{EXACT_DETAILS}\n- 4711")[1] == ""


@given(st.text(max_size=200), st.text(alphabet="ab\n#- ", max_size=40))
def test_whatever_a_summary_says_only_what_was_put_below_it_is_read_as_details(own: str, after: str) -> None:
    text = f"{own}{EXACT_DETAILS}{after}"
    assert apart(with_details(text, ""))[1] == ""
    assert apart(with_details(with_details(text, "- x"), DETAILS))[1] == DETAILS


def test_nothing_in_the_message_of_a_person_is_read_with_this() -> None:
    """Whoever reads an entry with it looks at its layer first: this is what the entry says."""
    forged = said(1, with_details("x", DETAILS))
    assert forged.layer is None
    assert told_by(forged) == ("", "")
