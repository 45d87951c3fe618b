"""Cutting texts: nothing lost, nothing too long, nothing torn."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.text import ELLIPSIS, shorten, split, utf16_length

FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*$", re.MULTILINE)
CLUSTERS = ("a", "é", "e\u0301", "👍", "👍🏽", "👨‍👩‍👧", "🇩🇪", "❤️", "한", "字", "🏴󠁧󠁢󠁳󠁣󠁴󠁿")
LONGEST_CLUSTER = max(map(utf16_length, CLUSTERS))

prose = st.lists(
    st.sampled_from(["word", "One. ", "Two! ", " ", "  ", "\n", "\n\n", "\r\n", "👍🏽", "字。", "\u00a0", "x" * 30]),
    max_size=80,
).map("".join)
markdown = st.lists(
    st.sampled_from(
        ["word ", "End. ", "\n", "\n\n", "    indented\n", "\n```python\n", "\n```\n", "\n~~~\n", "x" * 40]
    ),
    max_size=80,
).map("".join)


def bare(text: str) -> str:
    """A text without white space and fences: what a cut must not change."""
    return "".join(FENCE.sub("", text).split())


@given(st.text(), st.integers(2, 40))
@example("\ud83d" * 9, 4)
@example("🇩" * 9, 4)
@example("\n" * 50 + "\u0301", 6)
def test_any_text_keeps_all_but_white_space_within_the_limit(text: str, limit: int) -> None:
    pieces = split(text, limit)

    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(utf16_length(piece) <= limit and piece.strip() for piece in pieces)


@given(prose, st.integers(12, 90))
def test_prose_keeps_all_but_white_space_within_the_limit(text: str, limit: int) -> None:
    pieces = split(text, limit)

    assert bare("".join(pieces)) == bare(text)
    assert all(utf16_length(piece) <= limit and piece.strip() for piece in pieces)


@given(markdown, st.integers(40, 200))
def test_code_blocks_lose_nothing_and_stay_within_the_limit(text: str, limit: int) -> None:
    pieces = split(text, limit)

    assert bare("\n".join(pieces)) == bare(text)
    assert all(utf16_length(piece) <= limit and piece.strip() for piece in pieces)


@given(st.lists(st.sampled_from(["word ", "End. ", "\n", "x" * 40, "\n```python\ncode\n\n  more\n```\n"])).map("".join))
def test_every_piece_closes_the_code_blocks_that_it_opens(text: str) -> None:
    for piece in split(text, 120):
        assert len(FENCE.findall(piece)) % 2 == 0


@given(st.lists(st.sampled_from(CLUSTERS), min_size=1), st.integers(LONGEST_CLUSTER, 60))
def test_what_people_see_as_one_character_is_never_torn(clusters: list[str], limit: int) -> None:
    text = "".join(clusters)
    pieces = split(text, limit)

    assert "".join(pieces) == text
    assert set(accumulate(map(len, pieces))) <= set(accumulate(map(len, clusters)))


@given(prose, st.integers(12, 90))
def test_a_shortened_text_fits_and_says_that_it_was_shortened(text: str, limit: int) -> None:
    short = shorten(text, limit)

    assert utf16_length(short) <= limit
    assert short == text if utf16_length(text) <= limit else short.endswith(ELLIPSIS)


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert split(" as it is\n", 20) == [" as it is\n"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n" * 50])
def test_white_space_alone_makes_no_pieces(text: str) -> None:
    assert split(text, 20) == []


def test_emoji_count_as_two_units() -> None:
    assert utf16_length("👍a") == 3
    assert split("👍" * 5, 4) == ["👍👍", "👍👍", "👍"]


def test_another_measure_counts_its_own_units() -> None:
    assert split("👍" * 5, 4, measure=len) == ["👍👍👍👍", "👍"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("First here.\nstill\n\nSecond here. More", ["First here.\nstill", "Second here. More"]),
        ("First here. still\nSecond here. More", ["First here. still", "Second here. More"]),
        ("First sentence. Second is here, longer", ["First sentence.", "Second is here, longer"]),
        ("some words and no sentence ends in it", ["some words and no", "sentence ends in it"]),
        ("x" * 30, ["x" * 24, "x" * 6]),
        ("一二三四五六七八九十一二三四五。" * 2, ["一二三四五六七八九十一二三四五。"] * 2),
    ],
)
def test_a_cut_is_made_at_the_best_boundary(text: str, pieces: list[str]) -> None:
    assert split(text, 24) == pieces


def test_a_long_code_block_is_closed_and_opened_again_with_its_language() -> None:
    lines = [f"    line_{number} = {number}" for number in range(20)]
    pieces = split("\n".join(["Look:", "```python", *lines, "```", "Done."]), 120)

    assert len(pieces) > 2
    assert pieces[0].startswith("Look:\n```python\n    line_0")
    assert all(piece.startswith("```python\n    line_") for piece in pieces[1:])
    assert all("\n```" in piece for piece in pieces)
    assert pieces[-1].endswith("\n```\nDone.")


def test_a_code_block_that_fits_into_a_piece_is_not_cut() -> None:
    code = "```sh\n" + "echo hello\n" * 6 + "```"

    assert split("Some words before it.\n" * 3 + code, 120) == [("Some words before it.\n" * 3).strip(), code]


def test_a_limit_below_one_character_is_an_error() -> None:
    with pytest.raises(ValueError, match="too small"):
        split("👍👍", 1)


@pytest.mark.parametrize(
    "piece", ["x", "word ", "👍🏽", "🇩", "e\u0301\u0301", "\n```py\n", "a\n\n", "`", " \n", "```\n~~~\n"]
)
def test_a_million_characters_are_cut_within_the_timeout(piece: str) -> None:
    text = piece * (1_000_000 // len(piece)) + "end"

    assert split(text, 4096)[-1].endswith("end")
