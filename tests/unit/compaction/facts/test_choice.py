"""Which facts a checkpoint holds when not all of them fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.compaction.coverage import Rarity, terms_of
from bot.compaction.facts.checkpoint import rendered
from bot.compaction.facts.choice import checkpoint_of, checkpoint_tokens
from bot.compaction.facts.fact import Fact, FactKind, Speaker
from bot.compaction.facts.lines import Updates
from bot.compaction.facts.records import as_text

ROOM = 300


def listed(number: int) -> Fact:
    fields = {"order": f"K{7919 * number % 100_000:05}", "state": "open", "to": "Bergen"}
    return Fact(FactKind.VALUE, as_text(fields), (number // 20 * 2 + 2,), speaker=Speaker.TOOL)


def test_a_record_by_itself_comes_before_rows_of_which_there_are_hundreds() -> None:
    rows = [listed(number) for number in range(400)]
    alone = Fact(FactKind.VALUE, as_text({"rent": "1250 EUR", "landlord": "Ines Prado"}), (9,), speaker=Speaker.TOOL)
    said = Fact(FactKind.STATEMENT, "The choir meets at Oskar's on Thursdays.", (11,))
    shown = checkpoint_of([*rows, alone, said], ROOM)
    assert "Ines Prado" in shown
    assert said.text in shown
    assert "K07919" in shown or "order" in shown, "a long list still has its rows, as far as there is room"


def test_what_many_rows_have_in_common_is_no_row_by_itself() -> None:
    asked = "grep --line-number --recursive connection_pool_exhausted services/gateway"
    told = ["started in the evening", "had to wait for a slot", "was asked to go home early"]
    lines = [
        Fact(FactKind.VALUE, as_text({"result@": asked, "line": line}), (at,), weight=6.5)
        for at, line in enumerate(told, 1)
    ]
    ids = [Fact(FactKind.VALUE, as_text({"id": f"A-{at:03}Z", "city": "Oslo"}), (at,), weight=9.0) for at in range(9)]
    shown = checkpoint_of([*lines, *ids], 68)
    assert shown.count("A-0") > 3
    assert asked not in shown, "it costs all that it takes, also where others would share it"


def test_a_line_that_does_not_fit_leaves_its_room_to_those_that_do() -> None:
    names = ["Ines Prado", "Omar Quist", "Mei Rahimi"]
    short = [Fact(FactKind.STATEMENT, f"{name} has locker QX{at}7.", (at,)) for at, name in enumerate(names, 1)]
    keys = Fact(FactKind.STATEMENT, " ".join(f"ZK{at}9{chr(65 + at)}" for at in range(14)), (20,))
    whole = checkpoint_tokens(rendered([keys]))
    assert keys.text in checkpoint_of([*short, keys], whole + 1), "it tells most"
    for room in range(round(0.85 * whole), round(whole)):
        shown = checkpoint_of([*short, keys], room)
        assert keys.text not in shown
        assert "locker" in shown


def test_what_a_code_names_is_shown_only_with_what_was_said_of_it_last() -> None:
    wanted = Fact(FactKind.GOAL, "Remind me to renew the contract 9501VGD.", (3,))
    ended = Fact(FactKind.STATEMENT, "9501VGD 的事取消了，不用管。", (40,))
    others = [
        Fact(FactKind.STATEMENT, f"Room {at} of wing {chr(64 + at)} gets shelf {at * 37}.", (4 + at,))
        for at in range(1, 27)
    ]
    for room in range(60, 700, 40):
        shown = checkpoint_of([wanted, *others, ended], room)
        assert wanted.text not in shown or shown.index(wanted.text) < shown.index(ended.text)


def test_a_long_number_names_one_thing_and_a_year_does_not() -> None:
    wanted = Fact(FactKind.GOAL, "Send invoice 8871 to Petra by Friday.", (3,))
    other = Fact(FactKind.STATEMENT, "I disagree: 8871 goes to Olga.", (9,))
    assert lines_of(wanted, other) == [wanted.text, other.text]
    dated = Fact(FactKind.STATEMENT, "We met in Lisbon in 1998.", (4,))
    later = Fact(FactKind.STATEMENT, "My uncle bought the farm, that was 1998 too.", (11,))
    assert lines_of(dated, later) == []


def test_an_older_line_stands_with_what_is_most_like_it_and_not_with_the_newest_alone() -> None:
    wanted = Fact(FactKind.STATEMENT, "The babysitter on Thursdays is Remedios.", (3,))
    changed = Fact(FactKind.STATEMENT, "Remedios moves, the babysitter on Thursdays will be Candela.", (9,))
    newest = Fact(FactKind.STATEMENT, "Remedios and Thursdays made me smile.", (21,))
    assert lines_of(wanted, changed, newest)[:3] == [wanted.text, newest.text, changed.text]


OVERTAKEN = {
    "Wir treffen uns am Samstag bei Frau Lindner.": "Lindner ist im Urlaub, also lieber bei mir zu Hause.",
    "Put Marlene in charge of the raffle.": "Marlene can't make it, give it to Jonas.",
    "歯医者の予約は金曜の午後です。": "歯医者は来週の月曜に変わりました。",
    "周五晚上去川菜馆吃饭。": "川菜馆不去了，改在家里做火锅。",
    "Xe máy để ở nhà chú Bảy.": "Bảy trả xe rồi, bây giờ nó ở gara.",
    "Το ραντεβού με τον υδραυλικό είναι την Τρίτη.": "Ο υδραυλικός δεν μπορεί, θα έρθει το Σάββατο.",
    "Toplantı Papatya salonunda olacak.": "Papatya doluymuş, bahçede buluşuyoruz.",
    "Сантехник придёт во вторник утром.": "Сантехника не будет, я сам починил кран.",
}
"""In everyday words, what was said first and what holds instead."""


@pytest.mark.parametrize("first", OVERTAKEN)
def test_two_lines_of_people_that_alone_share_a_word_are_about_one_thing(first: str) -> None:
    said = [
        Fact(FactKind.STATEMENT, line, (at,))
        for at, line in enumerate([*OVERTAKEN, *(f"Shelf {at} goes to wing {at * 7}." for at in range(40))], 1)
    ]
    later = Fact(FactKind.STATEMENT, OVERTAKEN[first], (90,))
    shown = lines_of(*said, later)
    assert shown[shown.index(first) + 1] == later.text
    long = "Registers: " + " ".join(f"{chr(65 + at % 26)}{at}orough" for at in range(60))
    handed_over = replace(later, text=f"{long} {later.text}")
    assert first not in lines_of(*said, handed_over), "a long line shares a word with many"
    assert first not in lines_of(*said, replace(later, speaker=Speaker.MODEL))


def lines_of(*facts: Fact) -> list[str]:
    """Each older line with what brings it up to date."""
    terms = [terms_of(fact.text) for fact in facts]
    updates = Updates(facts, terms, Rarity.of([fact.text for fact in facts], terms=terms))
    return [facts[one].text for at in range(len(facts)) if (newer := updates.of(at)) for one in (at, *newer)]


def test_where_all_fits_all_stands_and_where_little_more_is_known_most_of_it() -> None:
    facts = [Fact(FactKind.STATEMENT, f"Guest {at} is allergic to QX{at}7.", (at,)) for at in range(1, 60)]
    whole = checkpoint_tokens(rendered(facts))
    assert checkpoint_of(facts, whole + 1) == rendered(facts)
    shown = checkpoint_of(facts, 0.9 * whole)
    assert 0.8 * len(facts) < sum(fact.text in shown for fact in facts) < len(facts)
