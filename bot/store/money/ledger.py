"""The ledger: what each request to a model cost, in the transaction of the step that it belongs to.

::

    (reserved) ─▶ settled        the provider's figures; only these two are added up in `spending`
         │  └───▶ estimated      it was cut off: what was sent and received. The provider's figures may still come
         └ released              it was refused: the row goes

Each row has an id of its own, by which it is written once however often that is tried.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import ColumnElement, RowMapping, and_, bindparam, delete, literal_column, or_, select, update

from bot.history import Usage
from bot.messages import AgentId
from bot.runtime import prices
from bot.runtime.utc_day import day_of
from bot.store.money import spending
from bot.store.schema import compactions as runs
from bot.store.schema import entries, ledger, turns
from bot.store.tx import InEach, Tx

Purpose = Literal["turn", "summary", "facts", "embedding"]
RESERVED, SETTLED, ESTIMATED = "reserved", "settled", "estimated"
IS_RESERVED = ledger.c.state == literal_column(f"'{RESERVED}'")
"""By an index over such rows alone, which SQLite uses only where the state is no parameter."""
TOKENS = tuple(one.name for one in fields(Usage))
_LONGEST_MODEL = _LONGEST_REQUEST = 200
_AT_ONCE = 500


@dataclass(frozen=True)
class Charge:
    """One request, or one try of it. ``person``: for whom it was made; ``usage``: tokens; ``cost`` in nano-dollars,
    None where no price is known, and ``price`` in words; ``request``: the provider's id."""

    id: str
    agent_id: AgentId
    at: float
    purpose: Purpose
    model: str
    usage: Usage = field(default_factory=Usage)
    connector: str = ""
    person: str = ""
    provider: str = ""
    request: str = ""
    turn: str | None = None
    run: str | None = None
    price: str = ""
    cost: int | None = None
    state: str = SETTLED

    def priced(self, told: int | None = None) -> Charge:
        """With what it costs. ``told``: what the provider said that is, in nano-dollars."""
        if told is not None:
            return replace(self, price=prices.TOLD, cost=told)
        price = prices.price_of(self.model, self.provider)
        if price is None:
            return replace(self, price="", cost=None)
        return replace(self, price=price.in_words, cost=price.nano(self.usage))

    def as_row(self) -> dict[str, Any]:
        """For the table."""
        return {
            "agent_id": self.agent_id,
            "id": self.id,
            "at": self.at,
            "day": day_of(self.at),
            "state": self.state,
            "connector": self.connector,
            "person": self.person,
            "purpose": self.purpose,
            "model": self.model[:_LONGEST_MODEL],
            "provider": self.provider,
            "request": self.request[:_LONGEST_REQUEST],
            "turn_id": self.turn,
            "run_id": self.run,
            **asdict(self.usage),
            "price": self.price,
            "cost": self.cost,
        }


def new_id(at: float) -> str:
    """Those that come later are larger. ``at``: seconds since 1970."""
    return f"{round(at * 1_000):011x}-{uuid4().hex[:12]}"


_INSERT = InEach(ledger, lambda insert: insert.on_conflict_do_nothing(index_elements=["agent_id", "id"]))
_THIS = (ledger.c.agent_id == bindparam("of")) & (ledger.c.id == bindparam("which"))
_BEFORE = select(ledger).where(_THIS)
_CHANGE = update(ledger).where(_THIS)
_DROP = delete(ledger).where(_THIS, ledger.c.state == RESERVED)


async def reserve(tx: Tx, charge: Charge) -> None:
    """Write down what a request may cost, before it is sent."""
    await tx.execute(_INSERT.of(tx), replace(charge, state=RESERVED).as_row())


async def record(tx: Tx, charges: Sequence[Charge]) -> None:
    """What was spent: new rows, or in the place of what was reserved or estimated under their ids. What stands there
    with the provider's figures stays, and so does an estimate that whoever asked made, and not somebody after them."""
    for charge in charges:
        row = charge.as_row()
        inserted = await tx.execute(_INSERT.of(tx), row)
        if inserted.rowcount == 1:
            await spending.add(tx, row)
            continue
        before = (await tx.execute(_BEFORE, {"of": charge.agent_id, "which": charge.id})).mappings().one()
        is_better = charge.state != ESTIMATED or (charge.request and not before["request"])
        if before["state"] == SETTLED or (before["state"] == ESTIMATED and not is_better):
            continue
        if before["state"] == ESTIMATED:
            await spending.add(tx, before, times=-1)
        kept = row | {name: before[name] for name in ("at", "day", "connector", "person")}
        values = {name: value for name, value in kept.items() if name not in ("agent_id", "id")}
        await tx.execute(_CHANGE, values | {"of": charge.agent_id, "which": charge.id})
        await spending.add(tx, kept)


async def release(tx: Tx, agent_id: AgentId, ids: Collection[str]) -> None:
    """These were not sent, or refused: nothing is reserved for them any more."""
    for one in ids:
        await tx.execute(_DROP, {"of": agent_id, "which": one})


