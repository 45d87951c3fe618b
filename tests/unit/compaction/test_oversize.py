"""What cannot be compacted away is named, and taken out of the way where that can be done."""

from __future__ import annotations

import pytest

from bot.compaction.oversize import Blame, Bound, blame, last_words
from bot.estimate import Part
from bot.history import Entry, EntryKind, History
from bot.messages import text_block
from tests.unit.entries import full, history, replied, returned, said, shown


def blamed(page: History, total: int, *, head: int = 50, factor: float = 1.0, surely: bool = False) -> Blame | None:
    return blame(page, full(total), head, factor, surely=surely)


def covered(page: History, found: Blame) -> History:
    assert found.plan
    layer, inserted = found.plan.layer(1, page.last_seq + 1, run=None)
    return page.covered(layer, inserted)


def test_a_head_that_fills_the_limit_is_to_blame_and_nothing_can_be_done_about_it() -> None:
    found = blamed(history(said(1, "hi", turn="t")), 1_200, head=1_000)
    assert found
    assert "system prompt and the tools" in found.sentence
    assert "AGENTS__EMERGENCY_CONTEXT_LIMIT" in found.sentence
    assert found.plan is None


def test_a_conversation_that_can_be_compacted_is_not_to_blame() -> None:
    page = history(said(1, "one", turn="t", tokens=900), replied(2, "two", tokens=900), said(3, "now?", turn="u"))
    assert blamed(page, 1_900) is None


def test_one_message_that_does_not_fit_is_to_blame_and_shown_in_part_from_then_on() -> None:
    page = history(said(1, "x" * 9_000, turn="t", tokens=960))
    found = blamed(page, 1_010)
    assert found
    assert found.sentence.startswith("Your message alone is too large for the model: about 960 tokens, and 950 fit.")
    assert len(shown(covered(page, found))[0][1][0]) < 600


def test_a_guess_is_corrected_before_anyone_is_blamed() -> None:
    page = history(said(1, "x", turn="t", tokens=600))
    assert blamed(page, 1_010) is None
    assert blamed(page, 1_010, factor=2.0)


def test_a_tool_result_that_does_not_fit_is_to_blame_and_stays_a_result() -> None:
    page = history(
        said(1, "look", turn="t"), replied(2, "", "a", turn="t"), returned(3, "a", "y" * 9_000, tokens=990, turn="t")
    )
    found = blamed(page, 1_100)
    assert found
    assert "result of a tool" in found.sentence
    after = covered(page, found)
    assert shown(after)[-1] == ("user", ["tool_result a"])
    assert "yyy" in after.visible[-1].blocks[0]["content"]


def test_a_file_that_does_not_fit_is_to_blame_and_leaves_the_view_but_for_its_beginning() -> None:
    file = Entry(2, "user", (text_block("[File: a.txt]\n" + "z" * 9_000),), EntryKind.FILE, tokens=990, turn="t")
    page = history(said(1, "look", turn="t"), file)
    found = blamed(page, 1_100)
    assert found
    assert found.sentence.startswith("Your file alone is too large for the model: about 990 tokens, and 950 fit.")
    after = covered(page, found)
    assert shown(after)[0][1][0] == "look"
    assert len(str(shown(after))) < 700


def test_what_an_earlier_turn_said_is_never_to_blame() -> None:
    page = history(said(1, "x", turn="t", tokens=5_000), replied(2, "so"), said(3, "now?", turn="u", tokens=5))
    assert blamed(page, 5_100) is None


def test_when_nothing_else_can_go_the_largest_part_is_to_blame_even_if_it_would_fit() -> None:
    page = history(said(1, "x" * 900, turn="t", tokens=400))
    assert blamed(page, 1_100) is None
    found = blamed(page, 1_100, surely=True)
    assert found
    assert found.plan


