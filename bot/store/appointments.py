"""Appointments: what is to be said, or whom the agent is to be woken for, and when somebody has to look at it next.

A row is in the time of a wall; ``next_at`` is derived from it, and is the only thing that anybody waits by. Whoever
takes a due one says which ``next_at`` they saw: of two who take it, one finds it moved, and does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import ColumnElement, RowMapping, bindparam, delete, func, insert, select, text, update

from bot.messages import Address, AgentId
from bot.store.schema import agents, appointments, closed_chats, quiet_hours
from bot.store.tx import Tx, insert_into

Kind = Literal["say", "wake"]


class State(StrEnum):
    """What has become of an appointment."""

    ASKED = "asked"
    """Nobody has said yet which of its choices is meant."""
    SET = "set"
    """It is to come (again)."""
    DONE = "done"
    """It came, for the last time."""
    MISSED = "missed"
    """The program was away when it was due, and it is too late to say it."""
    CANCELLED = "cancelled"
    RETIRED = "retired"
    """Its chat takes nothing from us any more."""
    BROKEN = "broken"
    """Something in the program broke on it."""


@dataclass(frozen=True)
class Appointment:
    """One row, without its conversation; instants are seconds since 1970 (see the table for the rest)."""

    number: int
    connector: str
    person: str
    person_name: str
    kind: Kind
    text: str
    state: State
    zone: str
    local: str
    rule: str = ""
    at: float | None = None
    follows: bool = True
    often: str = ""
    urgent: bool = False
    choices: tuple[Mapping[str, Any], ...] = ()
    due_at: float | None = None
    next_at: float | None = None
    said_at: float | None = None
    said: int = 0
    unread: bool = False
    made_at: float = 0.0
    changed_at: float = 0.0


_FIELDS = frozenset(field.name for field in fields(Appointment))
_OF_AGENT = appointments.c.agent_id == bindparam("agent")
_WAITS = appointments.c.next_at.is_not(None)
_THIS = _OF_AGENT & (appointments.c.number == bindparam("which"))
_NEXT = (
    select(appointments.c.next_at)
    .where(_WAITS, appointments.c.next_at > bindparam("now"))
    .order_by(appointments.c.next_at)
    .limit(1)
)
_DUE = (
    select(appointments)
    .where(_OF_AGENT, _WAITS, appointments.c.next_at <= bindparam("now"))
    .order_by(appointments.c.next_at)
    .limit(bindparam("most"))
)
_IS_UNREAD = text("appointments.unread")
"""As its index has it: SQLite does not use that one for ``unread = 1``, which is what a column of it becomes."""
_UNREAD = select(appointments).where(_OF_AGENT, _IS_UNREAD).order_by(appointments.c.said_at)


async def next_instant(tx: Tx, *, now: float) -> float | None:
    """When somebody has to look at one after this moment, of all that there are: one step along an index."""
    return (await tx.execute(_NEXT, {"now": now})).scalar_one_or_none()


async def due(tx: Tx, agent_id: AgentId, *, now: float, most: int) -> list[Appointment]:
    """Those of this agent that are to be looked at, the oldest first; no other row is read."""
    rows = await tx.execute(_DUE, {"agent": agent_id, "now": now, "most": most})
    return [appointment_of(row) for row in rows.mappings()]


async def get(tx: Tx, agent_id: AgentId, number: int) -> Appointment | None:
    """The one of this number."""
    rows = await tx.execute(select(appointments).where(_THIS), {"agent": agent_id, "which": number})
    row = rows.mappings().one_or_none()
    return appointment_of(row) if row else None


async def coming(tx: Tx, agent_id: AgentId, *, most: int = 100) -> list[Appointment]:
    """Those that are to come, the next first."""
    chosen = select(appointments).where(_OF_AGENT, appointments.c.state == State.SET)
    rows = await tx.execute(chosen.order_by(appointments.c.next_at).limit(most), {"agent": agent_id})
    return [appointment_of(row) for row in rows.mappings()]


async def missed(tx: Tx, agent_id: AgentId, *, since: float, most: int = 20) -> list[Appointment]:
    """Those that were due while the program was away, the last first."""
    chosen = select(appointments).where(
        _OF_AGENT, appointments.c.state == State.MISSED, appointments.c.changed_at >= since
    )
    rows = await tx.execute(chosen.order_by(appointments.c.due_at.desc()).limit(most), {"agent": agent_id})
    return [appointment_of(row) for row in rows.mappings()]


async def add(tx: Tx, agent_id: AgentId, new: Appointment) -> Appointment:
    """Write a new one, under the next number. Within a fenced step: nobody else gives this agent numbers."""
    highest = select(func.coalesce(func.max(appointments.c.number), 0)).where(_OF_AGENT)
    number = int((await tx.execute(highest, {"agent": agent_id})).scalar_one()) + 1
    numbered = replace(new, number=number)
    await tx.execute(insert(appointments), {"agent_id": agent_id, **_values(numbered)})
    return numbered


async def change(tx: Tx, agent_id: AgentId, number: int, *, seen: float | None, **values: Any) -> bool:
    """Change one whose ``next_at`` is the one that was seen; False where somebody else has changed it."""
    table = appointments.c
    as_seen = table.next_at.is_(None) if seen is None else table.next_at == seen
    this = (table.agent_id == agent_id) & (table.number == number)
    changed = await tx.execute(update(appointments).where(this, as_seen).values(**values))
    return bool(changed.rowcount == 1)


async def cancel(tx: Tx, agent_id: AgentId, number: int, *, now: float) -> bool:
    """It does not come any more; False where it would not have come anyhow."""
    open_ones = appointments.c.state.in_((State.SET, State.ASKED))
    this = (appointments.c.agent_id == agent_id) & (appointments.c.number == number) & open_ones
    gone: dict[str, Any] = {"state": State.CANCELLED, "next_at": None, "changed_at": now, "choices": []}
    return bool((await tx.execute(update(appointments).where(this).values(**gone))).rowcount)


async def retire(tx: Tx, agent_id: AgentId, *, now: float) -> int:
    """None of this conversation comes any more: its chat takes nothing from us."""
    these = (appointments.c.agent_id == agent_id) & (appointments.c.state == State.SET)
    gone: dict[str, Any] = {"state": State.RETIRED, "next_at": None, "changed_at": now}
    return (await tx.execute(update(appointments).where(these).values(**gone))).rowcount


async def give_up(tx: Tx, agent_id: AgentId, number: int, *, now: float) -> None:
    """Something in the program broke on this one: it does not come any more."""
    this = (appointments.c.agent_id == agent_id) & (appointments.c.number == number)
    await tx.execute(update(appointments).where(this).values(state=State.BROKEN, next_at=None, changed_at=now))


async def is_closed(tx: Tx, agent_id: AgentId) -> bool:
    """Whether the chat of this conversation takes nothing from us."""
    here = (closed_chats.c.connector == agents.c.connector) & (closed_chats.c.chat == agents.c.chat)
    rows = await tx.execute(select(closed_chats.c.chat).where(here, agents.c.id == agent_id).limit(1))
    return rows.first() is not None


async def unread(tx: Tx, agent_id: AgentId) -> list[Appointment]:
    """What came since the model was told last."""
    rows = await tx.execute(_UNREAD, {"agent": agent_id})
    return [appointment_of(row) for row in rows.mappings()]


async def read(tx: Tx, agent_id: AgentId) -> None:
    """The model is told of all that came."""
    of_agent = appointments.c.agent_id == agent_id
    await tx.execute(update(appointments).where(of_agent, _IS_UNREAD).values(unread=False))


async def count(tx: Tx, agent_id: AgentId, connector: str, person: str) -> tuple[int, int]:
    """How many are to come of this person, wherever that is, and in this conversation."""
    is_set = appointments.c.state == State.SET
    theirs = (appointments.c.connector == connector) & (appointments.c.person == person)
    counted = [
        (await tx.execute(select(func.count()).select_from(appointments).where(which, is_set))).scalar_one()
        for which in (theirs, appointments.c.agent_id == agent_id)
    ]
    return int(counted[0]), int(counted[1])


async def of_person(tx: Tx, connector: str, person: str) -> list[tuple[Address, Appointment]]:
    """All of theirs that are to come, in every conversation."""
    return await _set_ones(tx, (appointments.c.connector == connector) & (appointments.c.person == person))


async def of_chat(tx: Tx, address: Address) -> list[tuple[Address, Appointment]]:
    """All that are to come in the conversations of this chat."""
    return await _set_ones(tx, (agents.c.connector == address.connector) & (agents.c.chat == address.chat))


async def _set_ones(tx: Tx, which: ColumnElement[bool]) -> list[tuple[Address, Appointment]]:
    places = [agents.c.chat, agents.c.thread]
    chosen = select(appointments, *places).join(agents, agents.c.id == appointments.c.agent_id)
    rows = await tx.execute(chosen.where(which, appointments.c.state == State.SET))
    return [(Address(row["connector"], row["chat"], row["thread"]), appointment_of(row)) for row in rows.mappings()]


async def all_coming(tx: Tx, agent_id: str = "", *, most: int) -> list[tuple[AgentId, Appointment]]:
    """Those of all conversations, or of one, that are to come, the next first."""
    return await _all(tx, appointments.c.next_at.is_not(None), agent_id, appointments.c.next_at, most)


async def all_missed(tx: Tx, agent_id: str = "", *, most: int) -> list[tuple[AgentId, Appointment]]:
    """Those that did not come, since the program was away for too long, broke on them, or their chat was closed."""
    gone = appointments.c.next_at.is_(None) & appointments.c.state.in_((State.MISSED, State.BROKEN, State.RETIRED))
    return await _all(tx, gone, agent_id, appointments.c.changed_at.desc(), most)


async def _all(
    tx: Tx, which: ColumnElement[bool], agent_id: str, order: ColumnElement[Any], most: int
) -> list[tuple[AgentId, Appointment]]:
    chosen = select(appointments).where(which).order_by(order).limit(most)
    if agent_id:
        chosen = chosen.where(appointments.c.agent_id == agent_id)
    return [(AgentId(row["agent_id"]), appointment_of(row)) for row in (await tx.execute(chosen)).mappings()]


async def overdue_since(tx: Tx, *, now: float) -> float | None:
    """When the oldest one was due that nobody has taken yet."""
    waits = appointments.c.next_at.is_not(None) & (appointments.c.next_at <= now)
    rows = await tx.execute(select(appointments.c.next_at).where(waits).order_by(appointments.c.next_at).limit(1))
    return rows.scalar_one_or_none()


async def forget_person(tx: Tx, agent_id: AgentId, person: str) -> int:
    """This person's are gone; returns how many there were. Of the newest row the number stays."""
    theirs = (appointments.c.agent_id == agent_id) & (appointments.c.person == person)
    newest = select(func.max(appointments.c.number)).where(appointments.c.agent_id == agent_id).scalar_subquery()
    blank: dict[str, Any] = {
        "person": "",
        "person_name": "",
        "text": "",
        "state": State.CANCELLED,
        "next_at": None,
        "choices": [],
    }
    kept = await tx.execute(
        update(appointments).where(theirs, appointments.c.number == newest).values(**blank, unread=False)
    )
    return kept.rowcount + (await tx.execute(delete(appointments).where(theirs))).rowcount


