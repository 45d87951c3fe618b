"""Turns: from a taken inbound to a committed reply."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import pairwise

from sqlalchemy import RowMapping, bindparam, func, literal, select, update

from bot.estimate.meter import Meter
from bot.history import Usage
from bot.messages import AgentId
from bot.runtime.turn_seconds import TurnSeconds
from bot.store.schema import entries, inbox, outbox, turns
from bot.store.tx import Tx


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


_INSERT = turns.insert()
_RECEIVED_AT = (
    select(func.min(inbox.c.received_at)).where(inbox.c.turn_id == turns.c.id).scalar_subquery().label("received_at")
)
_PERSON = (
    select(inbox.c.person)
    .where(inbox.c.turn_id == turns.c.id)
    .order_by(inbox.c.position.desc())
    .limit(1)
    .scalar_subquery()
    .label("person")
)
_END = update(turns).where(turns.c.id == bindparam("turn"), turns.c.state == literal(TurnState.RUNNING))


@dataclass(frozen=True)
class TurnRow:
    """One turn. ``recoveries`` counts the compactions that overflows of the provider have cost it; ``tries`` how often
    it was begun or gone on with since it last came any further. ``received_at``: when the first of its messages came.
    ``stopped_upto``: a person stopped the compaction of the context that ends with this entry, for which it waited; 0:
    nobody did.
    """

    id: str
    agent_id: AgentId
    slot: int
    recoveries: int
    tries: int = 1
    started_at: float = 0.0
    received_at: float = 0.0
    stopped_upto: int = 0
    person: str = ""
    """Who said the last of what it answers."""
    reopened: bool = False
    """It had failed, and somebody asked for another try just now."""


async def begin(
    tx: Tx,
    turn_id: str,
    agent_id: AgentId,
    slot: int,
    *,
    now: float,
    tries: int = 1,
    received_at: float | None = None,
    person: str = "",
) -> TurnRow:
    """A new turn, running. ``tries``: this one counted, with those that its messages have cost before; ``person``: who
    said the last of those."""
    values = {"id": turn_id, "agent_id": agent_id, "state": TurnState.RUNNING, "slot": slot}
    await tx.execute(_INSERT, {**values, "recoveries": 0, "started_at": now, "tries": tries})
    came = now if received_at is None else received_at
    return TurnRow(turn_id, agent_id, slot, 0, tries, now, came, person=person)


async def running(tx: Tx, agent_id: AgentId) -> TurnRow | None:
    """The turn that a crash or a move cut off, if any."""
    rows = await tx.execute(
        select(turns, _RECEIVED_AT, _PERSON).where(turns.c.agent_id == agent_id, turns.c.state == TurnState.RUNNING)
    )
    row = rows.mappings().first()
    return _row(row) if row else None


async def failed(tx: Tx, agent_id: AgentId, turn_id: str, causes: Collection[str]) -> TurnRow | None:
    """This turn of the agent, where it has failed for one of these causes; ``turn_id``: empty for the last that has."""
    found = select(turns, _RECEIVED_AT, _PERSON).where(turns.c.agent_id == agent_id, turns.c.state == TurnState.FAILED)
    found = found.where(turns.c.cause.in_(causes), *([turns.c.id == turn_id] if turn_id else []))
    row = (await tx.execute(found.order_by(turns.c.started_at.desc()).limit(1))).mappings().first()
    return _row(row) if row else None


async def reopen(tx: Tx, row: TurnRow, slot: int) -> TurnRow:
    """A turn that has failed runs again, with another place for its reply, as if it had just begun."""
    fresh = {"slot": slot, "recoveries": 0, "tries": 1, "stopped_upto": 0}
    values = {"state": TurnState.RUNNING, "ended_at": None, "cause": "", "stopped_run": "", **fresh}
    await tx.execute(update(turns).where(turns.c.id == row.id).values(**values))
    await tx.execute(update(inbox).where(inbox.c.turn_id == row.id).values(state="taken"))
    return replace(row, slot=slot, recoveries=0, tries=1, stopped_upto=0, reopened=True)


def _row(row: RowMapping) -> TurnRow:
    started, received = row["started_at"], row["received_at"]
    return TurnRow(
        row["id"],
        AgentId(row["agent_id"]),
        row["slot"],
        row["recoveries"],
        row["tries"],
        started,
        started if received is None else received,
        row["stopped_upto"],
        row["person"] or "",
    )


async def stopped_since(tx: Tx, agent_id: AgentId, since: float) -> str | None:
    """What people read of the newest answer that a person stopped since then; None: none was."""
    stopped = (turns.c.agent_id == agent_id) & (turns.c.state == TurnState.ABORTED) & (turns.c.ended_at >= since)
    newest = select(outbox.c.text).join(turns, turns.c.slot == outbox.c.id).where(stopped)
    return (await tx.execute(newest.order_by(turns.c.started_at.desc()).limit(1))).scalar_one_or_none()


async def has_entry(tx: Tx, agent_id: AgentId, turn_id: str, *, since: int) -> bool:
    """Whether an entry of this turn with this number or a later one is in the history."""
    found = select(entries.c.seq).where(
        entries.c.agent_id == agent_id, entries.c.seq >= since, entries.c.turn_id == turn_id
    )
    return (await tx.execute(found.limit(1))).first() is not None


async def last_model(tx: Tx, agent_id: AgentId) -> str:
    """Who was asked last; empty where that is not known."""
    newest = select(turns.c.model).where(turns.c.agent_id == agent_id).order_by(turns.c.started_at.desc())
    return (await tx.execute(newest.limit(1))).scalar_one_or_none() or ""


async def pauses(tx: Tx, agent_id: AgentId, *, most: int) -> list[float]:
    """Seconds between the end of one turn and the beginning of the next, of so many of the newest."""
    newest = select(turns.c.started_at, turns.c.ended_at).where(turns.c.agent_id == agent_id)
    rows = (await tx.execute(newest.order_by(turns.c.started_at.desc()).limit(most))).all()
    return [later.started_at - one.ended_at for later, one in pairwise(rows) if one.ended_at is not None]


async def count_try(tx: Tx, turn_id: str) -> None:
    """It is tried once more."""
    await tx.execute(update(turns).where(turns.c.id == turn_id).values(tries=turns.c.tries + 1))


async def give_back_try(tx: Tx, turn_id: str) -> None:
    """The try that was under way does not count: the program was asked to end."""
    begun = (turns.c.id == turn_id) & (turns.c.tries > 0)
    await tx.execute(update(turns).where(begun).values(tries=turns.c.tries - 1))


async def give_back_moved(tx: Tx, agent_id: AgentId) -> None:
    """The try that another host took from us does not count: nobody failed."""
    begun = (turns.c.agent_id == agent_id) & (turns.c.state == TurnState.RUNNING) & (turns.c.tries > 0)
    await tx.execute(update(turns).where(begun).values(tries=turns.c.tries - 1))


async def progressed(tx: Tx, turn_id: str) -> None:
    """It came further: what kills it now is something else than before."""
    await tx.execute(update(turns).where(turns.c.id == turn_id).values(tries=0))


async def count_recovery(tx: Tx, turn_id: str) -> None:
    """One more compaction because the provider refused the context."""
    await tx.execute(update(turns).where(turns.c.id == turn_id).values(recoveries=turns.c.recoveries + 1))


async def compaction_stopped(tx: Tx, turn_id: str, run_id: str, upto: int) -> None:
    """A person stopped this compaction of a context up to an entry, for which the turn waited: it goes on without."""
    await tx.execute(update(turns).where(turns.c.id == turn_id).values(stopped_run=run_id, stopped_upto=upto))


async def stopped_run(tx: Tx, turn_id: str) -> str:
    """The last compaction that a person stopped while this turn waited for it; empty: none."""
    return str((await tx.execute(select(turns.c.stopped_run).where(turns.c.id == turn_id))).scalar_one_or_none() or "")


async def end(
    tx: Tx,
    turn_id: str,
    state: TurnState,
    usage: Usage,
    *,
    now: float,
    meter: Meter | None = None,
    timing: TurnSeconds | None = None,
    cause: str = "",
    model: str = "",
) -> None:
    """The turn is over. Ending it twice changes nothing. ``meter``: how full the context is now; ``timing``: where its
    time went; ``cause``: why it failed; ``model``: who was asked last."""
    spent = asdict(timing) if timing else None
    ended = {"turn": turn_id, "state": state, "ended_at": now, "usage": asdict(usage), "timing": spent}
    ended |= {"cause": cause, "model": model}
    full = {"context_tokens": meter.total if meter else None, "context_limit": meter.limit if meter else None}
    await tx.execute(_END, {**ended, **full})
