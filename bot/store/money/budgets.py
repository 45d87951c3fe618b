"""What may be spent in a day or a month, by one person, in one conversation, by all; and what is left of it.

What is reserved counts until it is settled. Reservations are made one after the other, whoever makes them, so that all
together exceed no limit by more than the last one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, ScalarSelect, Table, and_, delete, func, select, text

from bot.messages import AgentId
from bot.runtime.amounts import Amount, Unit
from bot.runtime.utc_day import bounds_of, day_of
from bot.store.money import ledger as rows
from bot.store.money.ledger import Charge
from bot.store.schema import budget_notices, budgets, ledger, spending, spent_days
from bot.store.tx import InEach, Tx

_ONE_BY_ONE = text("SELECT pg_advisory_xact_lock(7237611)")
"""SQLite has one writer at a time anyway."""


class Scope(StrEnum):
    """Whose spending is limited, and for how long."""

    PERSON = "person"
    """One person's, wherever they are, in a day."""
    CHAT = "chat"
    """One conversation's, in a day."""
    DAY = "day"
    """All together, in a day."""
    MONTH = "month"
    """All together, in a month."""


@dataclass(frozen=True)
class Budget:
    """``subject``: the person, or the conversation; ``connector``: the person's. Both are empty where it is not of one.
    ``amount`` None: there is no limit, since somebody said so."""

    scope: Scope
    amount: Amount | None
    connector: str = ""
    subject: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.scope, self.connector, self.subject

    def period(self, now: float) -> str:
        """The day or the month that counts just now, in UTC."""
        day = day_of(now)
        return day[:6] if self.scope is Scope.MONTH else day

    def ends(self, now: float) -> float:
        """When the next one begins, in seconds since 1970."""
        if self.scope is not Scope.MONTH:
            return bounds_of(day_of(now))[1]
        here = datetime.fromtimestamp(now, UTC)
        return datetime(here.year + here.month // 12, here.month % 12 + 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Standing:
    """How a budget stands, in its unit. ``reserved``: what is asked for just now may cost so much."""

    budget: Budget
    limit: Amount
    spent: int
    reserved: int = 0

    @property
    def share(self) -> float:
        """Of the limit, that was spent."""
        return self.spent / self.limit.number if self.limit.number else 1.0

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left."""
        return self.spent >= self.limit.number

    @property
    def is_taken(self) -> bool:
        """Whether nothing may be left once what is reserved is settled."""
        return self.spent + self.reserved >= self.limit.number

    @property
    def left(self) -> int:
        """At least 0."""
        return max(0, self.limit.number - self.spent)


@dataclass(frozen=True)
class Usual:
    """What holds where nobody chose another amount; None: no limit."""

    person: Amount | None = None
    chat: Amount | None = None
    day: Amount | None = None
    month: Amount | None = None

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        return any((self.person, self.chat, self.day, self.month))


async def are_chosen(tx: Tx) -> bool:
    """Whether somebody chose an amount."""
    return (await tx.execute(select(budgets.c.scope).limit(1))).first() is not None


async def chosen(tx: Tx) -> Sequence[Budget]:
    """All that somebody chose."""
    found = (await tx.execute(select(budgets).order_by(budgets.c.scope, budgets.c.subject))).mappings()
    return [
        Budget(Scope(row["scope"]), _amount(row["amount"], row["unit"]), row["connector"], row["subject"])
        for row in found
    ]


async def choose(tx: Tx, budget: Budget, *, now: float) -> None:
    """From now on."""
    await take_back(tx, budget)
    given = budget.amount
    await tx.execute(
        budgets.insert().values(
            scope=budget.scope,
            connector=budget.connector,
            subject=budget.subject,
            amount=given.number if given else None,
            unit=given.unit if given else "money",
            set_at=now,
        )
    )


async def take_back(tx: Tx, budget: Budget) -> None:
    """What holds for all holds again. What was told of the old amount is told anew."""
    for table in (budgets, budget_notices):
        own = (table.c.scope == budget.scope) & (table.c.connector == budget.connector)
        await tx.execute(delete(table).where(own, table.c.subject == budget.subject))


async def forget(tx: Tx, connector: str, subject: str) -> None:
    """What was chosen for, and told of, this person or (without a connector) this conversation."""
    for table in (budgets, budget_notices):
        await tx.execute(delete(table).where(table.c.connector == connector, table.c.subject == subject))


async def holding(tx: Tx, usual: Usual, connector: str, person: str, agent_id: AgentId) -> Sequence[Budget]:
    """Those that hold for a request of this person in this conversation."""
    of_person = and_(budgets.c.scope == Scope.PERSON, budgets.c.connector == connector, budgets.c.subject == person)
    of_chat = and_(budgets.c.scope == Scope.CHAT, budgets.c.connector == "", budgets.c.subject == agent_id)
    of_all = and_(budgets.c.scope.in_((Scope.DAY, Scope.MONTH)), budgets.c.connector == "", budgets.c.subject == "")
    found = {
        Scope(row["scope"]): _amount(row["amount"], row["unit"])
        for row in (await tx.execute(select(budgets).where(of_person | of_chat | of_all))).mappings()
    }
    wanted = [
        Budget(Scope.PERSON, found.get(Scope.PERSON, usual.person), connector, person) if person else None,
        Budget(Scope.CHAT, found.get(Scope.CHAT, usual.chat), "", agent_id),
        Budget(Scope.DAY, found.get(Scope.DAY, usual.day)),
        Budget(Scope.MONTH, found.get(Scope.MONTH, usual.month)),
    ]
    return [budget for budget in wanted if budget and budget.amount is not None]


async def standings(tx: Tx, holds: Sequence[Budget], *, now: float) -> Sequence[Standing]:
    """How these stand."""
    limited = [(budget, budget.amount) for budget in holds if budget.amount is not None]
    if not limited:
        return []
    sums = [part for budget, limit in limited for part in _sums(budget, limit.unit, now)]
    found = (await tx.execute(select(*sums))).one()
    return [
        Standing(budget, limit, int(found[2 * at]), int(found[2 * at + 1]))
        for at, (budget, limit) in enumerate(limited)
    ]


async def one_by_one(tx: Tx) -> None:
    """Nobody else reserves anything until this transaction ends. To be called before it writes what was spent: who
    holds rows of it would be waited for by somebody who has this, and waits for those."""
    if tx.dialect.name == "postgresql":
        await tx.execute(_ONE_BY_ONE)


async def reserve(tx: Tx, holds: Sequence[Budget], charge: Charge, *, now: float, passes: bool) -> Standing | None:
    """Reserve what a request may cost; returns the budget in whose way that is, and then nothing is reserved.

    ``passes``: nothing stops it. What costs nothing is not stopped by a limit in money.
    """
    if holds and not passes:
        await one_by_one(tx)
        if full := in_the_way(await standings(tx, holds, now=now), is_free=not charge.cost):
            return full
    await rows.reserve(tx, charge)
    return None


def in_the_way(stand: Sequence[Standing], *, is_free: bool = False) -> Standing | None:
    """The budget that stops a request, one that is used up before one that is only taken."""
    counting = [one for one in stand if not (is_free and one.limit.unit == "money")]
    used_up = (one for one in counting if one.is_used_up)
    return next(used_up, None) or next((one for one in counting if one.is_taken), None)


_TELL = InEach(budget_notices, lambda insert: insert.on_conflict_do_nothing())


async def to_be_told(tx: Tx, standing: Standing, percent: int, *, now: float) -> bool:
    """Whether nobody was told yet that so much of a budget is spent in this day or month. From now on they are."""
    budget = standing.budget
    key = {"scope": budget.scope, "connector": budget.connector, "subject": budget.subject}
    told = await tx.execute(_TELL.of(tx), {**key, "period": budget.period(now), "percent": percent})
    return told.rowcount == 1


async def clean(tx: Tx, *, before: float) -> None:
    """What was told of days and months that are over."""
    await tx.execute(delete(budget_notices).where(budget_notices.c.period < day_of(before)[:6]))


def _amount(number: int | None, unit: Unit) -> Amount | None:
    return None if number is None else Amount(number, unit)


def _sums(budget: Budget, unit: Unit, now: float) -> tuple[ScalarSelect[int], ScalarSelect[int]]:
    """What was spent, and what is reserved."""
    added = spent_days if budget.scope in (Scope.DAY, Scope.MONTH) else spending
    spent = _of(budget, added, now)
    reserved = and_(rows.IS_RESERVED, _of(budget, ledger, now))
    return (
        select(func.coalesce(func.sum(_counted(added, unit)), 0)).where(spent).scalar_subquery(),
        select(func.coalesce(func.sum(_counted(ledger, unit)), 0)).where(reserved).scalar_subquery(),
    )


def _counted(table: Table, unit: Unit) -> ColumnElement[int]:
    if unit == "money":
        return table.c.cost
    if table is spent_days:
        return table.c.tokens
    return table.c.input + table.c.cache_read + table.c.cache_creation + table.c.output


def _of(budget: Budget, table: Table, now: float) -> ColumnElement[bool]:
    day = table.c.day
    period = budget.period(now)
    in_time = and_(day >= f"{period}01", day <= f"{period}31") if budget.scope is Scope.MONTH else day == period
    if budget.scope is Scope.PERSON:
        return and_(table.c.connector == budget.connector, table.c.person == budget.subject, in_time)
    return and_(table.c.agent_id == budget.subject, in_time) if budget.scope is Scope.CHAT else in_time
