"""Who was let in, and who asked: one row a person. Nothing that an unknown person wrote is here.

Somebody whose code has expired is remembered for a while: who asks again is nobody new, of whom admins were told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, RowMapping, delete, func, select, update

from bot.messages import Address
from bot.runtime import access
from bot.store import outbox
from bot.store.schema import people
from bot.store.tx import Tx, insert_into

MOST_PENDING = 100
"""People who may wait to be let in; whoever comes then is not remembered."""
_REMEMBERED_SECONDS = 86_400.0
"""After their code has expired, unless others want the place."""


@dataclass(frozen=True)
class Asked:
    """``code``: what they can be let in by; ``is_new``: they had not asked before; ``lately``: so many new people asked
    in the time that a code is good for, with them."""

    code: str
    is_new: bool
    lately: int


@dataclass(frozen=True)
class Person:
    """One row. ``state``: pending, approved; times are seconds since 1970."""

    connector: str
    person: str
    name: str
    address: Address
    state: str
    code: str
    expires_at: float
    changed_at: float


async def approved(tx: Tx, connector: str, persons: Collection[str]) -> frozenset[str]:
    """Those of these people who were let in."""
    rows = await tx.execute(
        select(people.c.person).where(
            people.c.connector == connector, people.c.person.in_(persons), people.c.state == "approved"
        )
    )
    return frozenset(row[0] for row in rows)


async def ask(
    tx: Tx, address: Address, person: str, name: str, *, code: str, expires_at: float, now: float
) -> Asked | None:
    """Remember that somebody asks to be let in; None when too many wait already.

    Who asked before keeps the code until it expires.
    """
    pending = people.c.state == "pending"
    await tx.execute(delete(people).where(pending, people.c.expires_at <= now - _REMEMBERED_SECONDS))
    known = await _of(tx, address.connector, person)
    if known and (known.state != "pending" or known.expires_at > now):
        return Asked(known.code, is_new=False, lately=0)
    if known:
        this = (people.c.connector == address.connector) & (people.c.person == person)
        await tx.execute(update(people).where(this, pending).values(code=code, expires_at=expires_at))
        return Asked(code, is_new=False, lately=0)
    if await _pending(tx) >= MOST_PENDING:
        await tx.execute(delete(people).where(pending, people.c.expires_at <= now))
        if await _pending(tx) >= MOST_PENDING:
            return None
    await tx.execute(
        insert_into(tx, people)
        .values(
            connector=address.connector,
            person=person,
            name=name,
            chat=address.chat,
            thread=address.thread,
            state="pending",
            code=code,
            expires_at=expires_at,
            changed_at=now,
        )
        .on_conflict_do_nothing(index_elements=["connector", "person"])
    )
    found = await _of(tx, address.connector, person)
    lately = await _pending(tx, people.c.changed_at > now - (expires_at - now))
    return Asked(found.code, is_new=found.code == code, lately=lately) if found else None


def as_given(code: str) -> str:
    """A code as it was given, however somebody typed it."""
    letters = "".join(character for character in code.upper() if character.isalnum())
    return f"{letters[:4]}-{letters[4:]}"


async def approve(tx: Tx, code: str, *, now: float) -> Person | None:
    """Let in whoever was given this code, however it is typed; None where nobody was, or it has expired."""
    code = as_given(code)
    changed = await tx.execute(
        update(people)
        .where(people.c.code == code, people.c.state == "pending", people.c.expires_at > now)
        .values(state="approved", changed_at=now)
        .returning(people)
    )
    row = changed.mappings().one_or_none()
    return _person(row) if row else None


async def approve_person(tx: Tx, connector: str, person: str, *, now: float) -> Person | None:
    """Let in somebody who asked, whatever became of their code; None where nobody of that name is known. Who was let
    in before has an older ``changed_at``."""
    this = (people.c.connector == connector) & (people.c.person == person)
    await tx.execute(update(people).where(this, people.c.state == "pending").values(state="approved", changed_at=now))
    return await _of(tx, connector, person)


async def let_in(tx: Tx, code: str, *, now: float) -> Person | None:
    """As :func:`approve`, and tell them in their chat; whoever calls rings for that."""
    person = await approve(tx, code, now=now)
    if person:
        await outbox.say(tx, person.address, access.welcome(), now=now)
    return person


async def revoke(tx: Tx, connector: str, person: str) -> bool:
    """Forget somebody; False for somebody who was not known."""
    gone = await tx.execute(delete(people).where(people.c.connector == connector, people.c.person == person))
    return bool(gone.rowcount)


async def everybody(tx: Tx, *, now: float) -> list[Person]:
    """Who was let in and who waits, the newest first."""
    rows = await tx.execute(
        select(people)
        .where((people.c.state == "approved") | (people.c.expires_at > now))
        .order_by(people.c.changed_at.desc())
    )
    return [_person(row) for row in rows.mappings()]


async def waiting(tx: Tx, *, now: float) -> int:
    """How many people could be let in by a code just now."""
    return await _pending(tx, people.c.expires_at > now)


async def _pending(tx: Tx, *which: ColumnElement[bool]) -> int:
    count = await tx.execute(select(func.count()).select_from(people).where(people.c.state == "pending", *which))
    return int(count.scalar_one())


async def _of(tx: Tx, connector: str, person: str) -> Person | None:
    rows = await tx.execute(select(people).where(people.c.connector == connector, people.c.person == person))
    row = rows.mappings().one_or_none()
    return _person(row) if row else None


def _person(row: RowMapping) -> Person:
    return Person(
        connector=row["connector"],
        person=row["person"],
        name=row["name"],
        address=Address(row["connector"], row["chat"], row["thread"]),
        state=row["state"],
        code=row["code"],
        expires_at=row["expires_at"],
        changed_at=row["changed_at"],
    )
