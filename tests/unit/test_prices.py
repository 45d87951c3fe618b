"""What tokens cost, where it is known."""

from __future__ import annotations

import pytest

from bot.history import Usage
from bot.prices import cost

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(), 0.0),
        (Usage(input=MILLION), 3.0),
        (Usage(output=MILLION), 15.0),
        (Usage(cache_read=MILLION), 0.3),
        (Usage(cache_creation=MILLION), 3.75),
        (Usage(MILLION, MILLION, MILLION, MILLION), 22.05),
    ],
)
def test_reading_from_the_cache_costs_a_tenth_and_writing_to_it_a_quarter_more(usage: Usage, dollars: float) -> None:
    assert cost("claude-sonnet-4-5-20250929", usage) == pytest.approx(dollars)


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gpt-4o", "", "smollm2"])
def test_a_price_that_is_not_known_is_not_guessed(model: str) -> None:
    assert cost(model, Usage(input=MILLION)) is None
