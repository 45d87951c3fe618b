"""How often somebody may do something."""

from __future__ import annotations

from bot.gateway.admission import RATE_SECONDS
from bot.runtime.token_buckets import TokenBuckets


def buckets(size: int) -> TokenBuckets:
    return TokenBuckets(size, RATE_SECONDS, most=3)


def test_a_bucket_is_empty_after_its_limit_and_fills_again_with_time() -> None:
    rate = buckets(2)
    assert [rate.allows("ada", 0.0) for _ in range(3)] == [True, True, False]
    assert rate.allows("ada", RATE_SECONDS / 2)
    assert not rate.allows("ada", RATE_SECONDS / 2)


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    rate = buckets(100)
    assert rate.allows("ada", RATE_SECONDS)
    assert rate.allows("ada", 0.0)
    assert rate.allows("ada", 0.0)


def test_what_happened_without_a_token_is_waited_for_too() -> None:
    rate = buckets(2)
    for _ in range(3):
        rate.take("ada", 0.0)
    assert rate.wait("ada", 0.0) == RATE_SECONDS
    assert rate.wait("ada", RATE_SECONDS / 2) == RATE_SECONDS / 2
    assert (rate.wait("ada", RATE_SECONDS), rate.wait("bob", 0.0)) == (0.0, 0.0)


def test_what_did_not_happen_costs_nothing_and_fills_no_bucket_over_its_edge() -> None:
    rate = buckets(1)
    assert rate.allows("ada", 0.0)
    for _ in range(2):
        rate.give_back("ada")
    rate.give_back("nobody")
    assert [rate.allows("ada", 0.0) for _ in range(2)] == [True, False]


def test_of_a_crowd_those_are_forgotten_that_took_nothing_for_longest() -> None:
    rate = buckets(1)
    for who in ("ada", "bob", "cid", "ada", "dan"):
        rate.allows(who, 0.0)
    assert len(rate) == 3
    assert [rate.wait(who, 0.0) > 0 for who in ("ada", "bob")] == [True, False]


def test_where_there_is_no_limit_nothing_is_counted() -> None:
    rate = buckets(0)
    assert all(rate.allows("ada", 0.0) for _ in range(9))
    assert (rate.wait("ada", 0.0), len(rate)) == (0.0, 0)
