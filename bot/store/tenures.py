"""Who delivers for a connector: each gateway that takes over has a higher number, and only the newest begins a send.

The lease decides who works; this fence is for one that lost its lease and does not know it yet.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists, select

from bot.store import inbox
from bot.store.schema import cursors
from bot.store.tx import Tx


async def begin(tx: Tx, lease: str) -> int:
    """The holder of this lease is new; returns its number."""
    number = int(await inbox.cursor(tx, _key(lease)) or 0) + 1
    await inbox.set_cursor(tx, _key(lease), str(number))
    return number


def lasts(lease: str, number: int) -> ColumnElement[bool]:
    """A condition: nobody has taken over since."""
    query = select(cursors.c.value).where(cursors.c.connector == _key(lease), cursors.c.value == str(number))
    return exists(query)


def _key(lease: str) -> str:
    return f"{lease}:tenure"
