"""The inbox: what people said, from the moment it is stored until a committed turn closed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bot.messages import Address, AgentId, Inbound
from bot.store import agents
from bot.store.database import Tx
from bot.store.schema import cursors, inbox, turns


@dataclass(frozen=True)
class Waiting:
    """A row of the inbox that no turn has taken."""

    id: int
    person: str
    person_name: str
    text: str
    kind: str
    received_at: float


async def add(tx: Tx, inbound: Inbound, *, now: float) -> bool:
    """Store one event; False when it is there already (a redelivery)."""
    await agents.ensure(tx, inbound.address, now=now)
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    added = await tx.execute(
        insert(inbox)
        .values(
            agent_id=inbound.address.agent_id,
            connector=inbound.address.connector,
            key=inbound.key,
            kind=inbound.kind,
            position=inbound.order,
            person=inbound.person,
            person_name=inbound.person_name,
            text=inbound.text,
            received_at=now,
            state="waiting",
        )
        .on_conflict_do_nothing(index_elements=["connector", "key"])
    )
    return bool(added.rowcount == 1)


async def waiting(tx: Tx, agent_id: AgentId) -> list[Waiting]:
    """What waits for this agent, in the platform's order."""
    rows = await tx.execute(
        select(inbox)
        .where(inbox.c.agent_id == agent_id, inbox.c.state == "waiting")
        .order_by(inbox.c.position, inbox.c.id)
    )
    return [_waiting(row) for row in rows.mappings()]


async def take(tx: Tx, ids: Sequence[int], turn_id: str) -> None:
    """Give rows to a turn."""
    await tx.execute(update(inbox).where(inbox.c.id.in_(ids)).values(state="taken", turn_id=turn_id))


async def close(tx: Tx, ids: Sequence[int]) -> None:
    """These are answered (control, which belongs to no turn)."""
    await tx.execute(update(inbox).where(inbox.c.id.in_(ids)).values(state="done"))


async def close_turn(tx: Tx, turn_id: str) -> None:
    """All that this turn took is answered."""
    await tx.execute(update(inbox).where(inbox.c.turn_id == turn_id).values(state="done"))


async def unanswered(tx: Tx, address: Address) -> int:
    """How many events of this conversation have no answer yet."""
    count = await tx.execute(
        select(func.count())
        .select_from(inbox)
        .where(inbox.c.agent_id == address.agent_id, inbox.c.state.in_(("waiting", "taken")))
    )
    return int(count.scalar_one())


async def agents_with_work(tx: Tx) -> list[AgentId]:
    """Agents that something waits for, or whose turn was cut off."""
    rows = await tx.execute(
        select(inbox.c.agent_id)
        .where(inbox.c.state == "waiting")
        .union(select(turns.c.agent_id).where(turns.c.state == "running"))
    )
    return [AgentId(row[0]) for row in rows]


async def cursor(tx: Tx, connector: str) -> str | None:
    """How far a platform was read."""
    row = await tx.execute(select(cursors.c.value).where(cursors.c.connector == connector))
    return row.scalar_one_or_none()


async def set_cursor(tx: Tx, connector: str, value: str) -> None:
    """Remember how far a platform was read."""
    moved = await tx.execute(update(cursors).where(cursors.c.connector == connector).values(value=value))
    if moved.rowcount == 0:
        await tx.execute(cursors.insert().values(connector=connector, value=value))


def _waiting(row: RowMapping) -> Waiting:
    return Waiting(row["id"], row["person"], row["person_name"], row["text"], row["kind"], row["received_at"])
