"""What tokens cost, where it is known."""

from __future__ import annotations

import pytest

from bot.history import Usage
from bot.runtime.prices import Price, cost, learn
from bot.runtime.providers import DEFAULT_MODEL

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(), 0.0),
        (Usage(input=MILLION), 3.0),
        (Usage(output=MILLION), 15.0),
        (Usage(cache_read=MILLION), 0.3),
        (Usage(cache_creation=MILLION), 3.75),
        (Usage(cache_creation=MILLION, hourly=MILLION), 6.0),
        (Usage(cache_creation=MILLION, hourly=MILLION // 2), 4.875),
        (Usage(searches=100), 1.0),
        (Usage(MILLION, MILLION, MILLION, MILLION), 22.05),
    ],
)
def test_reading_from_the_cache_costs_a_tenth_and_writing_to_it_a_quarter_more_or_twice(
    usage: Usage, dollars: float
) -> None:
    assert cost("claude-sonnet-4-5-20250929", usage) == pytest.approx(dollars)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [("claude-sonnet-5", 2.0), ("claude-opus-5-5", 4.0), ("claude-opus-5", 5.0), ("claude-fable-5-1", 10.0)],
)
def test_a_model_is_known_by_the_longest_beginning_of_its_name(model: str, dollars: float) -> None:
    assert cost(model, Usage(input=MILLION)) == dollars


def test_the_default_model_has_a_price() -> None:
    assert cost(DEFAULT_MODEL, Usage(input=MILLION)) is not None


@pytest.mark.parametrize("model", ["a-model-of-2030", "", "smollm2", "claude-haiku-5-5"])
def test_a_price_that_is_not_known_is_not_guessed(model: str) -> None:
    assert cost(model, Usage(input=MILLION)) is None


def test_models_of_other_makers_cost_what_their_documentation_says() -> None:
    usage = Usage(input=MILLION, cache_read=MILLION, output=MILLION)
    assert cost("gpt-6-sol", usage) == pytest.approx(2.0 + 0.2 + 10.0)


def test_a_price_that_a_provider_lists_is_learned() -> None:
    learn("somebody/large", Price(1.0, 3.0, 0.5))
    assert cost("somebody/large", Usage(input=MILLION, cache_read=MILLION)) == pytest.approx(1.5)
