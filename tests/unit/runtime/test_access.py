"""Who may talk to the bot."""

from __future__ import annotations

import pytest

from bot.messages import Address, Inbound
from bot.runtime.access import Access, refusal

GROUP = Address("telegram", "-100123", "7")


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ("telegram:42", True),
        ("telegram:-100123", False),
        ("discord:42", False),
        ("telegram:4", False),
        ("telegram:421", False),
        ("42", False),
        ("telegram:7", False),
        ("", False),
    ],
)
def test_a_person_on_the_list_may_talk_and_a_group_vouches_for_nobody(allowed: str, expected: bool) -> None:
    assert Access("allowlist", frozenset({allowed})).may_talk(GROUP, "42") is expected


def test_nobody_may_talk_until_somebody_is_named() -> None:
    assert not Access("allowlist", frozenset()).may_talk(GROUP, "42")


def test_the_person_at_the_terminal_may_always_talk() -> None:
    assert Access("allowlist", frozenset()).may_talk(Address("terminal", "me"), "me")


def test_an_open_bot_talks_to_everybody() -> None:
    assert Access("open", frozenset()).may_talk(GROUP, "anybody")


def test_who_was_let_in_by_a_code_may_talk_only_where_codes_count() -> None:
    assert Access("pairing", frozenset()).may_talk(GROUP, "42", {"42"})
    assert not Access("pairing", frozenset()).may_talk(GROUP, "42", {"43"})
    assert not Access("allowlist", frozenset()).may_talk(GROUP, "42", {"42"})


def test_an_admin_may_talk_and_let_others_in() -> None:
    rules = Access("allowlist", frozenset({"telegram:1"}), frozenset({"telegram:42"}))
    assert rules.may_talk(GROUP, "42")
    assert rules.is_admin(GROUP, "42")
    assert not rules.is_admin(GROUP, "1")


def unknown(speaker: str = "") -> Inbound:
    return Inbound(GROUP, "k", "message", 1, "42", "hello", person_name="Eve", speaker=speaker)


def test_a_refusal_gives_the_code_and_both_ways_to_use_it() -> None:
    text = refusal(unknown(), "pairing", "ABCD-2345")
    assert "palimpsest pair approve ABCD-2345" in text
    assert "/pair ABCD-2345" in text
    assert "Nothing you wrote was kept." in text


def test_no_code_is_given_in_a_group_where_everybody_reads_it() -> None:
    text = refusal(unknown("Eve"), "pairing", "ABCD-2345")
    assert "ABCD" not in text
    assert "private chat" in text


def test_a_refusal_says_what_to_add_and_that_nothing_was_kept() -> None:
    text = refusal(unknown(), "allowlist", None)
    assert "telegram:42" in text
    assert "ALLOW" in text
    assert "Nothing you wrote was kept." in text
