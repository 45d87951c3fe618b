"""One meter: what the provider reported, and a guess of what came since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.estimate import Family, Part, estimate_tokens
from bot.history import Anchor, Entry, EntryKind, History, Layer, Usage
from bot.history.entries import entries_tokens, entry_tokens
from bot.history.measure import calibration, guess, head_parts, measure
from bot.messages import text_block
from tests.unit.entries import history, replied, said

HEAD = (Part("system prompt", 50), Part("tools", 50))


def anchor(tokens: int, *, output: int = 10, stack: tuple[int, ...] = (), guessed: int = 200) -> Anchor:
    return Anchor(Usage(input=tokens - 2, cache_read=1, cache_creation=1, output=output), stack, guessed)


def sizes(page: History, **options: Any) -> dict[str, int]:
    meter = measure(page, HEAD, limit=1_000, **options)
    assert meter.total == sum(part.tokens for part in meter.parts)
    return {part.name: part.tokens for part in meter.parts}


def test_without_a_reported_request_everything_is_guessed() -> None:
    page = history(said(1, "hi", tokens=10), replied(2, "hello", tokens=20))
    meter = measure(page, HEAD, limit=1_000)
    assert (meter.total, meter.source, meter.limit) == (130, "estimate", 1_000)
    assert sizes(page) == {"system prompt": 50, "tools": 50, "summary": 0, "conversation": 30}


def test_guesses_are_corrected_by_what_the_provider_counted_before() -> None:
    assert sizes(history(said(1, "hi", tokens=10)), factor=1.5)["conversation"] == 15
    assert measure(history(), HEAD, limit=1_000, factor=1.5).total == 150


def test_after_a_reported_request_only_what_came_since_is_guessed() -> None:
    page = history(
        said(1, "hi", tokens=10), replied(2, "hello", tokens=20, anchor=anchor(400)), said(3, "so", tokens=7)
    )
    meter = measure(page, HEAD, limit=1_000, factor=2.0)
    assert (meter.total, meter.source) == (400 + 10 + 14, "usage")
    assert sizes(page, factor=2.0)["new"] == 14


def test_the_newest_report_counts() -> None:
    page = history(
        said(1, "hi"), replied(2, "a", anchor=anchor(400)), said(3, "so"), replied(4, "b", anchor=anchor(600, output=0))
    )
    assert measure(page, HEAD, limit=1_000).total == 600


def test_a_report_of_another_model_does_not_count_and_that_ones_own_still_does() -> None:
    one, other = replace(anchor(400), model="one"), replace(anchor(900), model="other")
    page = history(
        said(1, "hi", tokens=10), replied(2, "a", tokens=20, anchor=one), said(3, "so", tokens=7),
        replied(4, "b", tokens=5, anchor=other),
    )  # fmt: skip
    assert measure(page.measured_for("one", Family.NEWER), HEAD, limit=1_000).total == 410 + 7 + 5
    assert measure(page.measured_for("other", Family.NEWER), HEAD, limit=1_000).total == 910
    assert measure(page.measured_for("third", Family.NEWER), HEAD, limit=1_000).source == "estimate"


def test_a_model_of_another_family_counts_every_entry_by_its_own_rates_and_back() -> None:
    page = History(tuple(counted(entry) for entry in (said(1, "hi there, all of you"), replied(2, "hello 12345"))))
    older = page.measured_for("claude-3-opus", Family.OLDER)
    assert older.tally.total == sum(entry_tokens(one.role, one.blocks, Family.OLDER) for one in page.entries)
    assert older.tally.total != page.tally.total
    assert older.measured_for("", Family.NEWER) == page


def test_entries_that_are_counted_together_take_what_each_takes_alone() -> None:
    page = [said(1, "hi there, all of you"), replied(2, "hello 12345"), said(3, "Grüße 火星"), said(4, "hi there, all")]
    given = [(one.role, one.blocks) for one in page]
    assert entries_tokens(given, Family.O200K) == [entry_tokens(*one, Family.O200K) for one in given]


def counted(entry: Entry) -> Entry:
    return replace(entry, tokens=entry_tokens(entry.role, entry.blocks, Family.NEWER))


def test_a_report_on_another_stack_of_layers_does_not_count() -> None:
    page = history(said(1, "hi", tokens=10), replied(2, "hello", tokens=20, anchor=anchor(900)))
    covered = page.covered(Layer(1, 2, hidden=((1, 1),)), [])
    assert (measure(covered, HEAD, limit=1_000).total, measure(covered, HEAD, limit=1_000).source) == (120, "estimate")
    assert measure(History(covered.entries), HEAD, limit=1_000).total == 910


def test_a_summary_is_a_part_of_its_own() -> None:
    summary = Entry(3, "user", (text_block("s"),), EntryKind.SUMMARY, tokens=40, layer=1, place=2)
    page = history(said(1, "hi"), said(2, "now?", tokens=5)).covered(Layer(1, 2, hidden=((1, 1),)), [summary])
    assert (sizes(page)["summary"], sizes(page)["conversation"]) == (40, 5)
    anchored = page.appended(replied(4, "so", tokens=5, anchor=anchor(290, stack=(1,))))
    parts = sizes(anchored)
    assert parts["new"] == 0
    assert sum(parts.values()) == 300
    assert parts["summary"] > parts["conversation"]


@pytest.mark.parametrize(
    ("counted", "guessed", "factor"),
    [(200, 200, 1.0), (300, 200, 1.5), (9_000, 200, 3.0), (10, 200, 0.6), (300, 0, 1.0)],
)
def test_a_count_that_is_far_off_is_trusted_within_reason(counted: int, guessed: int, factor: float) -> None:
    assert calibration(anchor(counted, guessed=guessed)) == factor


def test_the_head_is_measured_as_it_is_sent() -> None:
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    prompt, both = head_parts("Be kind.", tools, "claude-test")
    assert prompt.tokens + both.tokens == estimate_tokens([], system="Be kind.", tools=tools, model="claude-test")
    assert head_parts("Be kind.", [], "claude-test")[1] == Part("tools", 0)


def test_the_guess_of_a_request_is_its_head_and_all_that_is_visible() -> None:
    assert guess(HEAD, history(said(1, "hi", tokens=10), replied(2, "a", tokens=5))) == 115


def test_an_entry_is_never_counted_as_nothing() -> None:
    assert entry_tokens("user", [text_block("")], Family.NEWER) >= 1
    assert entry_tokens("user", [text_block("word " * 100)], Family.NEWER) > 100
