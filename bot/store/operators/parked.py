"""What was put aside because answering it, or storing it, failed again and again. Nothing here comes back by itself.

An inbox row that is parked has a number for a name. What the inbox could not even take is named by ``u`` and a number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import RowMapping, select, update

from bot.errors import Cause
from bot.messages import Address, AgentId, Attachment, Inbound, Quote
from bot.store import agents, outbox
from bot.store import inbox as inbox_rows
from bot.store.schema import inbox, skipped_updates, turns
from bot.store.tx import Tx

_LONGEST_REASON = 2_000
_NUMBERED = "u"


@dataclass(frozen=True)
class Parked:
    """One message that was put aside; times in seconds since 1970. ``turn``: the last one that tried to answer it."""

    id: str
    agent_id: AgentId
    connector: str
    key: str
    kind: str
    person: str
    person_name: str
    text: str
    files: tuple[str, ...]
    parked_at: float
    reason: str
    received_at: float | None = None
    turn: str | None = None


async def park(tx: Tx, ids: Sequence[int], reason: str, *, now: float) -> None:
    """Put these rows of the inbox aside; one that is answered stays so."""
    open_rows = inbox.c.id.in_(ids) & inbox.c.state.in_(("waiting", "taken"))
    await tx.execute(update(inbox).where(open_rows).values(_set_aside(reason, now)))


async def park_turn(tx: Tx, turn_id: str, reason: str, *, now: float) -> list[int]:
    """Put aside all that this turn took; returns the rows."""
    taken = (inbox.c.turn_id == turn_id) & (inbox.c.state == "taken")
    rows = await tx.execute(update(inbox).where(taken).values(_set_aside(reason, now)).returning(inbox.c.id))
    return sorted(row[0] for row in rows)


async def taken_by(tx: Tx, turn_id: str) -> list[int]:
    """The rows of the inbox that this turn has."""
    rows = await tx.execute(select(inbox.c.id).where(inbox.c.turn_id == turn_id, inbox.c.state == "taken"))
    return sorted(row[0] for row in rows)


async def release_turn(tx: Tx, turn_id: str, tries: int) -> list[int]:
    """What this turn took waits again, with so many tries behind it; returns the rows."""
    taken = (inbox.c.turn_id == turn_id) & (inbox.c.state == "taken")
    values = {"state": "waiting", "turn_id": None, "tries": tries}
    rows = await tx.execute(update(inbox).where(taken).values(values).returning(inbox.c.id))
    return sorted(row[0] for row in rows)


async def skip(tx: Tx, inbound: Inbound, reason: str, *, now: float) -> str:
    """Keep what the inbox could not take; returns its name."""
    added = await tx.execute(
        skipped_updates.insert()
        .values(
            connector=inbound.address.connector,
            content=json.dumps(asdict(inbound), default=str),
            reason=_stored(reason),
            skipped_at=now,
        )
        .returning(skipped_updates.c.id)
    )
    return f"{_NUMBERED}{added.scalar_one()}"


async def listed(tx: Tx, *, most: int = 1_000) -> list[Parked]:
    """The newest that are parked, oldest first."""
    rows = await tx.execute(
        select(inbox).where(inbox.c.state == "parked").order_by(inbox.c.parked_at.desc(), inbox.c.id.desc()).limit(most)
    )
    skipped = await tx.execute(select(skipped_updates).order_by(skipped_updates.c.id.desc()).limit(most))
    found = [*map(_of_row, rows.mappings()), *map(_of_update, skipped.mappings())]
    return sorted(found, key=lambda one: one.parked_at)[-most:]


async def all_skipped(tx: Tx) -> list[Parked]:
    """All that the inbox could not take."""
    return [_of_update(row) for row in (await tx.execute(select(skipped_updates))).mappings()]


async def unquote(tx: Tx, connector: str, *, key: str = "", person: str = "") -> int:
    """What the inbox could not take no longer quotes this message, or this person; returns how many did."""
    changed = 0
    named = skipped_updates.c.content.contains(json.dumps(key or person), autoescape=True)
    rows = await tx.execute(select(skipped_updates).where(skipped_updates.c.connector == connector, named))
    for row in rows.mappings().all():
        inbound = _inbound(content := json.loads(row["content"]))
        quote = inbound.quote
        if quote and ((key and quote.key == key) or (person and quote.person == person)):
            this = skipped_updates.c.id == row["id"]
            await tx.execute(update(skipped_updates).where(this).values(content=json.dumps({**content, "quote": None})))
            changed += 1
    return changed


async def get(tx: Tx, name: str) -> Parked | None:
    """One of them; None where nothing of this name is parked."""
    number = _number(name)
    if number is None:
        return None
    if name.startswith(_NUMBERED):
        rows = await tx.execute(select(skipped_updates).where(skipped_updates.c.id == number))
        row = rows.mappings().one_or_none()
        return _of_update(row) if row else None
    rows = await tx.execute(select(inbox).where(inbox.c.id == number, inbox.c.state == "parked"))
    row = rows.mappings().one_or_none()
    return _of_row(row) if row else None


async def retry(tx: Tx, name: str, *, now: float) -> Parked | None:
    """It waits to be answered again, as if it had just come; None where nothing of this name is parked.

    What the inbox could not take is given to it once more; whatever that raises is raised here.
    """
    found = await get(tx, name)
    if found is None:
        return None
    number = _number(name)
    if name.startswith(_NUMBERED):
        rows = await tx.execute(
            skipped_updates.delete().where(skipped_updates.c.id == number).returning(skipped_updates.c.content)
        )
        await inbox_rows.add(tx, _inbound(json.loads(rows.scalar_one())), now=now)
        return found
    await tx.execute(
        update(inbox)
        .where(inbox.c.id == number, inbox.c.state == "parked")
        .values(state="waiting", turn_id=None, tries=0, parked_at=None, reason="")
    )
    await agents.set_starts(tx, found.agent_id, 0)  # perhaps it was its agent that broke
    return found


@dataclass(frozen=True)
class Ended:
    """A turn that was ended by its rows alone: the slot of its reply, and the inbox rows that were put aside."""

    turn: str
    slot: int
    rows: list[int]


async def end_running(tx: Tx, agent_id: AgentId, reason: str, *, now: float) -> Ended | None:
    """End the turn that an agent has under way, and put its messages aside; None where there is none."""
    rows = await tx.execute(
        update(turns)
        .where(turns.c.agent_id == agent_id, turns.c.state == "running")
        .values(state="failed", ended_at=now, cause=Cause.BROKEN)
        .returning(turns.c.id, turns.c.slot)
    )
    found = rows.first()
    await outbox.release(tx, agent_id)
    return Ended(found[0], found[1], await park_turn(tx, found[0], reason, now=now)) if found else None


def _set_aside(reason: str, now: float) -> Mapping[str, Any]:
    return {"state": "parked", "parked_at": now, "reason": _stored(reason)}


def _stored(reason: str) -> str:
    """An error's text may hold what no database takes, such as the letter that the error was about."""
    shown = reason.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return shown[:_LONGEST_REASON]


