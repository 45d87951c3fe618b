"""A word or two that takes back what was said stands wherever that stands, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.compaction.facts.checkpoint import facts_in, rendered
from bot.compaction.facts.choice import checkpoint_of, most_telling
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
    assert remarks(life)[0].seqs == (1, 2)


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


def test_a_long_message_of_short_lines_brings_three_at_most() -> None:
    text = "\n".join(f"w{chr(97 + at % 26)}{chr(97 + at // 26)}" for at in range(600))
    assert len(remarks(merged(found_in([said(1, PLAN), said(2, text)])))) == 3


def test_what_a_message_goes_on_with_takes_nothing_back() -> None:
    life = merged(found_in([said(1, PLAN), said(2, "The gate code is 4471. Thanks!")]))
    assert remarks(life) == []


def test_where_nothing_was_said_before_there_is_nothing_to_take_back() -> None:
    assert facts_of(said(1, "Hello!"), replied(2, "Hi!")) == ()


def test_what_is_said_again_later_holds_again() -> None:
    facts = facts_of(said(1, PLAN), replied(2, "Done."), said(3, "No."), replied(4, "Gone."), said(5, PLAN))
    assert said_lines(checkpoint_of(facts, 1_000)) == [f"#5 person: {PLAN}"]


def test_when_there_are_too_many_facts_it_stays_as_long_as_what_it_takes_back() -> None:
    facts = facts_of(*talk("No.", others=60))
    plan, remark = (next(at for at, fact in enumerate(facts) if fact.last == seq) for seq in (1, 3))
    for count in range(1, len(facts)):
        kept = most_telling(facts, count)
        assert plan not in kept or remark in kept or count < 3, count


def test_it_is_read_back_from_a_checkpoint() -> None:
    text = rendered(facts_of(said(1, PLAN), replied(2, "On the list."), said(30, "Not anymore.")))
    again = merged(facts_in(text, 99))
    assert rendered(again.facts) == text
    assert [fact.text for fact in remarks(again)] == ["Not anymore."]