async def clean(tx: Tx, *, before: float, most: int = 1_000) -> int:
    """Take out some of what was over before this moment; returns how many rows that were. The newest one of a
    conversation stays, or its number would be given again."""
    newer = appointments.alias()
    above = select(newer.c.number).where(
        newer.c.agent_id == appointments.c.agent_id, newer.c.number > appointments.c.number
    )
    over: Collection[ColumnElement[bool]] = (
        appointments.c.next_at.is_(None),
        appointments.c.changed_at < before,
        above.exists(),
    )
    rows = (await tx.execute(select(appointments.c.agent_id, appointments.c.number).where(*over).limit(most))).all()
    for agent_id, number in rows:
        this = (appointments.c.agent_id == agent_id) & (appointments.c.number == number)
        await tx.execute(delete(appointments).where(this))
    return len(rows)


async def quiet(tx: Tx, connector: str, person: str) -> tuple[int, int] | None:
    """When this person wants to be left alone: from, and to, in minutes of the day."""
    this = (quiet_hours.c.connector == connector) & (quiet_hours.c.person == person)
    found = (await tx.execute(select(quiet_hours.c.begins, quiet_hours.c.ends).where(this))).first()
    return (found[0], found[1]) if found else None


async def release_held(tx: Tx, connector: str, person: str) -> None:
    """What quiet hours held is looked at again at once: they have changed."""
    table = appointments.c
    theirs = (table.connector == connector) & (table.person == person) & (table.next_at > table.due_at)
    await tx.execute(update(appointments).where(theirs).values(next_at=table.due_at))


async def set_quiet(tx: Tx, connector: str, person: str, hours: tuple[int, int] | None) -> None:
    """From now on; None: no longer."""
    this = (quiet_hours.c.connector == connector) & (quiet_hours.c.person == person)
    await tx.execute(delete(quiet_hours).where(this))
    if hours:
        new = {"connector": connector, "person": person, "begins": hours[0], "ends": hours[1]}
        added = insert_into(tx, quiet_hours).values(**new)
        await tx.execute(added.on_conflict_do_update(index_elements=["connector", "person"], set_=new))


def _values(appointment: Appointment) -> dict[str, Any]:
    return {**asdict(appointment), "state": appointment.state.value, "choices": list(appointment.choices)}


def appointment_of(row: RowMapping | Mapping[str, Any]) -> Appointment:
    """The appointment of a whole row of its table."""
    found = {name: value for name, value in row.items() if name in _FIELDS}
    choices: Sequence[Mapping[str, Any]] = found["choices"]
    return Appointment(**{**found, "state": State(found["state"]), "choices": tuple(choices)})
