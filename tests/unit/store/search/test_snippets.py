"""Where the words of a query stand in a text, and the part of it that shows them."""

from __future__ import annotations

import pytest

from bot.store.search.snippets import excerpt, found_in
from bot.store.search.words import query_words


def found(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in found_in(text, query_words(query))]


@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("The roses, a ROSE and prose.", "rose", ["roses", "ROSE"]),
        ("It rains; rain came.", "raining", ["rains", "rain"]),
        ("Ghislaine de Féligonde", "feligonde", ["Féligonde"]),
        ("1,200 euros and 1200 more, not 12001", "1200", ["1,200", "1200", "12001"]),
        ("йод, иод", "йод", ["йод"]),
        ("ёлка и елка", "елка", ["ёлка", "елка"]),
        ("我们漫游漢字世界", "漢字", ["漢字"]),
        ("한국말을 배워요", "한국", ["한국"]),
        ("🦊 fox 🦊", "fox", ["fox"]),
        ("nothing of it", "roses", []),
        ("", "roses", []),
        ("roses", "", []),
        ("a [b] (c) \\d+", "[b] \\d+", ["b", "d+"]),
    ],
)
def test_a_word_is_found_with_its_endings_accents_and_in_scripts_without_spaces(
    text: str, query: str, words: list[str]
) -> None:
    assert found(text, query) == words


def test_what_is_found_twice_is_one_place() -> None:
    assert found("user_id", "user_id user id") == ["user_id"]


def test_an_excerpt_keeps_its_lines_and_begins_with_one() -> None:
    text = "".join(f"- line {number}\n" for number in range(1_000)) + "- the **code** is here\n" + "- more\n" * 500
    part = excerpt(text, query_words("code"), 200)
    assert part.startswith("- line 9")
    assert "- the **code** is here\n- more" in part
    assert excerpt("short\ntext", query_words("code"), 200) == "short\ntext"
