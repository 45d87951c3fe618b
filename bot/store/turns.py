"""Turns: from a taken inbound to a committed reply."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from sqlalchemy import select, update

from bot.history import Usage
from bot.messages import AgentId
from bot.store.database import Tx
from bot.store.schema import turns


class TurnState(StrEnum):
    """The life of a turn."""

    RUNNING = "running"
    """It took its inbox rows and has not answered yet; after a crash it goes on from its last step."""
    DONE = "done"
    """Answered."""
    ABORTED = "aborted"
    """Stopped by the person."""
    FAILED = "failed"
    """It ended with a sentence that says why there is no answer."""


@dataclass(frozen=True)
class TurnRow:
    """One turn. ``recoveries`` counts the compactions that overflows of the provider have cost it."""

    id: str
    agent_id: AgentId
    slot: int
    recoveries: int


async def begin(tx: Tx, turn_id: str, agent_id: AgentId, slot: int, *, now: float) -> TurnRow:
    """A new turn, running."""
    await tx.execute(
        turns.insert().values(
            id=turn_id, agent_id=agent_id, state=TurnState.RUNNING, slot=slot, recoveries=0, started_at=now
        )
    )
    return TurnRow(turn_id, agent_id, slot, 0)


async def running(tx: Tx, agent_id: AgentId) -> TurnRow | None:
    """The turn that a crash or a move cut off, if any."""
    rows = await tx.execute(select(turns).where(turns.c.agent_id == agent_id, turns.c.state == TurnState.RUNNING))
    row = rows.mappings().first()
    return TurnRow(row["id"], agent_id, row["slot"], row["recoveries"]) if row else None


async def count_recovery(tx: Tx, turn_id: str) -> None:
    """One more compaction because the provider refused the context."""
    await tx.execute(update(turns).where(turns.c.id == turn_id).values(recoveries=turns.c.recoveries + 1))


async def end(tx: Tx, turn_id: str, state: TurnState, usage: Usage, *, now: float) -> None:
    """The turn is over. Ending it twice changes nothing."""
    await tx.execute(
        update(turns)
        .where(turns.c.id == turn_id, turns.c.state == TurnState.RUNNING)
        .values(state=state, ended_at=now, usage=asdict(usage))
    )
