"""What was spent, added up by day, conversation, person, purpose and model: read in milliseconds however many requests
there were, and kept when their rows go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from zlib import crc32

from sqlalchemy import ColumnElement, RowMapping, Select, and_, delete, func, literal, select

from bot.history import Usage
from bot.messages import AgentId
from bot.store.schema import spending, spent_days
from bot.store.tx import InEach, Tx

Condition = ColumnElement[bool]
"""Whose spending is meant."""
KEY = ("day", "agent_id", "connector", "person", "purpose", "model")
_TOKENS = tuple(one.name for one in fields(Usage))
_SUMS = ("requests", "estimated", "unpriced", *_TOKENS, "cost")
_ADD = InEach(
    spending,
    lambda insert: insert.on_conflict_do_update(
        index_elements=list(KEY), set_={name: spending.c[name] + insert.excluded[name] for name in _SUMS}
    ),
)


_OF_DAYS = ("requests", "estimated", "unpriced", "tokens", "cost")
_ADD_TO_DAY = InEach(
    spent_days,
    lambda insert: insert.on_conflict_do_update(
        index_elements=["day", "part"], set_={name: spent_days.c[name] + insert.excluded[name] for name in _OF_DAYS}
    ),
)
_PARTS = 16
"""Of a day: rows on which whoever writes waits for others who write just then."""


@dataclass(frozen=True)
class Total:
    """What some requests came to. ``cost`` in nano-dollars, without the ``unpriced``; ``estimated``: those that were
    cut off."""

    requests: int = 0
    estimated: int = 0
    unpriced: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: int = 0

    @property
    def tokens(self) -> int:
        """All, however they are charged."""
        return self.usage.context + self.usage.output

    def __add__(self, other: Total) -> Total:
        return Total(
            self.requests + other.requests,
            self.estimated + other.estimated,
            self.unpriced + other.unpriced,
            self.usage + other.usage,
            self.cost + other.cost,
        )

    @classmethod
    def of(cls, sums: Sequence[Any]) -> Total:
        """Of the columns that :func:`_added` gives."""
        found = {name: int(value or 0) for name, value in zip(_SUMS, sums, strict=True)}
        usage = Usage(**{name: found[name] for name in _TOKENS})
        return cls(found["requests"], found["estimated"], found["unpriced"], usage, found["cost"])


async def add(tx: Tx, row: RowMapping | Mapping[str, Any], *, times: int = 1) -> None:
    """Add one row of the ledger; with ``times=-1`` take it out again."""
    values = {name: row[name] for name in KEY}
    values |= {name: times * row[name] for name in _TOKENS}
    values |= {"requests": times, "estimated": times * (row["state"] == "estimated")}
    values |= {"unpriced": times * (row["cost"] is None), "cost": times * (row["cost"] or 0)}
    await tx.execute(_ADD.of(tx), values)
    used = values["input"] + values["cache_read"] + values["cache_creation"] + values["output"]
    of_day = {name: values[name] for name in ("day", "requests", "estimated", "unpriced", "cost")}
    part = crc32(row["agent_id"].encode()) % _PARTS
    await tx.execute(_ADD_TO_DAY.of(tx), {**of_day, "part": part, "tokens": used})


async def by_day(tx: Tx, first: str, last: str) -> Mapping[str, Total]:
    """What all together spent, by day; all tokens stand for new ones."""
    sums = [func.sum(spent_days.c[name]) for name in _OF_DAYS]
    query = select(spent_days.c.day, *sums).where(spent_days.c.day >= first, spent_days.c.day <= last)
    return {
        day: Total(int(requests), int(estimated), int(unpriced), Usage(input=int(tokens)), int(cost))
        for day, requests, estimated, unpriced, tokens, cost in await tx.execute(query.group_by(spent_days.c.day))
    }


def of_person(connector: str, person: str) -> ColumnElement[bool]:
    """What was spent for somebody, wherever."""
    return and_(spending.c.connector == connector, spending.c.person == person)


def of_conversation(agent_id: AgentId) -> ColumnElement[bool]:
    """What was spent in a conversation."""
    return spending.c.agent_id == agent_id


def of_summaries() -> ColumnElement[bool]:
    """What was spent on writing summaries."""
    return spending.c.purpose == "summary"


def is_unpriced() -> ColumnElement[bool]:
    """Of what no price is known, as far as some of it has none."""
    return spending.c.unpriced > 0


def of_all() -> ColumnElement[bool]:
    """What was spent."""
    return spending.c.day >= ""


async def total(tx: Tx, condition: ColumnElement[bool], first: str, last: str) -> Total:
    """From this day up to that one, both as ``20261121`` and both counted."""
    found = (await tx.execute(_added(condition, first, last))).one()
    return Total.of(found)


async def by(
    tx: Tx,
    names: Sequence[str],
    condition: ColumnElement[bool],
    first: str,
    last: str,
    *,
    most: int | None = None,
    kinds: bool = False,
) -> Mapping[tuple[str, ...], Total]:
    """The same for each combination of these columns of :data:`KEY`; where only the first so many are wanted, those
    that cost most. ``kinds``: with the tokens by kind, which takes longer; else all of them stand for new ones."""
    columns = [spending.c[name] for name in names]
    query = _added(condition, first, last, kinds=kinds).add_columns(*columns).group_by(*columns)
    if most is not None:
        query = query.order_by(func.sum(spending.c.cost).desc(), func.sum(_ALL_TOKENS).desc(), *columns).limit(most)
    rows = (await tx.execute(query)).all()
    return {tuple(row[len(_SUMS) :]): Total.of(row[: len(_SUMS)]) for row in rows}


_ALL_TOKENS = spending.c.input + spending.c.cache_read + spending.c.cache_creation + spending.c.output
_ROUGHLY = {name: spending.c[name] for name in ("requests", "estimated", "unpriced", "cost")} | {"input": _ALL_TOKENS}


def _added(condition: ColumnElement[bool], first: str, last: str, *, kinds: bool = True) -> Select[Any]:
    sums: list[ColumnElement[Any]]
    if kinds:
        sums = [func.sum(spending.c[name]).label(name) for name in _SUMS]
    else:
        sums = [func.sum(_ROUGHLY[name]) if name in _ROUGHLY else literal(0) for name in _SUMS]
    return select(*sums).where(condition, spending.c.day >= first, spending.c.day <= last)


async def forget_person(tx: Tx, connector: str, person: str) -> None:
    """Their totals stay, without the name."""
    await _without(tx, of_person(connector, person), "person")


async def forget_conversation(tx: Tx, agent_id: AgentId) -> None:
    """Its totals stay, and do not say whose they are."""
    await _without(tx, of_conversation(agent_id), "agent_id", "person")


async def _without(tx: Tx, condition: ColumnElement[bool], *names: str) -> None:
    """These rows without what stands in these columns, added to what stands there already."""
    rows = (await tx.execute(select(spending).where(condition))).mappings().all()
    await tx.execute(delete(spending).where(condition))
    for row in rows:
        await tx.execute(_ADD.of(tx), {**row, **dict.fromkeys(names, "")})
