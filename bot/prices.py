"""What tokens cost, where it is known. Pure."""

from __future__ import annotations

from bot.history import Usage

_MILLION = 1_000_000
_CACHE_READ = 0.1
_CACHE_WRITE = 1.25

_DOLLARS_PER_MILLION: tuple[tuple[str, float, float], ...] = (
    ("claude-opus-4-5", 5.0, 25.0),
    ("claude-opus-4-6", 5.0, 25.0),
    ("claude-sonnet-4", 3.0, 15.0),
    ("claude-haiku-4-5", 1.0, 5.0),
)
"""Prefix of a model's name, input and output: the provider's published list prices. Others are not guessed."""


def cost(model: str, usage: Usage) -> float | None:
    """Dollars of one usage; reading from the cache costs a tenth of input, writing to it a quarter more."""
    for prefix, per_input, per_output in _DOLLARS_PER_MILLION:
        if model.startswith(prefix):
            charged = usage.input + _CACHE_READ * usage.cache_read + _CACHE_WRITE * usage.cache_creation
            return (charged * per_input + usage.output * per_output) / _MILLION
    return None
