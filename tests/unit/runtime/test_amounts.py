"""Amounts as people write them, and as they read them."""

from __future__ import annotations

import pytest

from bot.runtime.amounts import NANO, Amount, amount, in_words


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2.50", Amount(5 * NANO // 2)),
        ("$5", Amount(5 * NANO)),
        ("3 USD", Amount(3 * NANO)),
        (".1", Amount(NANO // 10)),
        ("200000 tokens", Amount(200_000, "tokens")),
        ("200k tokens", Amount(200_000, "tokens")),
        ("1,000 tokens", Amount(1_000, "tokens")),
        ("0", Amount(0)),
    ],
)
def test_dollars_or_tokens(written: str, meant: Amount) -> None:
    assert amount(written) == meant


@pytest.mark.parametrize("written", ["", "a lot", "5k", "-1", "2 euros", "1e400", "9" * 30])
def test_anything_else_is_none(written: str) -> None:
    with pytest.raises(ValueError, match="is "):
        amount(written)


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "$0.00"), (NANO // 100, "$0.01"), (12_345_678_901, "$12.35"), (123_456, "$0.00012"), (1, "$0.000000001")],
)
def test_less_than_a_cent_is_told_too(number: int, words: str) -> None:
    assert in_words(number) == words
