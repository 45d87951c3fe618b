"""Whether to compact before a request, and after a reply. FEATURES A1, T5."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction import STRATEGIES
from bot.compaction.gate import COOLDOWN, Gate, Restraint, after_reply, ahead_margin, before_request, is_automatic
from bot.compaction.strategies.reset import Reset
from bot.estimate import Level, Meter
from tests.unit.entries import full

FREE = Restraint()
PAUSED = Restraint(paused=True)
SKIPPING = Restraint(skipping=True, cooldown=1)
LEVELS = {"ok": full(100), "warning": full(800), "critical": full(950), "over": full(1_001)}


def gate(level: str, restraint: Restraint = FREE, *, running: bool = False, automatic: bool = True) -> Gate:
    meter = LEVELS[level]
    return before_request(meter, meter.level(0.75, 0.9), restraint, running=running, automatic=automatic)


@pytest.mark.parametrize(
    ("level", "restraint", "running", "expected"),
    [
        ("ok", FREE, False, Gate.GO_ON),
        ("ok", FREE, True, Gate.GO_ON),
        ("warning", FREE, False, Gate.COMPACT),
        ("warning", FREE, True, Gate.GO_ON),
        ("warning", PAUSED, False, Gate.GO_ON),
        ("warning", SKIPPING, False, Gate.GO_ON),
        ("critical", FREE, False, Gate.COMPACT),
        ("critical", FREE, True, Gate.JOIN),
        ("critical", PAUSED, False, Gate.COMPACT),
        ("critical", SKIPPING, False, Gate.GO_ON),
        ("critical", SKIPPING, True, Gate.JOIN),
        ("over", FREE, False, Gate.COMPACT),
        ("over", PAUSED, False, Gate.COMPACT),
        ("over", SKIPPING, False, Gate.COMPACT),
        ("over", SKIPPING, True, Gate.JOIN),
    ],
)
def test_what_comes_before_a_request(level: str, restraint: Restraint, running: bool, expected: Gate) -> None:
    assert gate(level, restraint, running=running) is expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("running", [True, False])
def test_turned_off_nothing_is_compacted_unasked(level: str, running: bool) -> None:
    assert gate(level, running=running, automatic=False) is Gate.GO_ON


@pytest.mark.parametrize(
    ("warning", "on"), [(0.75, True), (0.01, True), (0, False), (-1, False), (1, False), (2, False)]
)
def test_a_warning_level_outside_of_0_to_1_turns_it_off(warning: float, on: bool) -> None:
    assert is_automatic(warning) is on


def test_two_messages_after_a_compaction_are_skipped() -> None:
    restraint = FREE.compacted()
    assert restraint.skipping, "the message that it was made for is not compacted again"
    skipped = []
    for _ in range(COOLDOWN + 2):
        restraint = restraint.next_message()
        skipped.append(restraint.skipping)
    assert skipped == [True, True, False, False]


@given(st.lists(st.sampled_from(("ok", "warning", "critical")), max_size=30), st.booleans())
def test_however_full_it_is_unasked_compactions_are_three_messages_apart(levels: list[str], ahead: bool) -> None:
    restraint, compacted = FREE, []
    for message, level in enumerate(levels):
        restraint = restraint.next_message()
        for _ in ("the first request", "after a tool ran"):
            if gate(level, restraint) is Gate.COMPACT:
                restraint = restraint.compacted()
                compacted.append(message)
        if after_reply(LEVELS[level].level(0.75, 0.9), restraint, automatic=ahead):
            restraint = restraint.compacted()
            compacted.append(message)
    assert all(then - first > COOLDOWN for first, then in pairwise(compacted))


def test_an_undo_pauses_and_a_compaction_ends_the_pause() -> None:
    assert SKIPPING.undone() == PAUSED
    assert PAUSED.next_message().paused
    assert not PAUSED.compacted().paused
    assert PAUSED.begun_afresh() == SKIPPING.begun_afresh() == FREE


@pytest.mark.parametrize(
    ("meter", "restraint", "ahead", "expected"),
    [
        (full(699), FREE, True, False),
        (full(700), FREE, True, True),
        (full(700), FREE, False, False),
        (full(700), PAUSED, True, False),
        (full(700), SKIPPING, True, False),
        (full(700), Restraint(cooldown=1), True, False),
        (full(2_000), FREE, True, True),
    ],
)
def test_ahead_begins_five_percent_below_the_warning(
    meter: Meter, restraint: Restraint, ahead: bool, expected: bool
) -> None:
    soon = Reset().level(meter.raised(ahead_margin(Reset())))
    assert after_reply(soon, restraint, automatic=ahead) is expected


@pytest.mark.parametrize(("name", "begins"), [("tiered", 0.6), ("segmented", 0.8), ("memory", 0.8), ("reset", 0.7)])
def test_ahead_never_begins_below_the_level_of_a_strategy_whose_document_names_one(name: str, begins: float) -> None:
    strategy = STRATEGIES[name]
    levels = [strategy.level(full(round(1_000 * begins) + more).raised(ahead_margin(strategy))) for more in (-1, 0)]
    assert levels == [Level.OK, Level.WARNING]


def test_the_level_alone_decides_below_the_limit() -> None:
    assert before_request(full(10), Level.CRITICAL, FREE, running=False, automatic=True) is Gate.COMPACT
