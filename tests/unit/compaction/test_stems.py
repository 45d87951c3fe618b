"""Forms of a word are one word, by their beginnings."""

from __future__ import annotations

import pytest

from bot.compaction.coverage import terms_of
from bot.compaction.parts.similarity import lexical
from bot.compaction.stems import pairs
from bot.compaction.summary.checks import missing

FORMS = [("price", "prices"), ("Ordered", "order"), ("meeting", "meetings"), ("бюджет", "бюджета")]


@pytest.mark.parametrize(("one", "other"), FORMS)
def test_forms_of_a_word_are_one_term(one: str, other: str) -> None:
    assert terms_of(one) == terms_of(other)


def test_a_sentence_is_kept_in_a_summary_that_has_its_words_in_other_forms() -> None:
    sentence = "Never change prices of houses without asking the owner first"
    assert missing("First the owner is asked; the price of a house is never changed before.", [sentence]) == ()
    assert missing("Nothing of the kind was said.", [sentence]) == (sentence,)


def test_writing_without_blanks_is_compared_by_pairs() -> None:
    assert list(pairs("东京塔")) == ["东京", "京塔"]
    assert terms_of("东京塔") == ("东京", "京塔")
    near, far = lexical("东京塔", ["我想去东京塔", "我在北京"])
    assert near > far == 0
