"""When a summary just before the prompt cache expires is worth its price."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction import quiet
from bot.compaction.gate import Restraint
from bot.compaction.quiet import LEAD_SECONDS, Forecast, Habit, Rates
from tests.unit.entries import full

HOUR = Rates(write=4e-6, read=0.2e-6, reading=0.2e-6, writing=10e-6)
FIVE_MINUTES = Rates(write=2.5e-6, read=0.2e-6, reading=0.2e-6, writing=10e-6)
ELSEWHERE = Rates(write=4e-6, read=0.2e-6, reading=2e-6, writing=10e-6)
NEW = Habit()
REGULAR = Habit(late=8, early=0, turns=80)
IN_TIME = Habit(late=0, early=5, turns=40)


@pytest.mark.parametrize(
    ("forecast", "rates", "habit", "worth"),
    [
        pytest.param(
            Forecast(60_000, 12_000, 3_000), HOUR, NEW, True, id="an hour's cache, and nothing known of the habits"
        ),
        pytest.param(
            Forecast(60_000, 12_000, 3_000),
            FIVE_MINUTES,
            NEW,
            False,
            id="five minutes' cache: an even chance is little",
        ),
        pytest.param(
            Forecast(60_000, 12_000, 3_000), FIVE_MINUTES, REGULAR, True, id="five minutes, and always gone on with"
        ),
        pytest.param(Forecast(60_000, 12_000, 3_000), HOUR, IN_TIME, False, id="somebody who comes back just in time"),
        pytest.param(Forecast(60_000, 12_000, 3_000), ELSEWHERE, NEW, False, id="a summary that reads no cache"),
        pytest.param(
            Forecast(60_000, 12_000, 3_000),
            ELSEWHERE,
            REGULAR,
            True,
            id="the same, where it will surely be gone on with",
        ),
        pytest.param(Forecast(60_000, 55_000, 3_000), HOUR, REGULAR, False, id="hardly anything would go"),
        pytest.param(Forecast(60_000, 60_000, 0), HOUR, REGULAR, False, id="nothing would go"),
        pytest.param(Forecast(60_000, 50_000, 0), FIVE_MINUTES, NEW, True, id="without a model it costs nothing"),
    ],
)
def test_it_is_worth_it_when_what_is_to_be_expected_clearly_pays(
    forecast: Forecast, rates: Rates, habit: Habit, *, worth: bool
) -> None:
    assert quiet.expected(forecast, rates, habit).is_worth_it is worth


@given(
    st.builds(Forecast, st.integers(1_000, 500_000), st.integers(0, 1_000_000), st.integers(1, 8_000)),
    st.sampled_from([HOUR, FIVE_MINUTES, ELSEWHERE]),
    st.integers(0, 50),
    st.integers(0, 50),
)
def test_it_is_never_worth_more_where_less_goes_or_fewer_came_back(
    forecast: Forecast, rates: Rates, late: int, early: int
) -> None:
    turns = late + early + 1
    one = quiet.expected(forecast, rates, Habit(late, early, turns))
    if forecast.after >= forecast.before:
        assert not one.is_worth_it
    else:
        more_left = quiet.expected(replace(forecast, after=forecast.after + 1), rates, Habit(late, early, turns))
        assert more_left.gain <= one.gain
        assert quiet.expected(forecast, rates, Habit(late, early + 1, turns)).gain <= one.gain
    assert (
        quiet.expected(replace(forecast, summary=forecast.summary + 1), rates, Habit(late, early, turns)).cost
        > one.cost
    )
    assert 0 < Habit(late, early, turns).chance < 1


def test_habits_are_the_pauses_that_outlived_the_cache_and_those_that_only_just_did_not() -> None:
    assert Habit.of([10.0, 299.0, 271.0, 300.0, 40_000.0], life=300.0) == Habit(late=2, early=2, turns=6)
    assert Habit.of([], life=300.0).chance == 0.5


def test_the_moment_is_before_the_cache_expires_and_over_when_it_may_have() -> None:
    at = quiet.moment(1_000.0, 300.0)
    assert at == 1_300.0 - LEAD_SECONDS
    assert not quiet.is_late(at, at + 1)
    assert quiet.is_late(at, 1_299.0)


@pytest.mark.parametrize(
    ("total", "restraint", "may"),
    [
        (250, Restraint(), True),
        (249, Restraint(), False),
        (900, Restraint(paused=True), False),
        (900, Restraint(cooldown=1), False),
        (900, Restraint(skipping=True), False),
    ],
)
def test_short_conversations_and_those_just_undone_or_compacted_are_left_alone(
    total: int, restraint: Restraint, may: bool
) -> None:
    assert quiet.may_come(full(total), restraint, smallest=0.25) is may


def test_a_summary_is_taken_to_be_as_long_as_the_last_one() -> None:
    assert quiet.summary_tokens(10_000, last=0) == 1_000
    assert quiet.summary_tokens(500_000, last=0) == 4_000
    assert quiet.summary_tokens(500_000, last=7_321) == 7_321
