"""The agents' own rows: who has them, and what their context remembers of its compactions."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update

from bot.messages import Address, AgentId
from bot.store.database import Tx, insert_into
from bot.store.schema import agents


@dataclass(frozen=True)
class AgentRow:
    """One agent. ``paused``: after an undo; ``cooldown``: messages that automatic compaction still skips;
    ``calibration``: what the provider counts over what we guess, of the model ``calibrated_for``; ``strategy``: what
    the agent chose, empty for none."""

    id: AgentId
    address: Address
    epoch: int
    paused: bool
    cooldown: int
    calibration: float
    calibrated_for: str
    strategy: str


async def ensure(tx: Tx, address: Address, *, now: float) -> None:
    """Make the row of a conversation, if it is new."""
    await tx.execute(
        insert_into(tx, agents)
        .values(
            id=address.agent_id,
            connector=address.connector,
            chat=address.chat,
            thread=address.thread,
            epoch=0,
            touched_at=now,
            paused=False,
            cooldown=0,
            calibration=1.0,
            calibrated_for="",
            strategy="",
        )
        .on_conflict_do_nothing(index_elements=["id"])
    )


async def claim(tx: Tx, agent_id: AgentId) -> AgentRow | None:
    """Raise the epoch: from now on no other host can write for this agent. None for an unknown agent."""
    raised = await tx.execute(
        update(agents).where(agents.c.id == agent_id).values(epoch=agents.c.epoch + 1).returning(agents)
    )
    row = raised.mappings().one_or_none()
    if row is None:
        return None
    return AgentRow(
        id=agent_id,
        address=Address(row["connector"], row["chat"], row["thread"]),
        epoch=row["epoch"],
        paused=row["paused"],
        cooldown=row["cooldown"],
        calibration=row["calibration"],
        calibrated_for=row["calibrated_for"],
        strategy=row["strategy"],
    )


async def epoch(tx: Tx, agent_id: AgentId) -> int:
    """The epoch in force; 0 for an unknown agent."""
    row = await tx.execute(select(agents.c.epoch).where(agents.c.id == agent_id))
    return row.scalar_one_or_none() or 0


async def remember(
    tx: Tx, agent_id: AgentId, *, paused: bool, cooldown: int, calibration: float, calibrated_for: str
) -> None:
    """Keep what decides about the next automatic compaction."""
    await tx.execute(
        update(agents)
        .where(agents.c.id == agent_id)
        .values(paused=paused, cooldown=cooldown, calibration=calibration, calibrated_for=calibrated_for)
    )


async def choose_strategy(tx: Tx, agent_id: AgentId, name: str) -> None:
    """From now on this agent compacts so; empty: as all that have not chosen."""
    await tx.execute(update(agents).where(agents.c.id == agent_id).values(strategy=name))
