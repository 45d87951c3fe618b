"""Who delivers for a connector: each gateway that takes over has a higher number, and only the newest begins a send.

The lease decides who works; this fence is for one that lost its lease and does not know it yet.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, ColumnElement, String, cast, exists, select

from bot.store.schema import cursors
from bot.store.tx import InEach, Tx

_NEXT = cast(cast(cursors.c.value, BigInteger) + 1, String)
_BEGIN = InEach(
    cursors,
    lambda insert: insert.on_conflict_do_update(index_elements=["connector"], set_={"value": _NEXT}),
)
"""One statement: of two that begin at the same moment each has a number of its own."""


async def begin(tx: Tx, lease: str) -> int:
    """The holder of this lease is new; returns its number."""
    begun = await tx.execute(_BEGIN.of(tx).returning(cursors.c.value), {"connector": _key(lease), "value": "1"})
    return int(begun.scalar_one())


def lasts(lease: str, number: int) -> ColumnElement[bool]:
    """A condition: nobody has taken over since."""
    query = select(cursors.c.value).where(cursors.c.connector == _key(lease), cursors.c.value == str(number))
    return exists(query)


async def is_newest(tx: Tx, lease: str, number: int) -> bool:
    """Whether nobody has taken over since."""
    return bool((await tx.execute(select(lasts(lease, number)))).scalar_one())


def _key(lease: str) -> str:
    return f"{lease}:tenure"
