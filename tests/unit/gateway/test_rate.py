"""How often somebody may do something."""

from __future__ import annotations

from bot.gateway.admission import WINDOW_SECONDS, Rate


def test_a_bucket_is_empty_after_its_limit_and_fills_again_with_time() -> None:
    rate = Rate(2)
    assert [rate.allows("ada", 0.0) for _ in range(3)] == [True, True, False]
    assert rate.allows("ada", WINDOW_SECONDS / 2)
    assert not rate.allows("ada", WINDOW_SECONDS / 2)


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    rate = Rate(100)
    assert rate.allows("ada", WINDOW_SECONDS)
    assert rate.allows("ada", 0.0)
    assert rate.allows("ada", 0.0)
