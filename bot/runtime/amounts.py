"""How much may be spent, as people write it: dollars, or tokens. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

NANO = 1_000_000_000
"""Nano-dollars in a dollar: money is counted in those, in integers."""
Unit = Literal["money", "tokens"]

_WRITTEN = re.compile(
    r"""\$?\s*(?P<number>\d[\d,_'\ ]*(?:\.\d+)?|\.\d+)\s*
    (?P<times>[km](?=\s*(?:tokens?|$)))?\s*
    (?P<unit>\$|usd|dollars?|tokens?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_MOST = 10**17
_CENT = NANO // 100


@dataclass(frozen=True)
class Amount:
    """``number`` of nano-dollars, or of tokens."""

    number: int
    unit: Unit = "money"

    @property
    def in_words(self) -> str:
        """``$2.50``, ``200,000 tokens``."""
        return in_words(self.number, self.unit)


def amount(written: str) -> Amount:
    """What was written: ``2.50``, ``$5``, ``3 USD``, ``200000 tokens``, ``200k tokens``. Raises ValueError with the end
    of a sentence."""
    found = _WRITTEN.fullmatch(written.strip())
    if found is None:
        raise ValueError("is no amount. Write dollars, e.g. 2.50, or tokens, e.g. 200000 tokens")
    is_tokens = (found["unit"] or "").lower().startswith("token")
    times = (found["times"] or "").lower()
    if times and not is_tokens:
        raise ValueError("is no amount. Write dollars, e.g. 2.50, or tokens, e.g. 200k tokens")
    try:
        number = Decimal(re.sub(r"[,_' ]", "", found["number"])) * _TIMES[times]
    except InvalidOperation as error:
        raise ValueError("is no amount. Write dollars, e.g. 2.50, or tokens, e.g. 200000 tokens") from error
    whole = int(number if is_tokens else number * NANO)
    if whole > _MOST:
        raise ValueError("is more than anybody spends")
    return Amount(whole, "tokens" if is_tokens else "money")


def in_words(number: int, unit: Unit = "money") -> str:
    """An amount for people: cents, and what is less than one cent to two digits that say something."""
    if unit == "tokens":
        return f"{number:,} token{'' if number == 1 else 's'}"
    sign, size = ("-" if number < 0 else ""), abs(number)
    if size == 0 or size >= _CENT:
        return f"{sign}${size / NANO:,.2f}"
    return f"{sign}${float(f'{size / NANO:.2g}'):.9f}".rstrip("0")
