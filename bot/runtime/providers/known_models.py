"""What documentation says of well-known models: windows, longest answers, prices. Data, read when it is first needed.

A server of one's own is asked, and not looked up here: it loads a model with less than its whole window.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("models.toml")


@dataclass(frozen=True)
class ListPrice:
    """Dollars for a million tokens; ``cached``: of input that is read from a cache; ``longer``: what all of a request
    costs whose prompt is longer than ``above`` tokens, the shortest first."""

    input: float
    cached: float
    output: float
    longer: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class KnownModel:
    """A model or a family. ``providers``: where this holds; empty: anywhere. Tokens; ``answer`` 0: not known."""

    name: re.Pattern[str]
    window: int
    answer: int = 0
    providers: tuple[str, ...] = ()
    price: ListPrice | None = None

    def is_called(self, name: str) -> bool:
        """Whether a model of this name is it; folders before a name say who made it, as a rule."""
        return bool(self.name.match(name.lower()) or self.name.match(name.lower().rpartition("/")[2]))


def known(provider: str, name: str) -> KnownModel | None:
    """What is known of this model at this provider."""
    return next(
        (one for one in _models()[1] if (not one.providers or provider in one.providers) and one.is_called(name)), None
    )


def price_of(name: str) -> ListPrice | None:
    """The price of a model that is called so at the provider who makes it; None where that is not known."""
    return next((one.price for one in _models()[1] if one.price and one.name.match(name.lower())), None)


def read_on() -> date:
    """When the documentation was read."""
    return _models()[0]


@cache
def _models() -> tuple[date, Sequence[KnownModel]]:
    import tomllib

    data = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    return data["read"], tuple(_model(row) for row in data["model"])


def _model(row: dict[str, Any]) -> KnownModel:
    price = ListPrice(**row["price"]) if "price" in row else None
    return KnownModel(
        re.compile(row["name"]), row["window"], row.get("answer", 0), tuple(row.get("providers", ())), price
    )
