"""Which agents have something to do, and how long they have been waiting for somebody to do it."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select, union_all

from bot.compaction.quiet import LEAD_SECONDS
from bot.messages import AgentId
from bot.store.schema import agents, appointments, compactions, inbox, turns
from bot.store.tx import Tx


async def waiting_agents(tx: Tx, most: int, *, now: float) -> list[AgentId]:
    """Agents that something waits for, that have an appointment which is due, whose prompt cache is about to expire,
    whose turn was cut off, or whose compaction is to be seen to its end (which is its section in the daily file): at
    most so many, and whoever has waited longest first."""
    since = union_all(
        select(inbox.c.agent_id, inbox.c.received_at.label("since")).where(inbox.c.state == "waiting"),
        select(turns.c.agent_id, turns.c.started_at.label("since")).where(turns.c.state == "running"),
        select(compactions.c.agent_id, compactions.c.started_at.label("since")).where(~compactions.c.traced),
        select(appointments.c.agent_id, appointments.c.next_at.label("since")).where(_is_due(now)),
        select(agents.c.id.label("agent_id"), agents.c.quiet_at.label("since")).where(_is_quiet(now)),
    ).subquery()
    oldest = func.min(since.c.since)
    rows = await tx.execute(
        select(since.c.agent_id).group_by(since.c.agent_id).order_by(oldest, since.c.agent_id).limit(most)
    )
    return [AgentId(row[0]) for row in rows]


def _is_due(now: float) -> ColumnElement[bool]:
    return appointments.c.next_at.is_not(None) & (appointments.c.next_at <= now)


def _is_quiet(now: float) -> ColumnElement[bool]:
    """A moment that nobody took is over soon: its cache has expired."""
    return agents.c.quiet_at.is_not(None) & (agents.c.quiet_at <= now) & (agents.c.quiet_at > now - LEAD_SECONDS)


async def next_quiet(tx: Tx, *, now: float) -> float | None:
    """When the next prompt cache is about to expire after this moment, of all conversations for which a compaction may
    be worth it then: one step along an index."""
    coming = select(agents.c.quiet_at).where(agents.c.quiet_at.is_not(None), agents.c.quiet_at > now)
    return (await tx.execute(coming.order_by(agents.c.quiet_at).limit(1))).scalar_one_or_none()


async def is_waited_for(tx: Tx, agent_id: AgentId, *, now: float) -> bool:
    """Whether a message waits for this agent, an appointment of its is due, or its prompt cache about to expire."""
    waiting = select(inbox.c.id).where(inbox.c.agent_id == agent_id, inbox.c.state == "waiting")
    due = select(appointments.c.number).where(appointments.c.agent_id == agent_id, _is_due(now))
    quiet = select(agents.c.id).where(agents.c.id == agent_id, _is_quiet(now))
    return any([(await tx.execute(rows.limit(1))).first() is not None for rows in (waiting, due, quiet)])


async def has_work(tx: Tx, agent_id: AgentId, *, now: float) -> bool:
    """Whether it is one of :func:`waiting_agents`."""
    running = select(turns.c.id).where(turns.c.agent_id == agent_id, turns.c.state == "running")
    untraced = select(compactions.c.id).where(compactions.c.agent_id == agent_id, ~compactions.c.traced)
    return await is_waited_for(tx, agent_id, now=now) or any(
        [(await tx.execute(rows.limit(1))).first() is not None for rows in (running, untraced)]
    )
