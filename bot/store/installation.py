"""What tells this book from every other one: numbers of its rows mean nothing outside of it."""

from __future__ import annotations

from uuid import uuid4

from sqlalchemy import select

from bot.store.schema import installation
from bot.store.tx import Tx, insert_into

_THE_ONE = 1


async def id_of(tx: Tx) -> str:
    """Its id, 32 hex digits, which whoever asks first makes. A book that was restored from a backup has a new one."""
    query = select(installation.c.id).where(installation.c.number == _THE_ONE)
    known = (await tx.execute(query)).scalar_one_or_none()
    if known is None:
        await tx.execute(insert_into(tx, installation).values(number=_THE_ONE, id=uuid4().hex).on_conflict_do_nothing())
        known = (await tx.execute(query)).scalar_one()
    return str(known)
