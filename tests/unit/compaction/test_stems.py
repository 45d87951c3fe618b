"""Forms of a word are one word: to the facts by their stems, to a summary by their beginnings."""

from __future__ import annotations

import pytest

from bot.compaction.facts.words import terms_of
from bot.compaction.parts.similarity import lexical
from bot.compaction.stems import pairs, stem
from bot.compaction.summary.checks import missing

FORMS = [("cost", "costs"), ("Booked", "book"), ("meeting", "meetings"), ("бюджет", "бюджета")]


@pytest.mark.parametrize(("one", "other"), FORMS)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)
    assert terms_of(one) == terms_of(other) == {stem(one)}


def test_a_sentence_is_kept_in_a_summary_that_has_its_words_in_other_forms() -> None:
    sentence = "Never change prices of houses without asking the owner first"
    assert missing("First the owner is asked; the price of a house is never changed before.", [sentence]) == ()
    assert missing("Nothing of the kind was said.", [sentence]) == (sentence,)


def test_writing_without_blanks_is_compared_by_pairs() -> None:
    assert list(pairs("东京塔")) == ["东京", "京塔"]
    assert terms_of("东京塔") == {"东京", "京塔"}
    near, far = lexical("东京塔", ["我想去东京塔", "我在北京"])
    assert near > far == 0
