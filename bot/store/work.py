"""Which agents have something to do, and how long they have been waiting for somebody to do it."""

from __future__ import annotations

from sqlalchemy import func, select, union_all

from bot.messages import AgentId
from bot.store.schema import compactions, inbox, turns
from bot.store.tx import Tx


async def waiting_agents(tx: Tx, most: int) -> list[AgentId]:
    """Agents that something waits for, whose turn was cut off, or whose compaction is to be seen to its end (which is
    its section in the daily file): at most so many, and whoever has waited longest first."""
    since = union_all(
        select(inbox.c.agent_id, inbox.c.received_at.label("since")).where(inbox.c.state == "waiting"),
        select(turns.c.agent_id, turns.c.started_at.label("since")).where(turns.c.state == "running"),
        select(compactions.c.agent_id, compactions.c.started_at.label("since")).where(~compactions.c.traced),
    ).subquery()
    oldest = func.min(since.c.since)
    rows = await tx.execute(
        select(since.c.agent_id).group_by(since.c.agent_id).order_by(oldest, since.c.agent_id).limit(most)
    )
    return [AgentId(row[0]) for row in rows]


async def is_waited_for(tx: Tx, agent_id: AgentId) -> bool:
    """Whether a message waits for this agent."""
    waiting = select(inbox.c.id).where(inbox.c.agent_id == agent_id, inbox.c.state == "waiting")
    return (await tx.execute(waiting.limit(1))).first() is not None


async def has_work(tx: Tx, agent_id: AgentId) -> bool:
    """Whether it is one of :func:`waiting_agents`."""
    running = select(turns.c.id).where(turns.c.agent_id == agent_id, turns.c.state == "running")
    untraced = select(compactions.c.id).where(compactions.c.agent_id == agent_id, ~compactions.c.traced)
    return await is_waited_for(tx, agent_id) or any(
        [(await tx.execute(rows.limit(1))).first() is not None for rows in (running, untraced)]
    )