async def close(tx: Tx, agent_id: AgentId, *, turn: str | None = None, run: str | None = None) -> int:
    """Nobody waits any longer for what is reserved for this turn, or this run: what was sent is taken to be spent.
    Returns how many rows that were."""
    own = ledger.c.turn_id == turn if turn else ledger.c.run_id == run
    return await _close(tx, (ledger.c.agent_id == agent_id) & own)


async def close_stranded(tx: Tx, *, before: float) -> int:
    """The same of all that nobody goes on with: whose turn or run has ended, and what began ``before`` this."""
    turn_runs = select(turns.c.id).where(turns.c.id == ledger.c.turn_id, turns.c.state == "running").exists()
    run_is_open = select(runs.c.id).where(runs.c.id == ledger.c.run_id, runs.c.state.in_(("planned", "running")))
    of_turn, of_run = ledger.c.turn_id.is_not(None), ledger.c.run_id.is_not(None)
    return await _close(tx, (of_turn & ~turn_runs) | (of_run & ~run_is_open.exists()) | (ledger.c.at < before))


async def _close(tx: Tx, condition: ColumnElement[bool]) -> int:
    found = await tx.execute(select(ledger).where(condition, IS_RESERVED))
    rows = found.mappings().all()
    for row in rows:
        reserved = charge_of(row)
        sent = replace(reserved, usage=replace(reserved.usage, output=0), state=ESTIMATED).priced()
        await tx.execute(_DROP, {"of": row["agent_id"], "which": row["id"]})
        await record(tx, [sent])
    return len(rows)


_LAST = (
    select(ledger)
    .where(
        ledger.c.agent_id == bindparam("of"),
        ledger.c.id >= bindparam("since"),  # those of turns begin with the time
        ledger.c.id < bindparam("till"),
        ledger.c.purpose == "turn",
        ledger.c.model == bindparam("by"),
        or_(
            ledger.c.state == SETTLED,
            and_(ledger.c.state == ESTIMATED, ledger.c.cache_read + ledger.c.cache_creation > 0),
        ),
    )
    .order_by(ledger.c.id.desc())
    .limit(1)
)


_KEPT_SECONDS = 3_600.0
"""No cache keeps anything longer."""


async def last_of(tx: Tx, agent_id: AgentId, model: str, *, now: float) -> Charge | None:
    """The newest request for an answer that this model got in a conversation within an hour, of those of which it is
    known, or was expected, what its cache had."""
    between = {"since": new_id(now - _KEPT_SECONDS)[:11], "till": new_id(now + 1)[:11]}
    row = (await tx.execute(_LAST, {"of": agent_id, "by": model, **between})).mappings().one_or_none()
    return charge_of(row) if row else None


async def is_accounted(tx: Tx, agent_id: AgentId, turn: str) -> bool:
    """Whether something of this turn was counted that was asked after the last entry of its conversation."""
    last = select(entries.c.created_at).where(entries.c.agent_id == agent_id).order_by(entries.c.seq.desc()).limit(1)
    since = (await tx.execute(last)).scalar_one_or_none() or 0.0
    own = (ledger.c.agent_id == agent_id) & (ledger.c.id >= new_id(since)[:11]) & (ledger.c.turn_id == turn)
    return (await tx.execute(select(ledger.c.id).where(own).limit(1))).first() is not None


async def forget_person(tx: Tx, connector: str, person: str) -> int:
    """What was spent for somebody stays, without the name; returns how many rows of the ledger had it."""
    theirs = (ledger.c.connector == connector) & (ledger.c.person == person)
    changed = await tx.execute(update(ledger).where(theirs).values(person=""))
    await spending.forget_person(tx, connector, person)
    return changed.rowcount


async def clean(tx: Tx, *, before: float) -> int:
    """Take out rows that are older than this, some at a time; what they add up to stays. Returns how many."""
    old = select(ledger.c.agent_id, ledger.c.id).where(ledger.c.at < before, ledger.c.state != RESERVED)
    rows = (await tx.execute(old.limit(_AT_ONCE))).all()
    if rows:
        gone = delete(ledger).where(_THIS)
        for agent_id, one in rows:
            await tx.execute(gone, {"of": agent_id, "which": one})
    return len(rows)


async def rows(tx: Tx, *, since: float, before: float, after: tuple[float, str] | None = None) -> list[RowMapping]:
    """Some rows of this time, the oldest first, behind the one that began ``after`` that and has that id."""
    chosen = select(ledger).where(ledger.c.at >= since, ledger.c.at < before)
    if after is not None:
        at, one = after
        chosen = chosen.where((ledger.c.at > at) | ((ledger.c.at == at) & (ledger.c.id > one)))
    return list((await tx.execute(chosen.order_by(ledger.c.at, ledger.c.id).limit(_AT_ONCE))).mappings())


def charge_of(row: RowMapping) -> Charge:
    """The charge of a whole row."""
    return Charge(
        id=row["id"],
        agent_id=AgentId(row["agent_id"]),
        at=row["at"],
        purpose=row["purpose"],
        model=row["model"],
        usage=Usage(**{name: row[name] for name in TOKENS}),
        connector=row["connector"],
        person=row["person"],
        provider=row["provider"],
        request=row["request"],
        turn=row["turn_id"],
        run=row["run_id"],
        price=row["price"],
        cost=row["cost"],
        state=row["state"],
    )
