"""How much happened in each stretch of the last days, so that one sees whether today is as other days are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Integer, case, cast, func, select

from bot.history import Usage
from bot.store.operators.overview import WAITED_FOR, usages, with_usage
from bot.store.runs import ERRANDS
from bot.store.schema import compactions, turns
from bot.store.tx import Tx


@dataclass(frozen=True)
class Stretch:
    """One of them. ``turns`` by state; ``runs``: compactions, of which ``ahead`` ran while nobody waited; ``spent``:
    their usage by model; ``answered``: that of turns, and ``answered_by`` by who answered; ``pauses``: seconds that
    people waited for each compaction before an answer."""

    turns: Mapping[str, int] = field(default_factory=dict)
    runs: int = 0
    ahead: int = 0
    spent: Mapping[str, Usage] = field(default_factory=dict)
    answered: Usage = field(default_factory=Usage)
    pauses: tuple[float, ...] = ()
    answered_by: Mapping[str, Usage] = field(default_factory=dict)

    def __add__(self, other: Stretch) -> Stretch:
        """Both together."""
        names, models = {*self.turns, *other.turns}, {*self.spent, *other.spent}
        return Stretch(
            {name: self.turns.get(name, 0) + other.turns.get(name, 0) for name in names},
            self.runs + other.runs,
            self.ahead + other.ahead,
            {name: self.spent.get(name, Usage()) + other.spent.get(name, Usage()) for name in models},
            self.answered + other.answered,
            (*self.pauses, *other.pauses),
            usages([*self.answered_by.items(), *other.answered_by.items()]),
        )


async def stretches(tx: Tx, *, since: float, seconds: float, count: int) -> list[Stretch]:
    """``count`` stretches of so many ``seconds`` each, the first of which begins at ``since``; the oldest first."""
    until = since + seconds * count
    found = [Stretch() for _ in range(count)]

    def add(number: int, more: Stretch) -> None:
        number = min(count - 1, max(0, number))
        found[number] += more

    for row in await tx.execute(_turns(tx, since, until, seconds)):
        usage = Usage(*row[4:])
        add(row[0], Stretch(turns={row[1]: row[3]}, answered=usage, answered_by={row[2]: usage}))
    for row in await tx.execute(_runs(tx, since, until, seconds)):
        add(row[0], Stretch(runs=row[2], ahead=row[3], spent={row[1]: Usage(*row[4:])}))
    for row in await tx.execute(_pauses(tx, since, until, seconds)):
        add(row[0], Stretch(pauses=(row[1],)))
    return found


def _turns(tx: Tx, since: float, until: float, seconds: float) -> Any:
    number = _number(tx, turns.c.started_at, since, seconds)
    query = with_usage(select(number, turns.c.state, turns.c.model, func.count()), turns.c.usage)
    began = query.where(turns.c.started_at >= since, turns.c.started_at < until)
    return began.group_by(number, turns.c.state, turns.c.model)


def _runs(tx: Tx, since: float, until: float, seconds: float) -> Any:
    table = compactions.c
    number = _number(tx, table.started_at, since, seconds)
    ahead = func.sum(case((table.trigger == "ahead", 1), else_=0))
    compacted = func.sum(case((table.trigger.not_in(ERRANDS), 1), else_=0))  # an errand is none, but it costs
    query = with_usage(select(number, table.model, compacted, ahead), table.usage)
    return query.where(table.started_at >= since, table.started_at < until).group_by(number, table.model)


def _pauses(tx: Tx, since: float, until: float, seconds: float) -> Any:
    table = compactions.c
    return select(_number(tx, table.started_at, since, seconds), table.finished_at - table.started_at).where(
        table.started_at >= since,
        table.started_at < until,
        table.trigger.in_(WAITED_FOR),
        table.finished_at.is_not(None),
    )


def _number(tx: Tx, at: ColumnElement[float], since: float, seconds: float) -> ColumnElement[int]:
    """Which stretch a moment is in. What SQLite makes whole it cuts, and what PostgreSQL does it rounds."""
    passed = (at - since) / seconds
    return cast(func.floor(passed) if tx.dialect.name == "postgresql" else passed, Integer).label("number")
