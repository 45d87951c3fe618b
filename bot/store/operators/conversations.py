"""What operators ask of all conversations: how full each is, and when somebody last wrote there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import RowMapping, func, or_, select

from bot.estimate.meter import MeterRecord
from bot.messages import Address, AgentId
from bot.store.schema import agents, compactions, entries, inbox, layers
from bot.store.tx import Tx

Order = Literal["fill", "recent"]


@dataclass(frozen=True)
class Conversation:
    """One of them. ``meter``: None before its first answer; ``strategy`` and ``model``: what it chose, empty for none;
    ``touched_at`` in seconds since 1970; ``waiting``: messages that nobody answered yet; ``entries`` and
    ``compactions``: how many it ever had; ``people``: the names of those who wrote lately."""

    agent_id: AgentId
    address: Address
    meter: MeterRecord | None
    strategy: str
    model: str
    paused: bool
    touched_at: float
    entries: int
    compactions: int
    waiting: int
    people: tuple[str, ...]


_FILL = agents.c.meter["share"].as_float()
_UNANSWERED = ("fetching", "waiting", "taken")


async def count(tx: Tx, like: str = "") -> int:
    """How many there are whose id, or whose people's names, have this in them."""
    found = await tx.execute(select(func.count()).select_from(agents).where(_matches(like)))
    return int(found.scalar_one())


async def listed(
    tx: Tx, *, like: str = "", order: Order = "recent", most: int = 10_000, offset: int = 0
) -> list[Conversation]:
    """Conversations whose id, or whose people's names, have ``like`` in them: the fullest or the latest first."""
    first = func.coalesce(_FILL, -1.0).desc() if order == "fill" else agents.c.touched_at.desc()
    query = select(agents).where(_matches(like)).order_by(first, agents.c.id).limit(most).offset(offset)
    rows = (await tx.execute(query)).mappings().all()
    return await _with_counts(tx, rows)


async def get(tx: Tx, agent_id: AgentId) -> Conversation | None:
    """One of them."""
    rows = (await tx.execute(select(agents).where(agents.c.id == agent_id))).mappings().all()
    found = await _with_counts(tx, rows)
    return found[0] if found else None


def _matches(like: str) -> Any:
    if not like:
        return agents.c.id == agents.c.id
    named = select(inbox.c.agent_id).where(
        or_(inbox.c.person_name.icontains(like, autoescape=True), inbox.c.person == like)
    )
    return or_(agents.c.id.icontains(like, autoescape=True), agents.c.id.in_(named))


_MOST_NAMED = 500
"""Conversations whose counts one query asks for: SQLite takes some thousands of values."""


async def _with_counts(tx: Tx, rows: Sequence[RowMapping]) -> list[Conversation]:
    found: list[Conversation] = []
    for at in range(0, len(rows), _MOST_NAMED):
        found += await _some_with_counts(tx, rows[at : at + _MOST_NAMED])
    return found


async def _some_with_counts(tx: Tx, rows: Sequence[RowMapping]) -> list[Conversation]:
    ids = [row["id"] for row in rows]
    said = await _by_agent(tx, select(entries.c.agent_id, func.max(entries.c.seq)).where(entries.c.agent_id.in_(ids)))
    ran = await _by_agent(tx, select(compactions.c.agent_id, func.count()).where(compactions.c.agent_id.in_(ids)))
    waiting = await _by_agent(
        tx, select(inbox.c.agent_id, func.count()).where(inbox.c.agent_id.in_(ids), inbox.c.state.in_(_UNANSWERED))
    )
    named = await tx.execute(
        select(inbox.c.agent_id, inbox.c.person_name)
        .where(inbox.c.agent_id.in_(ids), inbox.c.person_name != "")
        .group_by(inbox.c.agent_id, inbox.c.person_name)
        .order_by(func.max(inbox.c.id).desc())
    )
    people: dict[str, list[str]] = {}
    for agent_id, name in named:
        people.setdefault(agent_id, []).append(name)
    return [
        Conversation(
            agent_id=AgentId(row["id"]),
            address=Address(row["connector"], row["chat"], row["thread"]),
            meter=MeterRecord.from_json(row["meter"]) if row["meter"] else None,
            strategy=row["strategy"],
            model=row["model"],
            paused=row["paused"],
            touched_at=row["touched_at"],
            entries=said.get(row["id"], 0),
            compactions=ran.get(row["id"], 0),
            waiting=waiting.get(row["id"], 0),
            people=tuple(people.get(row["id"], ())),
        )
        for row in rows
    ]


async def _by_agent(tx: Tx, query: Any) -> Mapping[str, int]:
    return {row[0]: row[1] for row in await tx.execute(query.group_by(query.selected_columns[0]))}


@dataclass(frozen=True)
class LayerRow:
    """A layer in brief, also one that was taken off; times in seconds since 1970."""

    number: int
    kind: str
    upto: int
    run: str | None
    created_at: float
    removed_at: float | None


async def layers_of(tx: Tx, agent_id: AgentId) -> list[LayerRow]:
    """All layers that a conversation ever had, the lowest first."""
    table = layers.c
    query = select(table.number, table.kind, table.upto, table.run_id, table.created_at, table.removed_at)
    rows = await tx.execute(query.where(table.agent_id == agent_id).order_by(table.number))
    return [LayerRow(*row) for row in rows]
