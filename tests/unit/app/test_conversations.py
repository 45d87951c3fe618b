"""What is said of a conversation at this machine's terminal."""

from __future__ import annotations

import pytest

from bot.app.conversations import in_words, left_behind
from bot.history import Usage
from bot.messages import Address
from bot.store.operators.terminal import Used


@pytest.mark.parametrize(
    ("reminders", "name", "said"),
    [
        (0, "me", ""),
        (
            1,
            "me",
            (
                "1 reminder is set: it comes while this conversation is open here. "
                "What is due meanwhile comes with the next `palimpsest chat`."
            ),
        ),
        (
            3,
            "work",
            (
                "3 reminders are set: they come while this conversation is open here. "
                "What is due meanwhile comes with the next `palimpsest chat --agent work`."
            ),
        ),
    ],
)
def test_what_becomes_of_reminders_is_said_where_there_are_any(reminders: int, name: str, said: str) -> None:
    assert left_behind(reminders, Address("terminal", name)) == said


def test_the_model_that_comes_along_costs_nothing_and_no_price_of_it_is_missed() -> None:
    used = Used(1, 1, {"smollm2-135m-instruct": Usage(output=15)})
    assert in_words(used) == "This session: 1 answer · 15 tokens out"


def test_what_has_no_known_price_is_said_beside_what_has_one() -> None:
    used = Used(2, 2, {"claude-sonnet-5": Usage(input=1_000_000), "a-model-of-mine": Usage(output=3)})
    assert in_words(used).endswith(" · $2.00, without what has no known price")
