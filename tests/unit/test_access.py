"""Who may talk to the bot."""

from __future__ import annotations

import pytest

from bot.access import Access, refusal
from bot.messages import Address

GROUP = Address("telegram", "-100123", "7")


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ("telegram:42", True),
        ("telegram:-100123", True),
        ("discord:42", False),
        ("telegram:4", False),
        ("telegram:421", False),
        ("42", False),
        ("telegram:7", False),
        ("", False),
    ],
)
def test_a_person_or_a_chat_on_the_list_may_talk(allowed: str, expected: bool) -> None:
    assert Access("allowlist", frozenset({allowed})).may_talk(GROUP, "42") is expected


def test_nobody_may_talk_until_somebody_is_named() -> None:
    assert not Access("allowlist", frozenset()).may_talk(GROUP, "42")


def test_the_person_at_the_terminal_may_always_talk() -> None:
    assert Access("allowlist", frozenset()).may_talk(Address("terminal", "me"), "me")


def test_an_open_bot_talks_to_everybody() -> None:
    assert Access("open", frozenset()).may_talk(GROUP, "anybody")


def test_a_refusal_says_what_to_add_and_that_nothing_was_kept() -> None:
    text = refusal(GROUP, "42")
    assert "telegram:42" in text
    assert "ALLOW" in text
    assert "Nothing you wrote was kept." in text
