"""What is pasted, quoted, forwarded or sent along, and where sentences end. FEATURES A7."""

from __future__ import annotations

import pytest

from bot.compaction.facts.candidates import candidates_of
from bot.compaction.facts.fact import Fact, FactKind, Speaker
from bot.compaction.facts.life import merged
from bot.compaction.facts.quotes import QUOTED, parts_of
from bot.compaction.facts.speech import sentences_in
from bot.history import Entry, EntryKind
from bot.messages import Block, text_block
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


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Адрес: ул. Ленина, д. 12, кв. 5.", ["Адрес: ул. Ленина, д. 12, кв. 5."]),
        ("Заплатил 1 200 руб. Чек лежит на почте.", ["Заплатил 1 200 руб.", "Чек лежит на почте."]),
        ("Er wohnt z.B. in der Hauptstraße, ca. 3 km weg.", ["Er wohnt z.B. in der Hauptstraße, ca. 3 km weg."]),
        ("Dr. Smith works there today. My code is 4411.", ["Dr. Smith works there today.", "My code is 4411."]),
        ("Mein Flug ist am 3. Mai um 9 Uhr.", ["Mein Flug ist am 3. Mai um 9 Uhr."]),
        ("你好世界。我很好吗？", ["你好世界。", "我很好吗？"]),
        ("मुझे चाय पसंद है। कॉफ़ी नहीं।", ["मुझे चाय पसंद है।", "कॉफ़ी नहीं।"]),
        (
            "Please buy:\n- milk\n- two lemons\n\nThanks a lot, really.",
            ["Please buy: - milk - two lemons", "Thanks a lot, really."],
        ),
        ("NEVER CALL ME BEFORE NINE!", ["NEVER CALL ME BEFORE NINE!"]),
        ("etc. etc.", ["etc. etc."]),
    ],
)
def test_a_line_is_a_sentence_or_a_list_with_what_introduces_it_word_for_word(text: str, lines: list[str]) -> None:
    assert sentences_in(text) == lines


def test_a_sentence_that_is_too_long_is_cut_between_words_and_marked_and_nothing_of_it_is_out_of_reach() -> None:
    words = [f"word{at}" for at in range(200)]
    texts = [fact.text for fact in facts(said(1, " ".join(words)))]
    assert all(len(text) <= 320 for text in texts)
    assert " ".join(text.removesuffix(" …") for text in texts).split() == words
    assert all(text.endswith(" …") for text in texts[:-1])


PICTURE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
DOCUMENT: Block = {"type": "document", "title": "lease.pdf", "source": {}}


@pytest.mark.parametrize(
    ("blocks", "note"),
    [
        ((PICTURE,), "[sent a picture]"),
        ((PICTURE, PICTURE, text_block("Which chair is higher?")), "[sent 2 pictures] Which chair is higher?"),
        ((DOCUMENT, text_block("请总结。")), "[sent a document: lease.pdf] 请总结。"),
    ],
)
def test_a_picture_or_document_that_goes_leaves_a_note(blocks: tuple[Block, ...], note: str) -> None:
    assert note in [fact.text for fact in facts(Entry(1, "user", blocks, EntryKind.SAID))]


def test_the_note_of_a_picture_takes_no_task_back() -> None:
    found = facts(
        said(1, "Book a hotel in Rome."),
        Entry(2, "user", (PICTURE, text_block("Is the hotel in Rome cancelled?")), EntryKind.SAID),
    )
    assert "Book a hotel in Rome." in [fact.text for fact in found if fact.status == "active"]
