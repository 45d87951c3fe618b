"""Where a stretch of time begins and ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.runtime.telemetry import telemetry


@pytest.fixture
def clock() -> Callable[[], float]:
    """Each look at it takes a second."""
    looks = iter(range(100))
    return lambda: float(next(looks))


def test_a_span_lasts_from_where_it_was_made_until_the_end_of_its_block(clock: Callable[[], float]) -> None:
    with telemetry.span("model_request", clock) as span:
        assert (span.name, span.seconds, span.seconds) == ("model_request", 1.0, 2.0), "until now"
    assert (span.seconds, span.seconds) == (3.0, 3.0)


def test_a_span_ends_with_its_block_also_where_that_breaks(clock: Callable[[], float]) -> None:
    span = telemetry.span("turn_tools", clock)
    with pytest.raises(ZeroDivisionError), span:
        _ = 1 / 0
    assert (span.seconds, span.seconds) == (1.0, 1.0)


def test_a_span_that_has_ended_ends_no_second_time(clock: Callable[[], float]) -> None:
    with telemetry.span("first_token", clock) as span:
        span.end()
    assert span.seconds == 1.0
