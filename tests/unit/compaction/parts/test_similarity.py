"""How near entries are to a question, by vectors and by words. FEATURES T3."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.parts.similarity import LONGEST_TEXT, comparable_text, cosine, lexical, relevance
from bot.history import Entry, EntryKind
from tests.unit.entries import call, replied, returned, said

numbers = st.one_of(st.floats(0.01, 10), st.floats(-10, -0.01))


def test_the_cosine_of_a_vector_with_itself_is_one_with_its_opposite_minus_one_at_right_angles_nothing() -> None:
    assert cosine([3.0, 4.0], [6.0, 8.0]) == pytest.approx(1)
    assert cosine([3.0, 4.0], [-3.0, -4.0]) == pytest.approx(-1)
    assert cosine([1.0, 0.0], [0.0, 5.0]) == pytest.approx(0)
    assert cosine([1.0, 0.0], [1.0, 1.0]) == pytest.approx(math.sqrt(0.5))


def test_a_vector_without_length_is_near_to_nothing() -> None:
    assert cosine([0.0, 0.0], [1.0, 0.0]) == 0.0


def test_vectors_of_different_dimensions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="dimension"):
        cosine([1.0], [1.0, 2.0])


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_the_cosine_is_the_product_over_the_lengths(pairs: list[tuple[float, float]]) -> None:
    one, other = zip(*pairs, strict=True)
    product = sum(a * b for a, b in pairs) / (math.hypot(*one) * math.hypot(*other))
    assert cosine(one, other) == pytest.approx(product, abs=1e-6)


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=4))
def test_the_cosine_is_a_number_within_its_bounds_whatever_the_vectors_hold(pairs: list[tuple[float, float]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    assert -1 <= cosine(one, other) <= 1


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("How does password hashing work?", "We hash each password with argon2.", "The button is blue."),
        ("Как работает миграция базы?", "Миграции базы лежат в папке.", "Кнопка синяя."),
        ("数据库迁移怎么做", "迁移数据库要先备份", "按钮是蓝色的"),
        ("🙂🚀", "rocket 🚀", "nothing"),
    ],
)
def test_words_in_common_make_texts_near(question: str, near: str, far: str) -> None:
    scores = lexical(question, [far, near])
    assert scores[1] > scores[0]


def test_rare_words_count_for_more_than_common_ones() -> None:
    texts = ["the parser is slow", *["the house is old"] * 9, "parser"]
    scores = lexical("the parser", texts)
    assert scores[-1] > scores[1]
    assert scores[0] == pytest.approx(1)


@pytest.mark.parametrize(("question", "texts"), [("", ["a"]), ("a", []), ("", []), (" \n", ["", "x"])])
def test_without_words_nothing_is_near(question: str, texts: list[str]) -> None:
    assert lexical(question, texts) == [0.0] * len(texts)


def test_vectors_decide_where_there_are_any() -> None:
    entries = [said(1, "passwords"), said(2, "buttons")]
    near = relevance(said(3, "passwords"), entries, {1: [0.0, 1.0], 2: [1.0, 0.1], 3: [1.0, 0.0]})
    assert near[2] > near[1]


@pytest.mark.parametrize("vectors", [{}, {1: [1.0, 0.0], 2: [0.0, 1.0]}, {3: [math.nan, 1.0], 1: [1.0, 1.0]}])
def test_without_a_vector_of_the_question_words_decide(vectors: dict[int, list[float]]) -> None:
    near = relevance(said(3, "the passwords"), [said(1, "a button"), said(2, "passwords")], vectors)
    assert near[2] > near[1]


def test_an_entry_without_a_vector_stands_where_its_words_would_put_it() -> None:
    entries = [said(seq, text) for seq, text in enumerate(["hash password", "hash colour", "colour", "hash password"])]
    vectors = {0: [1.0, 0.0], 1: [1.0, 1.0], 2: [0.0, 1.0], 9: [1.0, 0.0]}
    near = relevance(said(9, "hash the password"), entries, vectors)
    assert near[3] == near[0] > near[1] > near[2]
    assert relevance(said(9, "hash the password"), [*entries[:3], said(3, "tea")], vectors)[3] == near[2]


@pytest.mark.parametrize("broken", [[], [1.0], [math.nan, 0.0], [math.inf, -math.inf], [0.0, 0.0], [1.0, 2.0, 3.0]])
def test_a_vector_that_cannot_be_compared_counts_as_missing(broken: list[float]) -> None:
    entries = [said(1, "tea"), said(2, "coffee"), said(3, "tea")]
    near = relevance(said(9, "tea?"), entries, {1: [1.0, 0.5], 2: [0.0, 1.0], 3: broken, 9: [1.0, 0.0]})
    assert 1 > near[3] == near[1] > near[2]


def test_an_entry_without_text_is_the_farthest() -> None:
    picture = Entry(2, "user", ({"type": "image", "source": {"type": "url", "url": "x"}},), EntryKind.FILE)
    assert comparable_text(picture) == ""
    near = relevance(said(9, "tea"), [said(1, "tea"), picture], {1: [1.0, 0.0], 9: [1.0, 0.0]})
    assert near[2] <= near[1]


def test_calls_and_results_are_compared_too_and_thinking_is_not() -> None:
    reply = Entry(
        1, "assistant", ({"type": "thinking", "thinking": "secret", "signature": "s"}, call("a")), EntryKind.REPLY
    )
    assert comparable_text(reply) == "look {}"
    assert comparable_text(returned(2, "a", [{"type": "text", "text": "a fox"}])) == "a fox"
    assert comparable_text(replied(3, "yes")) == "yes"


def test_of_a_long_text_the_beginning_and_the_end_are_compared() -> None:
    text = comparable_text(said(1, f"begin {'x' * 5_000} end"))
    assert len(text) == LONGEST_TEXT
    assert text.startswith("begin")
    assert text.endswith("end")
