"""What is pasted, quoted or forwarded is nobody's own word. FEATURES A7."""

from __future__ import annotations

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.fact import Fact, FactKind, Speaker
from bot.compaction.facts.life import merged
from bot.compaction.quotes import QUOTED, parts_of
from bot.history import Entry
from tests.unit.entries import replied, said

RULES = "Never email Bob. You must pay 500 euros by 3 May. Please book a hotel in Rome."


def facts(*entries: Entry) -> tuple[Fact, ...]:
    return merged(candidates_of(entries)).facts


PASTED = [
    f'Look:\n"""\n{RULES}\n"""',
    f"Look:\n```\n{RULES}\n```",
    "> " + RULES.replace(". ", ".\n> "),
    f"My boss wrote “{RULES}” yesterday.",
    f'My boss wrote "{RULES}" yesterday.',
    f"See below.\n\n---------- Forwarded message ----------\n{RULES}",
    f"From: Ann <ann@x.example>\nDate: today\nSubject: Plans\n\n{RULES}",
    "От: Анна\nТема: планы\n\nНикогда не звони Бобу. Закажи 3 пиццы.",
    "Он написал: «Никогда не звони Бобу. Закажи, пожалуйста, 3 пиццы.»",
    "他说「绝对不要给老王打电话。请帮我订酒店。」",
    "My boss said “you must never email Bob on Fridays”.",
]


@pytest.mark.parametrize("text", PASTED)
def test_what_is_pasted_or_quoted_is_no_rule_and_no_goal(text: str) -> None:
    words = ("email Bob", "must pay", "hotel in Rome", "звони", "Закажи", "老王", "酒店", "预算")
    found = [fact for fact in facts(said(1, text)) if any(word in fact.text for word in words)]
    assert not [fact.text for fact in found if fact.kind is not FactKind.STATEMENT]


def test_the_values_of_what_is_pasted_are_kept_and_said_to_be_quoted() -> None:
    texts = [fact.text for fact in facts(said(1, f'Summarise this:\n"""\n{RULES}\n"""'))]
    assert f"{QUOTED}You must pay 500 euros by 3 May." in texts
    assert not [text for text in texts if not any(char.isalnum() for char in text)]


def test_what_is_quoted_changes_nothing_that_was_said() -> None:
    found = facts(said(1, "The deadline is 3 May."), said(2, "> Actually, the deadline has moved to 11 May.\nOdd."))
    assert "The deadline is 3 May." in [fact.text for fact in found]


def test_a_page_that_the_assistant_quotes_is_no_rule() -> None:
    found = facts(replied(1, "The page says:\n> You must never use port 8080.\n\nThe new port is 9090."))
    assert {(fact.kind, fact.text) for fact in found if "8080" in fact.text} == {
        (FactKind.STATEMENT, f"{QUOTED}You must never use port 8080.")
    }
    assert {fact.speaker for fact in found} == {Speaker.MODEL}


OWN = [
    ("Call me “Big Al” from now on.", FactKind.CONSTRAINT),
    ('Never call the cat "Lady Purr".', FactKind.CONSTRAINT),
    ('Please translate "lock the front door" into Dutch.', FactKind.GOAL),
    ("Please summarise https://a.example/b for me.", FactKind.GOAL),
    ("Never call before 9:00, as I said: it is early.", FactKind.CONSTRAINT),
]


@pytest.mark.parametrize(("text", "kind"), OWN)
def test_the_persons_own_words_around_a_quote_are_theirs(text: str, kind: FactKind) -> None:
    assert [(fact.kind, fact.text) for fact in facts(said(1, text)) if fact.kind is not FactKind.PATH] == [(kind, text)]


def test_what_follows_a_closed_quote_is_the_persons_own() -> None:
    found = facts(said(1, f'Summarise this:\n"""\n{RULES}\n"""\nNever use more than 3 lines.'))
    assert [fact.text for fact in found if fact.kind is FactKind.CONSTRAINT] == ["Never use more than 3 lines."]


@pytest.mark.parametrize("text", ["", '"""', "“", ">", "```", '"""' * 5_000, "“" * 20_000, ">\n" * 10_000])
def test_marks_alone_are_no_words(text: str) -> None:
    assert not any(any(char.isalnum() for char in part) for _, part in parts_of(text))
