"""Who was let in, and who asked: one row a person. Nothing that an unknown person wrote is here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import RowMapping, delete, func, select, update

from bot.messages import Address
from bot.store.schema import people
from bot.store.tx import Tx, insert_into

MOST_PENDING = 100
"""People who may wait to be let in; whoever comes then is not remembered."""


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
) -> Person | None:
    """Remember that somebody asks to be let in; None when too many wait already.

    Who asked before keeps the code until it expires.
    """
    await tx.execute(delete(people).where(people.c.state == "pending", people.c.expires_at <= now))
    known = await _of(tx, address.connector, person)
    if known:
        return known
    count = await tx.execute(select(func.count()).select_from(people).where(people.c.state == "pending"))
    if int(count.scalar_one()) >= MOST_PENDING:
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
    return await _of(tx, address.connector, person)


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
