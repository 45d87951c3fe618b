"""A conversation of 300 turns that outgrows the model's window many times over, by each strategy."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest

from bot.compaction import STRATEGIES
from bot.compaction.gate import COOLDOWN
from tests.bench.sawtooth.conversation import TURNS, Asks, conversation
from tests.bench.sawtooth.picture import picture
from tests.bench.sawtooth.running import WINDOW, Course, course_of
from tests.servers.messages.wire import tokens_of_text

DOCS = Path(__file__).parents[3] / "docs"
# Whichever test comes first holds the conversation, on a busy machine too.
pytestmark = [pytest.mark.rest, pytest.mark.timeout(300)]

UNDOS = 3
NEARLY = 1.005
"""The server counts what the meter estimates as far as it is newer than the last answer."""
SUMMARISING = frozenset({"reset", "segmented", "two_phase"})
"""Strategies that bring everything that goes into a summary, at these sizes."""

_courses: dict[str, Course] = {}


HELD = sorted(STRATEGIES) if "LONG" in os.environ else ["memory", "two_phase"]
"""Each conversation takes a third of a minute, so that only those that differ most are held; with LONG=1 all are."""


@pytest.fixture(params=HELD)
def course(request: pytest.FixtureRequest, tmp_path: Path) -> Course:
    """The whole conversation by one strategy: it is held once, and looked at by each test."""
    if request.param not in _courses:
        _courses[request.param] = asyncio.run(course_of(request.param, conversation(), tmp_path / "data", undos=UNDOS))
    return _courses[request.param]


def test_the_conversation_is_the_same_every_time() -> None:
    assert conversation() == conversation()
    assert len(conversation()) == TURNS


def test_every_message_is_answered_and_no_request_is_refused(course: Course) -> None:
    assert [turn.line.text for turn in course.turns if not turn.is_answered] == []
    assert course.refused == ()
    assert len(course.turns) == TURNS


def test_the_context_is_never_over_the_limit_when_the_model_is_asked(course: Course) -> None:
    assert course.largest_request <= course.limit * NEARLY < WINDOW
    over = [turn for turn in course.turns if turn.total - tokens_of_text(turn.reply) > course.limit * NEARLY]
    assert over == []


def test_it_is_compacted_many_times_and_not_in_circles(course: Course) -> None:
    assert 10 < len(course.compactions) < TURNS / 3
    for first, then in pairwise(course.compactions):
        if then.trigger in ("ahead", "auto") and then.before <= course.limit:
            assert then.turn - first.turn > COOLDOWN, f"{first} is followed at once by {then}"


def test_a_recovery_brings_the_context_below_the_limit_at_once(course: Course) -> None:
    recoveries = [one for one in course.done if one.trigger == "recovery"]
    assert [one for one in recoveries if one.after > course.limit] == []
    assert set(Counter(one.turn for one in recoveries).values()) <= {1}


def test_every_compaction_frees_something_and_is_told_in_one_message(course: Course) -> None:
    assert [one for one in course.compactions if one.freed <= 0] == []
    told = [notice for notice in course.notices if notice.startswith("🗜")]
    assert len(told) == len(course.compactions)
    assert all("Compacted:" in notice for notice in told)


def test_what_was_just_said_is_known_and_every_file_can_be_looked_into_again(course: Course) -> None:
    assert course.turns[-1].is_right
    assert [turn.line.text for turn in course.asked(Asks.FILE) if not turn.is_right] == []


def test_a_strategy_that_summarises_forgets_next_to_nothing(course: Course) -> None:
    asked = course.asked(Asks.NEAR, Asks.FAR)
    wrong = [turn.line.text for turn in asked if not turn.is_right]
    assert (len(wrong) <= 0.1 * len(asked)) or course.strategy not in SUMMARISING, wrong


@pytest.mark.long
def test_each_undo_takes_off_one_layer_and_gives_back_the_page_beneath(course: Course) -> None:
    layers = len(course.done)
    assert [(undo.layers_before, undo.layers_after) for undo in course.undone] == [
        (layers - taken, layers - taken - 1) for taken in range(UNDOS)
    ]
    assert all(undo.same_page for undo in course.undone)


def test_its_picture_is_small_and_says_in_words_what_it_shows(course: Course) -> None:
    drawn = picture(course)
    assert len(drawn.encode()) < 60_000
    assert f"{len(course.done)} compactions" in drawn
    assert drawn.count('class="meter"') == 1
    assert "<script" not in drawn


def test_the_page_about_strategies_has_each_with_its_picture_and_its_options() -> None:
    page = (DOCS / "strategies.md").read_text(encoding="utf-8")
    for name, strategy in STRATEGIES.items():
        assert f"\n## `{name}`\n\n![The context with {name}](pictures/strategy-{name}.svg)\n" in page
        assert (DOCS / "pictures" / f"strategy-{name}.svg").exists()
        assert f"\n| `{name}` |" in page, "what it did in the long conversation"
        for option in fields(strategy.options):
            if option.name not in ("warning", "critical"):
                value = getattr(strategy.options, option.name)
                default = ", ".join(value) if isinstance(value, tuple) else str(value).lower()
                assert f"\n| `STRATEGY__{name.upper()}__{option.name.upper()}` | {default} |" in page