def _number(name: str) -> int | None:
    digits = name.removeprefix(_NUMBERED)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None  # noqa: PLR2004


def _of_row(row: RowMapping) -> Parked:
    return Parked(
        id=str(row["id"]),
        agent_id=AgentId(row["agent_id"]),
        connector=row["connector"],
        key=row["key"],
        kind=row["kind"],
        person=row["person"],
        person_name=row["person_name"],
        text=row["text"],
        files=tuple(str(file["name"]) for file in row["attachments"]),
        parked_at=row["parked_at"],
        reason=row["reason"],
        received_at=row["received_at"],
        turn=row["turn_id"],
    )


def _of_update(row: RowMapping) -> Parked:
    inbound = _inbound(json.loads(row["content"]))
    return Parked(
        id=f"{_NUMBERED}{row['id']}",
        agent_id=inbound.address.agent_id,
        connector=row["connector"],
        key=inbound.key,
        kind=inbound.kind,
        person=inbound.person,
        person_name=inbound.person_name,
        text=inbound.text,
        files=tuple(one.name for one in inbound.attachments),
        parked_at=row["skipped_at"],
        reason=row["reason"],
    )


def _inbound(data: Mapping[str, Any]) -> Inbound:
    """Back from the book. When it was sent is of no use any more."""
    attachments = tuple(Attachment(**one) for one in data["attachments"])
    quote = Quote(**data["quote"]) if data.get("quote") else None
    address = Address(**data["address"])
    return Inbound(**{**data, "address": address, "attachments": attachments, "quote": quote, "sent_at": None})
