"""What is spent and reserved just now, and how budgets stand, for whoever looks at all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from bot.runtime.utc_day import day_of
from bot.store.money import budgets, spending
from bot.store.money.budgets import Budget, Scope, Standing, Usual
from bot.store.money.ledger import IS_RESERVED
from bot.store.money.spending import Total
from bot.store.schema import ledger
from bot.store.tx import Tx

_AT_ONCE = 100
"""Budgets in one question: a database takes so many columns and no more."""
_RESERVED = select(func.coalesce(func.sum(ledger.c.cost), 0)).where(IS_RESERVED)


@dataclass(frozen=True)
class Figures:
    """What was spent on this day and in this month (UTC); ``reserved``: what is asked just now may cost so much, in
    nano-dollars; ``shares``: of each kind of budget that there is, how much is spent of the one that is nearest to its
    end, 1.0 for all of it."""

    day: Total
    month: Total
    reserved: int
    shares: Mapping[Scope, float]


async def figures(tx: Tx, usual: Usual, *, now: float) -> Figures:
    """All of them, now."""
    today = day_of(now)
    month = f"{today[:6]}01"
    shares: dict[Scope, float] = {}
    for one in await most_spent(tx, usual, now=now, most=1):
        shares.setdefault(one.budget.scope, one.share)
    days = await spending.by_day(tx, month, today)
    return Figures(
        day=days.get(today, Total()),
        month=sum(days.values(), Total()),
        reserved=int((await tx.execute(_RESERVED)).scalar_one()),
        shares=shares,
    )


async def most_spent(tx: Tx, usual: Usual, *, now: float, most: int) -> Sequence[Standing]:
    """How budgets stand, the one of which most is spent first: those of all together, those that somebody chose, and of
    those that hold for everybody else the ones of so many people and conversations that spent most today."""
    today = day_of(now)
    holds = [*await budgets.chosen(tx)]
    known = {(one.scope, one.connector, one.subject) for one in holds}
    of_all = Budget(Scope.DAY, usual.day), Budget(Scope.MONTH, usual.month)
    holds += [one for one in of_all if (one.scope, "", "") not in known]
    everybody = spending.of_all()
    if usual.person:
        top = await spending.by(tx, ("connector", "person"), everybody, today, today, most=most + len(holds))
        holds += [
            Budget(Scope.PERSON, usual.person, *key) for key in top if key[1] and (Scope.PERSON, *key) not in known
        ]
    if usual.chat:
        top = await spending.by(tx, ("agent_id",), everybody, today, today, most=most + len(holds))
        holds += [
            Budget(Scope.CHAT, usual.chat, "", key) for (key,) in top if key and (Scope.CHAT, "", key) not in known
        ]
    stand: list[Standing] = []
    for first in range(0, len(holds), _AT_ONCE):
        stand += await budgets.standings(tx, holds[first : first + _AT_ONCE], now=now)
    return sorted(stand, key=lambda one: -one.share)
