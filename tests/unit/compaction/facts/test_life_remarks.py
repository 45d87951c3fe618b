"""A word or two that takes back what was said stands wherever that stands, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.compaction.facts.checkpoint import facts_in, rendered
from bot.compaction.facts.choice import checkpoint_of
from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Reason
from bot.compaction.facts.life import Refreshed, found_in, merged, pruned, refreshed
from bot.history import Entry
from tests.unit.entries import replied, returned, said

PLAN = "Book the 9:40 train to Lisbon for Anna."


def remarks(life: Refreshed) -> list[Fact]:
    return [fact for fact in life.facts if fact.status is FactStatus.REMARK]


def facts_of(*entries: Entry) -> tuple[Fact, ...]:
    return merged(found_in(entries)).facts


def said_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("#", "- ")) and not line.startswith("##")][1:]


def talk(taken_back: str, others: int = 30) -> list[Entry]:
    """A plan, taken back in the next message, among other things that are said."""
    entries = [said(1, PLAN), replied(2, "I have put the 9:40 train on Anna's list."), said(3, taken_back)]
    for at in range(others):
        entries.append(said(4 + 2 * at, f"Locker {1000 + 37 * at} belongs to gardener number {at}."))
        entries.append(replied(5 + 2 * at, f"Noted, locker {1000 + 37 * at}."))
    return entries


@pytest.mark.parametrize("words", ["Not anymore.", "No, Bob.", "不要了。", "لا.", "👎", "Doch nicht."])
def test_what_was_taken_back_in_a_word_or_two_never_stands_without_them(words: str) -> None:
    facts, shown = facts_of(*talk(words)), 0
    for room in range(20, 700, 7):
        lines = said_lines(checkpoint_of(facts, room))
        told = [at for at, line in enumerate(lines) if "9:40" in line]
        shown += bool(told)
        assert not told or f"#3 person: {words}" in lines[told[0] :], room
        assert told or f"#3 person: {words}" not in lines, room
    assert shown


def test_tools_may_stand_between() -> None:
    call = {"type": "tool_use", "id": "a", "name": "search", "input": {"q": "trains"}}
    entries = [said(1, PLAN), replace(replied(2, ""), blocks=(call,)), returned(3, "a", "9:40, 11:15, 13:05")]
    text = checkpoint_of(facts_of(*entries, replied(4, "There are three trains."), said(5, "No.")), 1_000)
    assert said_lines(text)[:3] == [f"#1 person: {PLAN}", "#4 assistant: There are three trains.", "#5 person: No."]


def test_it_is_a_candidate_of_low_value_and_in_no_list() -> None:
    life = refreshed((), found_in([said(1, PLAN), said(2, "Not anymore.")]))
    assert [(item.text, item.reason) for item in life.candidates] == [
        (PLAN, Reason.NEW),
        ("Not anymore.", Reason.LOW_VALUE),
    ]
    assert [(fact.text, fact.is_listed) for fact in life.facts] == [(PLAN, True), ("Not anymore.", False)]
    assert remarks(life)[0].seqs == (2,)


def test_it_is_kept_while_nothing_new_comes() -> None:
    known = refreshed((), found_in([said(1, PLAN), said(2, "Not anymore.")])).facts
    assert [fact.text for fact in pruned([*known, Fact(FactKind.STATEMENT, "The gate is B42.", (900,))])] == [
        PLAN,
        "Not anymore.",
        "The gate is B42.",
    ]


def test_what_is_said_again_and_again_is_kept_three_times() -> None:
    entries = [said(at, f"Locker {at}77 is free." if at % 2 else "Thanks!") for at in range(1, 21)]
    assert [fact.last for fact in remarks(merged(found_in(entries)))] == [16, 18, 20]
    known: Sequence[Fact] = ()
    for at in range(0, 20, 2):
        known = refreshed(known, found_in(entries[at : at + 2])).facts
    assert [fact.last for fact in known if fact.status is FactStatus.REMARK] == [16, 18, 20]


def test_what_a_message_goes_on_with_takes_nothing_back() -> None:
    life = merged(found_in([said(1, PLAN), said(2, "The gate code is 4471. Thanks!")]))
    assert remarks(life) == []


def test_where_nothing_was_said_before_there_is_nothing_to_take_back() -> None:
    assert facts_of(said(1, "Hello!"), replied(2, "Hi!")) == ()


def test_what_is_said_again_later_holds_again() -> None:
    facts = facts_of(said(1, PLAN), replied(2, "Done."), said(3, "No."), replied(4, "Gone."), said(5, PLAN))
    assert said_lines(checkpoint_of(facts, 1_000)) == [f"#5 person: {PLAN}"]


def test_it_takes_no_facts_place_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.compaction.facts.life.MOST_FACTS", 40)
    monkeypatch.setattr("bot.compaction.facts.life._MOST_REMARKS", 10)
    entries = [
        said(at, f"Locker {at}77 is free." if at % 2 else f"no {chr(97 + at // 26)}{chr(97 + at % 26)}")
        for at in range(1, 61)
    ]
    life = refreshed((), found_in(entries))
    assert sum(fact.is_listed for fact in life.facts) == 30
    assert [fact.last for fact in remarks(life)] == list(range(42, 61, 2))


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize(("words", "room"), [(50, 500), (150, 1_000), (300, 2_000)])
def test_a_talk_in_single_words_takes_no_room_from_what_was_said_before(words: int, room: int, pinned: bool) -> None:
    entries = [said(1, PLAN), replied(2, "Noted, the 9:40 train for Anna.")]
    for at in range(words):
        entries.append(said(3 + 2 * at, f"{chr(97 + at % 26)}{chr(97 + at // 26)}ox"))
        entries.append(replied(4 + 2 * at, f"That makes word number {at} of the game, well played so far."))
    facts = [replace(fact, pinned=pinned and fact.text == PLAN) for fact in facts_of(*entries)]
    shown = [checkpoint_of(facts, size) for size in range(120, room, 60)]
    assert all(PLAN in text for text in shown if pinned)
    assert PLAN in shown[-1]
    assert len(shown[-1]) > 2 * room


def test_any_number_of_them_takes_time_in_proportion() -> None:
    nods = [said(at, f"{chr(97 + at % 26)}{chr(97 + at // 26 % 26)}{chr(97 + at // 676)}") for at in range(2, 5_002)]
    for entries in ([said(1, PLAN), *nods], [said(1, PLAN), *(said(at, "ok") for at in range(2, 5_002))]):
        began = time.process_time()
        assert checkpoint_of(facts_of(*entries), 1_000)
        assert time.process_time() - began < 5


def test_behind_a_long_quotation_it_is_one_too() -> None:
    quoted = "> The train leaves at 9:40. It is direct. It has a restaurant. Seats are free.\n\nNot anymore."
    assert [fact.text for fact in remarks(merged(found_in([said(1, PLAN), said(2, quoted)])))] == ["Not anymore."]


def test_it_is_read_back_from_a_checkpoint() -> None:
    text = rendered(facts_of(said(1, PLAN), replied(2, "On the list."), said(30, "Not anymore.")))
    again = merged(facts_in(text, 99))
    assert rendered(again.facts) == text
    assert [fact.text for fact in remarks(again)] == ["Not anymore."]
