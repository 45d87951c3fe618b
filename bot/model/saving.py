"""When a cheaper model is asked in the place of the usual one, for answers and for summaries. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.model.base import Link
from bot.runtime.prices import price_of
from bot.store.money.budgets import Standing

FROM_SHARE = 0.8
"""Of a budget that is spent."""


def nearly_spent(stand: Sequence[Standing]) -> Standing | None:
    """The first budget of which most is spent; one in tokens is spent as fast by a cheaper model."""
    return next((one for one in stand if one.limit.unit == "money" and one.share >= FROM_SHARE), None)


def is_cheaper(link: Link, usual: Link) -> bool:
    """Whether ``link`` is, as far as prices are known; what costs nothing is never left."""
    if usual.is_local or (link.name, link.title) == (usual.name, usual.title):
        return False
    price, before = price_of(link.name), price_of(usual.name)
    return price is None or before is None or price.input + price.output < before.input + before.output
