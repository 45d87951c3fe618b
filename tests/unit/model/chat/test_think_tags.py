"""Thoughts between tags, in pieces of any length."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.chat.think_tags import ThinkTags


def apart(*pieces: str, is_cut: bool = False) -> tuple[str, str]:
    """What was thought, and what was said."""
    tags = ThinkTags()
    said = "".join([*(tags.take(piece) for piece in pieces), tags.end(is_cut=is_cut)])
    return tags.thought, said


@pytest.mark.parametrize(
    ("whole", "thought", "said"),
    [
        ("<think>Hm.</think>Yes.", "Hm.", "Yes."),
        ("\n<think>\nHm.\n</think>\n\nYes.\n", "\nHm.\n", "Yes.\n"),
        ("<think></think>Yes.", "", "Yes."),
        ("<think>Is 1 </ 2, or </thin?</think> No </think>, yes.", "Is 1 </ 2, or </thin?", "No </think>, yes."),
        ("Yes.", "", "Yes."),
        ("  <thinly> sliced", "", "  <thinly> sliced"),
        ("R1 writes <think>Hm.</think> first.", "", "R1 writes <think>Hm.</think> first."),
        ("```\n<think>Hm.</think>\n```", "", "```\n<think>Hm.</think>\n```"),
        ("<thi", "", "<thi"),
        ("<think>Never closed.", "", "<think>Never closed."),
        ("", "", ""),
    ],
)
def test_what_is_thought_and_what_is_said_are_the_same_in_one_piece_and_character_by_character(
    whole: str, thought: str, said: str
) -> None:
    assert apart(whole) == (thought, said)
    assert apart(*whole) == (thought, said)


def test_an_answer_that_was_cut_in_its_thoughts_says_nothing() -> None:
    assert apart("<think>Let me see, </thi", is_cut=True) == ("Let me see, </thi", "")


@given(st.text(alphabet="<think>/ a\n", max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_nothing_is_lost_but_tags_and_the_gap_behind_them(whole: str, places: list[int]) -> None:
    pieces = [whole[start:end] for start, end in pairwise([0, *sorted(places), len(whole)])]
    thought, said = apart(*pieces)
    assert (thought, said) == apart(whole)
    if not thought:
        assert whole.replace("<think></think>", "", 1).strip() == said.strip()
    else:
        assert f"<think>{thought}</think>" in whole
        assert whole.endswith(said)
