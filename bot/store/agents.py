"""The agents' own rows: who has them, and what their context remembers of its compactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, Unpack

from sqlalchemy import Integer, bindparam, case, cast, exists, func, select, update

from bot.estimate.meter import MeterRecord
from bot.messages import Address, AgentId
from bot.store.schema import agents, cursors
from bot.store.tx import InEach, Tx, insert_into

_NEW = ("id", "connector", "chat", "thread", "epoch", "touched_at", "paused", "cooldown", "calibration",
        "calibrated_for", "strategy", "model", "zone", "zone_of")  # fmt: skip
_IF_NEW = select(*(bindparam(name, type_=agents.c[name].type) for name in _NEW)).where(
    ~exists().where(agents.c.id == bindparam("id", type_=agents.c.id.type))
)
"""An INSERT alone would wait for whoever is just changing the row that is there, in the midst of a batch of others."""
_ENSURE = InEach(agents, lambda insert: insert.from_select(_NEW, _IF_NEW).on_conflict_do_nothing(index_elements=["id"]))
_THIS = agents.c.id == bindparam("agent")
_EPOCHS = "epochs"
"""The cursor that holds the highest epoch of a conversation that was forgotten. One that begins anew in its place is
above it, so that no host that still has the old one in memory can write to the new one."""
_HIGHEST = (
    select(func.coalesce(func.max(cast(cursors.c.value, Integer)), 0))
    .where(cursors.c.connector == _EPOCHS)
    .scalar_subquery()
)
_NEXT = case((agents.c.epoch < _HIGHEST, _HIGHEST), else_=agents.c.epoch) + 1
_CLAIM = update(agents).where(_THIS).values(epoch=_NEXT, starts=agents.c.starts + 1).returning(agents)
_REMEMBER = update(agents).where(_THIS)


@dataclass(frozen=True)
class AgentRow:
    """One agent. ``paused``: after an undo; ``cooldown``: messages that automatic compaction still skips;
    ``calibration``: what the provider counts over what we guess, of the model ``calibrated_for``; ``strategy`` and
    ``model``: what the agent chose, empty for none; ``zone`` and ``zone_of``: see
    :mod:`bot.store.zones`; ``starts``: how often it was begun, this time counted, since it last wrote anything;
    ``quiet_at``: when its prompt cache is about to expire, and a compaction may be worth it."""

    id: AgentId
    address: Address
    epoch: int
    paused: bool
    cooldown: int
    calibration: float
    calibrated_for: str
    strategy: str
    model: str = ""
    starts: int = 1
    zone: str = ""
    zone_of: str = ""
    quiet_at: float | None = None


async def ensure(tx: Tx, address: Address, *, now: float) -> None:
    """Make the row of a conversation, if it is new."""
    await tx.execute(
        _ENSURE.of(tx),
        {
            "id": address.agent_id,
            "connector": address.connector,
            "chat": address.chat,
            "thread": address.thread,
            "epoch": 0,
            "touched_at": now,
            "paused": False,
            "cooldown": 0,
            "calibration": 1.0,
            "calibrated_for": "",
            "strategy": "",
            "model": "",
            "zone": "",
            "zone_of": "",
        },
    )


async def claim(tx: Tx, agent_id: AgentId) -> AgentRow | None:
    """Raise the epoch: from now on no other host can write for this agent. None for an unknown agent."""
    raised = await tx.execute(_CLAIM, {"agent": agent_id})
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
        model=row["model"],
        starts=row["starts"],
        zone=row["zone"],
        zone_of=row["zone_of"],
        quiet_at=row["quiet_at"],
    )


async def factors(tx: Tx, agent_id: AgentId) -> dict[str, float]:
    """What the model that answered last counts for each token that we guess, by its name."""
    found = select(agents.c.calibrated_for, agents.c.calibration).where(agents.c.id == agent_id)
    return {name: factor for name, factor in await tx.execute(found) if name}


async def set_starts(tx: Tx, agent_id: AgentId, starts: int) -> None:
    """Count on from there; 0: whatever kept it from starting is over."""
    await tx.execute(_REMEMBER, {"agent": agent_id, "starts": starts})


async def no_failure(tx: Tx, agent_id: AgentId) -> None:
    """One start less counts: it was cut off from outside. Whoever has the agent now may have counted anew already."""
    await tx.execute(
        update(agents).where(agents.c.id == agent_id, agents.c.starts > 0).values(starts=agents.c.starts - 1)
    )


async def epoch(tx: Tx, agent_id: AgentId) -> int:
    """The epoch in force; 0 for an unknown agent."""
    row = await tx.execute(select(agents.c.epoch).where(agents.c.id == agent_id))
    return row.scalar_one_or_none() or 0


async def raise_epoch(tx: Tx, agent_id: AgentId) -> bool:
    """Whoever has it can write for it no more; False for an unknown agent."""
    raised = await tx.execute(update(agents).where(agents.c.id == agent_id).values(epoch=_NEXT))
    return raised.rowcount == 1


async def keep_above(tx: Tx, epoch: int) -> None:
    """Whoever is claimed from now on gets a higher epoch than this one."""
    added = insert_into(tx, cursors).values(connector=_EPOCHS, value=str(epoch))
    higher = cast(cursors.c.value, Integer) < epoch
    await tx.execute(
        added.on_conflict_do_update(index_elements=["connector"], set_={"value": str(epoch)}, where=higher)
    )


class Remembered(TypedDict, total=False):
    """What an agent keeps for its next compaction (see :class:`AgentRow`), and how full its context is."""

    paused: bool
    cooldown: int
    calibration: float
    calibrated_for: str
    meter: MeterRecord
    quiet_at: float | None


async def remember(tx: Tx, agent_id: AgentId, **changed: Unpack[Remembered]) -> None:
    """Keep this of an agent."""
    kept = {name: value.as_json() if isinstance(value, MeterRecord) else value for name, value in changed.items()}
    await tx.execute(_REMEMBER, {"agent": agent_id, **kept})


async def choose_strategy(tx: Tx, agent_id: AgentId, name: str) -> None:
    """From now on this agent compacts so; empty: as all that have not chosen."""
    await tx.execute(update(agents).where(agents.c.id == agent_id).values(strategy=name))


async def is_known(tx: Tx, agent_id: AgentId) -> bool:
    """Whether there is such a conversation."""
    return (await tx.execute(select(agents.c.id).where(agents.c.id == agent_id))).first() is not None


async def chosen_model(tx: Tx, agent_id: AgentId) -> str:
    """What it chose; empty for none."""
    row = await tx.execute(select(agents.c.model).where(agents.c.id == agent_id))
    return row.scalar_one_or_none() or ""


async def choose_model(tx: Tx, agent_id: AgentId, name: str) -> None:
    """From now on this agent is answered by this model; empty: as all that have not chosen."""
    await tx.execute(update(agents).where(agents.c.id == agent_id).values(model=name))