def test_when_nothing_is_large_the_parts_are_listed_and_nothing_is_hidden() -> None:
    page = history(said(1, "x", turn="t", tokens=10))
    meter = full(0, parts=[Part("system prompt", 700), Part("tools", 0), Part("conversation", 400)])
    found = blame(page, meter, 700, 1.0, surely=True)
    assert found == Blame(
        "The context cannot be made smaller than 1,100 of 1,000 tokens (system prompt 700, conversation 400). "
        "The largest part is the system prompt and the tools, about 700 tokens. "
        "A new session has them too: shorten SYSTEM_PROMPT, offer fewer tools, or take a model with a larger window "
        "(AGENTS__EMERGENCY_CONTEXT_LIMIT makes none larger)."
    )


@pytest.mark.parametrize(
    ("bound", "more"),
    [
        (Bound(8_000, 6_000, 4_000), "raise AGENTS__EMERGENCY_CONTEXT_LIMIT (the model's window has room for 6,000)."),
        (Bound(8_000, 6_000, 16_000, refused=True), "take a model with a larger window"),
        (Bound(8_000, 6_000), "take a model with a larger window"),
        (Bound(200_000, 180_000, 4_000, known=False), "raise AGENTS__EMERGENCY_CONTEXT_LIMIT if the model's window is"),
    ],
)
def test_nobody_is_told_to_raise_the_limit_above_the_window(bound: Bound, more: str) -> None:
    found = blame(history(said(1, "hi", turn="t")), full(1_200), 1_000, 1.0, bound=bound)
    assert found
    assert more in found.sentence


@pytest.mark.parametrize(
    ("bound", "is_told"),
    [
        (Bound(8_000, 6_000, 16_000, refused=True, listed=8_000), True),
        (Bound(8_000, 6_000, refused=True), True),
        (Bound(8_000, 6_000, refused=True, listed=20_000), True),
        (Bound(8_000, 6_000, refused=True, listed=8_000), False),
        (Bound(8_000, 6_000, 4_000, refused=True), False),
        (Bound(8_000, 6_000, 16_000), False),
    ],
)
def test_where_a_limit_comes_from_is_told_where_that_is_news(bound: Bound, *, is_told: bool) -> None:
    assert bool(bound.told) is is_told


def test_the_sizes_that_are_told_are_no_contradiction() -> None:
    page = history(said(1, "x" * 900, turn="t", tokens=400))
    found = blamed(page, 1_100, surely=True)
    assert found
    assert "about 400 tokens by my count, which is more than its server takes just now" in found.sentence


@pytest.mark.parametrize(
    ("page", "part", "remedy"),
    [
        (
            history(said(1, "x", turn="t", tokens=400)),
            "your message, about 400 tokens",
            "Send it in parts, or shorter.",
        ),
        (
            history(said(1, "x", turn="s", tokens=900), said(2, "y", turn="t", tokens=9)),
            "what was said before, about 900 tokens",
            "A new session begins without it.",
        ),
        (
            history(said(1, "look", turn="t"), replied(2, "", "a", turn="t"), returned(3, "a", tokens=500, turn="t")),
            "the result of a tool, about 500 tokens",
            "Ask for a smaller part of it.",
        ),
        (history(said(1, "x", turn="t", tokens=9)), "the system prompt and the tools, about 50 tokens", "shorten"),
    ],
)
def test_the_last_words_name_the_largest_part_and_what_would_help(page: History, part: str, remedy: str) -> None:
    told = last_words(page, full(1_100), 50, 1.0, Bound(2_000, 1_000))
    assert part in told
    assert remedy in told


def test_a_page_without_any_request_is_nobodys_fault_but_its_sizes() -> None:
    found = blamed(History(), 1_100, surely=True)
    assert found
    assert found.plan is None


def test_what_was_shown_in_part_already_is_not_cut_again() -> None:
    page = history(said(1, "x" * 9_000, turn="t", tokens=1_100))
    found = blamed(page, 1_200)
    assert found
    again = blamed(covered(page, found), 1_200, surely=True)
    assert again
    assert again.plan is None
