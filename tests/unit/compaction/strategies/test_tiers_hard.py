"""The second tier of `tiered`: what has little to do with the request goes. FEATURES T3."""

from __future__ import annotations

from dataclasses import replace

from bot.compaction import PlanContext
from bot.history import Entry, EntryKind, History, Layer
from bot.messages import Audience, text_block
from tests.unit.entries import history, replied, said
from tests.unit.tiered_pages import (
    chat,
    covered,
    notes,
    planned,
    reading,
    sent,
    visible_seqs,
)


def about(seq: int, topic: str, *, tokens: int = 500) -> list[Entry]:
    return [said(seq, f"tell me of {topic}", tokens=tokens), replied(seq + 1, f"{topic} it is", tokens=tokens)]


def topics(*names: str) -> list[Entry]:
    return [entry for index, name in enumerate(names) for entry in about(2 * index + 1, name)]


TALK = (
    *topics("passwords", "buttons", "hashing passwords", "colours", "fonts", "tea"),
    said(13, "tell me of passwords"),
)
NEAR, FAR = [1.0, 0.0], [0.0, 1.0]


def test_the_half_that_is_nearest_to_the_last_request_stays_by_its_words() -> None:
    after = covered(history(*TALK), planned(history(*TALK), 0.8))
    assert visible_seqs(after) == [1, 2, 5, 6, 9, 10, 11, 12, 13]


def test_vectors_decide_what_is_near_where_they_are_given() -> None:
    vectors = {seq: NEAR if seq in (3, 7, 8, 13) else FAR for seq in range(1, 14)}
    after = covered(history(*TALK), planned(history(*TALK), 0.8, PlanContext(vectors=vectors)))
    assert visible_seqs(after) == [3, 4, 7, 8, 9, 10, 11, 12, 13], "a question stays with its answer"


def test_the_last_five_messages_always_stay() -> None:
    vectors = {seq: NEAR if seq in (1, 2, 13) else FAR for seq in range(1, 14)}
    page = history(*TALK)
    for last in (0, 1, 5, 6):
        after = covered(page, planned(page, 0.8, PlanContext(vectors=vectors), keep_last=last, soft=0.79, hard=0.79))
        assert set(range(14 - last, 14)) <= set(visible_seqs(after))
        assert 13 in visible_seqs(after)


def test_the_share_that_stays_can_be_set() -> None:
    page = history(*TALK)
    kept = [
        len(visible_seqs(covered(page, planned(page, 0.8, keep_share=share, soft=0.79, hard=0.79))))
        for share in (0, 0.25, 0.75)
    ]
    assert kept == [5, 7, 11]
    assert planned(page, 0.8, keep_share=1.0, emergency_keep_last=20) is None


def test_the_model_is_told_how_many_messages_are_out_of_view_and_people_are_not() -> None:
    page = history(*TALK)
    after = covered(page, planned(page, 0.8))
    (note,) = [entry for entry in after.visible if entry.kind is EntryKind.NOTE]
    assert note.audience is Audience.MODEL
    assert note.blocks[0]["text"].startswith("[4 older messages of this conversation are out of view")
    assert after.visible[0] == note


def test_the_next_time_there_is_one_note_that_counts_them_all() -> None:
    once = covered(history(*TALK), planned(history(*TALK), 0.8))
    more = [replied(20, "so", tokens=50), *(replace(entry, seq=entry.seq + 20) for entry in TALK)]
    page = once.appended(*more)
    plan = planned(page, 0.8)
    after = covered(page, plan)
    assert plan
    gone = len([entry for entry in page.visible if entry.kind in (EntryKind.SAID, EntryKind.REPLY)]) - len(
        [entry for entry in after.visible if entry.kind in (EntryKind.SAID, EntryKind.REPLY)]
    )
    assert gone > 0
    (note,) = notes(after)
    assert note.startswith(f"[{4 + gone} older messages")


def test_a_call_stays_or_goes_with_its_results_and_never_without_its_question() -> None:
    work = [
        said(1, "weather?", tokens=50),
        *reading(2, "notes/passwords.txt", "passwords " * 20),
        replied(4, "sunny", tokens=50),
        said(5, "tell me of passwords and hashing", tokens=50),
        *reading(6, "weather.txt", "sunny " * 20),
        *reading(8, "passwords.txt", "passwords, hashing " * 9),
        replied(10, "hashing of passwords it is", tokens=50),
    ]
    page = history(*work, *chat(11, 4), said(15, "tell me of passwords and hashing", tokens=50))
    after = covered(page, planned(page, 0.8, soft=0.79, hard=0.79))
    seqs = set(visible_seqs(after))
    assert {5, 10, 8, 9} <= seqs
    assert not {1, 2, 3, 4, 6, 7} & seqs


def test_earlier_summaries_stay_as_the_memory_of_what_is_gone() -> None:
    summary = Entry(40, "user", (text_block("what was said"),), EntryKind.SUMMARY, layer=1, place=1, tokens=40)
    page = History((*TALK, summary), (Layer(1, 0),))
    after = covered(page, planned(page, 0.8))
    assert [entry.seq for entry in after.visible[:2]] == [40, after.last_seq]


def test_stale_files_among_what_stays_become_outlines_and_those_that_go_are_named() -> None:
    page = history(
        said(1, "tell me of passwords", tokens=50),
        sent(2, "files/passwords.py"),
        replied(3, "passwords it is", tokens=50),
        said(4, "weather", tokens=50),
        sent(5, "files/weather.py"),
        replied(6, "sunny", tokens=50),
        *chat(7, 4),
        said(11, "tell me of passwords", tokens=50),
    )
    plan = planned(page, 0.8)
    after = covered(page, plan)
    assert plan
    assert set(plan.replaced) == {2}
    assert 5 not in visible_seqs(after)
    assert 'Files among them, and how to read them again: read_file("files/weather.py")' in notes(after)[0]


def test_what_the_operator_wants_kept_stays_in_the_note() -> None:
    page = history(*topics("passwords", "order-4711", "hashing passwords", "tea", "fonts"), said(13, "passwords"))
    note = notes(covered(page, planned(page, 0.8, PlanContext(rules=(r"order-\d+",)))))[0]
    assert "order-4711" in note


def test_only_what_people_said_lets_a_page_be_compared() -> None:
    page = history(*(replied(seq, f"thought {seq}", tokens=50) for seq in range(1, 20)))
    plan = planned(page, 0.8)
    assert plan
    assert plan.summarise, "the next tier goes on"


def test_exact_details_of_what_goes_without_a_summary_stay_in_the_note_and_in_the_next_one() -> None:
    told = [said(1, "The invoice is INV-20417.", tokens=500), replied(2, "Noted.", tokens=500)]
    talk = [replace(entry, seq=entry.seq + 2) for entry in TALK]
    once = covered(history(*told, *talk), planned(history(*told, *talk), 0.8))
    assert 1 not in visible_seqs(once)
    assert "The invoice is INV-20417." in notes(once)[0]
    more = [replied(30, "so", tokens=50), *(replace(entry, seq=entry.seq + 30) for entry in TALK)]
    page = once.appended(*more)
    twice = covered(page, planned(page, 0.8))
    assert len(notes(twice)) == 1
    assert "The invoice is INV-20417." in notes(twice)[0]
