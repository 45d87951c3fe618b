"""The measure by which lines are chosen: what they tell that is not told yet, for their price."""

from __future__ import annotations

import time
from itertools import chain

import pytest

from bot.compaction.coverage import Line, Rarity, chosen, chosen_together, form_of, share_covered, terms_of


def _lines(*texts: str, price: float = 10.0) -> list[Line]:
    return [Line(text, price) for text in texts]


def _rarity(lines: list[Line]) -> Rarity:
    return Rarity.of([line.text for line in lines])


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Meet Anna's flight HAT-123 at 10:30.", ["meet", "anna", "s", "fligh", "hat-123", "at", "10:30"]),
        ("4 passengers, 1,250 euros", ["4", "passe", "1,250", "euros"]),
        ("Die Rechnungsadresse", ["die", "rechn", "-resse"]),
        ("会议在3月15日", ["会议", "议在", "3", "月", "15", "日"]),
        ("ＡＢＣ４５", ["abc45"]),
        ("write to ada@example.org or zebra_4471", ["write", "to", "ada@example.org", "or", "zebra_4471"]),
        ("हिन्दी में", ["हिन्द", "में"]),
        ("👍", []),
    ],
)
def test_a_text_is_told_apart_into_words_numbers_and_codes_in_any_writing(text: str, terms: list[str]) -> None:
    assert list(terms_of(text)) == terms


def test_forms_of_one_word_and_capitals_are_one_term() -> None:
    assert terms_of("ORDERS") == terms_of("orders") == terms_of("ordered")[:1] == ("order",)


def test_a_name_in_katakana_is_one_word_and_other_japanese_is_compared_by_pairs() -> None:
    assert terms_of("サーバーは大阪です") == ("サーバー", "は大", "大阪", "阪で", "です")
    assert form_of("サーバー") > form_of("大阪")


def test_what_is_rare_weighs_more_and_so_do_codes_and_long_words() -> None:
    rarity = Rarity.of(["we go to the sea"] * 9 + ["we met Zacharias near item_42"])
    assert rarity.weight("zacha") > rarity.weight("we")
    assert rarity.weight("item_42") > rarity.weight("zacha")
    assert rarity.weight("zacha") > rarity.weight("near")


def test_a_mark_on_a_letter_tells_as_much_as_a_letter() -> None:
    assert form_of("thứ") == form_of("third") > form_of("thu")
    assert form_of("né") == form_of("new") > form_of("ne")


def test_a_number_that_is_as_long_as_an_id_tells_as_much_as_a_code() -> None:
    rarity = _rarity(_lines("6117189161 QX-77A 2026 481"))
    assert rarity.weight("6117189161") == rarity.weight("qx-77a") > rarity.weight("2026") == rarity.weight("481")


def test_what_was_said_is_not_chosen_again_while_something_else_is_left() -> None:
    lines = _lines("The gate code is 4471.", "The gate code is 4471.", "Deliver to Rosenstraße.")
    assert set(chosen(lines, 20, rarity=_rarity(lines))) == {0, 2}


def test_what_the_page_says_anyway_counts_for_little() -> None:
    lines = _lines("The gate code is 4471.", "Deliver to Rosenstraße.")
    covered = terms_of("Remember: the gate code is 4471")
    assert chosen(lines, 10, rarity=_rarity(lines), covered=covered) == (1,)


def test_of_two_lines_that_tell_the_same_the_cheaper_is_chosen() -> None:
    lines = [Line("Code 4471", 20.0), Line("Code 4471", 5.0)]
    assert chosen(lines, 20, rarity=_rarity(lines)) == (1,)


def test_a_line_comes_only_with_what_it_needs() -> None:
    lines = [Line("The budget is 500 euros.", 8.0), Line("Make it 650.", 5.0)]
    for room, told in ((4, set()), (7, {1}), (12, {1}), (13, {0, 1})):
        groups = chosen_together(lines, room, rarity=_rarity(lines), needs=lambda at: (1,)[at:])
        assert set(chain.from_iterable(groups)) == told


def test_what_is_sure_comes_first_whatever_it_tells() -> None:
    lines = [Line("ok", 10.0, sure=True), Line("The gate code is 4471.", 10.0)]
    assert chosen(lines, 10, rarity=_rarity(lines)) == (0,)


def test_needs_in_a_circle_come_together() -> None:
    lines = [Line("one tulip", 5.0), Line("two roses", 5.0)]
    (group,) = chosen_together(lines, 10, rarity=_rarity(lines), needs=lambda at: (1 - at,))
    assert set(group) == {0, 1}
    assert chosen_together(lines, 9, rarity=_rarity(lines), needs=lambda at: (1 - at,)) == ()


def test_a_share_says_how_much_of_a_text_is_there() -> None:
    rarity = Rarity.of(["the gate code is 4471", "the weather is fine"])
    assert share_covered("gate code 4471", terms_of("code 4471 opens the gate"), rarity=rarity) == 1.0
    assert share_covered("gate code 4471", terms_of("the gate"), rarity=rarity) < 0.5
    assert share_covered("…", (), rarity=rarity) == 1.0


def test_choosing_takes_time_in_proportion_to_the_lines() -> None:
    lines = [Line(f"Item {at % 700} goes to shelf {at % 911} of hall {at}.", 9.0) for at in range(10_000)]
    began = time.process_time()
    taken = chosen(lines, 9 * 1_000, rarity=_rarity(lines))
    assert len(taken) == 1_000
    assert time.process_time() - began < 5
