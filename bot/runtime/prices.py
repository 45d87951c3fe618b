"""What tokens cost, where it is known.

Claude's list prices as of November 2026 (https://platform.claude.com/docs/en/about-claude/pricing), those of other
makers' models from models.toml, and what a provider that lists its prices said in this process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bot.history import Usage

_MILLION = 1_000_000
_WRITE = 1.25
"""Of the price of input: writing to the cache for five minutes, and for an hour."""
_WRITE_FOR_AN_HOUR = 2.0
_SEARCH = 0.01
"""Dollars; fetching a page costs its tokens alone."""


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens; ``read``: of the price of input, for what is read from the cache."""

    input: float
    output: float
    read: float = 0.1


_PRICES: tuple[tuple[str, Price], ...] = (
    ("claude-fable-5-1", Price(10.0, 50.0, 0.025)),
    ("claude-fable-5", Price(10.0, 50.0)),
    ("claude-opus-5-5", Price(4.0, 20.0, 0.05)),
    ("claude-opus-5", Price(5.0, 25.0)),
    ("claude-opus-4-5", Price(5.0, 25.0)),
    ("claude-opus-4-6", Price(5.0, 25.0)),
    ("claude-opus-4-7", Price(5.0, 25.0)),
    ("claude-opus-4-8", Price(5.0, 25.0)),
    ("claude-sonnet-5", Price(2.0, 10.0)),
    ("claude-sonnet-4", Price(3.0, 15.0)),
    ("claude-haiku-4-5", Price(1.0, 5.0)),
)
"""By how a model's name begins; the first one counts. Others, and what depends on more than tokens, are not guessed."""


def cost(model: str, usage: Usage) -> float | None:
    """Dollars of one usage; None where the price of this model is not known."""
    price = next((price for prefix, price in _PRICES if model.startswith(prefix)), None) or _elsewhere(model)
    if price is None:
        return None
    written = _WRITE * (usage.cache_creation - usage.hourly) + _WRITE_FOR_AN_HOUR * usage.hourly
    charged = usage.input + price.read * usage.cache_read + written
    return (charged * price.input + usage.output * price.output) / _MILLION + _SEARCH * usage.searches


def learn(model: str, price: Price) -> None:
    """A provider lists this price of its model; it holds in this process."""
    _learned[model] = price


_learned: dict[str, Price] = {}


@cache
def _elsewhere_documented(model: str) -> Price | None:
    from bot.runtime.providers.known_models import price_of  # who only asks Anthropic never reads it

    found = price_of(model)
    return Price(found.input, found.output, found.cached / found.input) if found else None


def _elsewhere(model: str) -> Price | None:
    return _learned.get(model) or _elsewhere_documented(model)
