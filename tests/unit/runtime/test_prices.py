"""What tokens cost, where it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.history import Usage
from bot.runtime.amounts import NANO
from bot.runtime.prices import Price, cost, form_of, learn, nano, read, use
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


@pytest.fixture
def own_prices(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Uses a file with this text until the end of the test."""

    def write(text: str) -> None:
        file = tmp_path / "prices.toml"
        file.write_text(text)
        use(file)

    yield write
    use(None)


def test_a_file_of_prices_counts_before_all_others(own_prices: Callable[[str], None]) -> None:
    own_prices(
        '["claude-sonnet-*"]\ninput = 1.0\noutput = 2.0\ncached = 0.5\nwritten = 3.0\n'
        '[["claude-sonnet-*".longer]]\nabove = 1000\ninput = 10.0\noutput = 20.0\n'
    )
    assert nano("claude-sonnet-5", Usage(input=100, output=10)) == 100 * 1_000 + 10 * 2_000
    assert nano("claude-sonnet-5", Usage(cache_read=100, cache_creation=100)) == 100 * 500 + 100 * 3_000
    assert nano("claude-sonnet-5", Usage(input=1_001, output=1)) == 1_001 * 10_000 + 20_000


def test_a_server_of_ones_own_costs_nothing_unless_the_file_says_so(own_prices: Callable[[str], None]) -> None:
    assert nano("qwen3", Usage(input=MILLION), "ollama") == 0
    assert nano("qwen3", Usage(input=MILLION)) is None
    own_prices('["qwen3"]\ninput = 1\noutput = 1\n')
    assert nano("qwen3", Usage(input=MILLION), "ollama") == NANO


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("input = 1", "is no table"),
        ('["m"]\ninput = 1', "output of m is missing"),
        ('["m"]\ninput = 1\noutput = "2"', "output of m is '2'"),
        ('["m"]\ninput = 1\noutput = 2\nprice = 3', "has price"),
        ("[", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_is_wrong(own_prices: Callable[[str], None], text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        own_prices(text)


def test_long_prompts_cost_more_where_documentation_says_so() -> None:
    assert cost("gemini-2.5-pro", Usage(input=200_000)) == pytest.approx(0.25)
    assert cost("gemini-2.5-pro", Usage(input=200_001)) == pytest.approx(0.5, rel=1e-4)


def test_what_was_only_thought_may_have_a_price_of_its_own() -> None:
    price = Price(1.0, 2.0, thinking=4.0)
    assert price.nano(Usage(output=10, reasoning=5)) == 5 * 2_000 + 5 * 4_000


@pytest.mark.parametrize("model", ["llama3.2:3b", "my/Model", 'a "quoted" one'])
def test_the_form_of_a_price_is_a_file_that_is_read(tmp_path: Path, model: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(form_of(model), encoding="utf-8")
    assert len(form_of(model).splitlines()) == 3
    ((name, price),) = read(file)
    assert (name, price.input, price.output) == (model.lower(), 1.0, 4.0)
