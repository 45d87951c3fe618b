"""What is settled leaves the queues after a while: the history keeps what was said, and these rows say nothing more."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Delete, Table, and_, bindparam, delete, func, or_, select

from bot.store.archive import dismissed
from bot.store.schema import inbox, outbox
from bot.store.tx import Tx

_LOOKED_AT = 2_000
"""Of the oldest rows of a queue, at once. Rows that stay (parked, or never delivered) may stand among them."""


_SETTLED = {
    inbox: and_(inbox.c.state == "done", inbox.c.received_at < bindparam("before")),
    outbox: and_(
        or_(outbox.c.state.in_(("void", "refused")), outbox.c.delivered >= outbox.c.version),
        outbox.c.state != "open",
        outbox.c.created_at < bindparam("before"),
    ),
}


def _forget(table: Table, settled: ColumnElement[bool]) -> Delete:
    oldest = select(table.c.id).order_by(table.c.id).limit(_LOOKED_AT)
    newest = select(func.max(table.c.id)).scalar_subquery()  # stays, or SQLite would give its number again
    return delete(table).where(table.c.id.in_(oldest), table.c.id < newest, settled)


_FORGET_INBOX = _forget(inbox, _SETTLED[inbox]).returning(inbox.c.id, inbox.c.connector, inbox.c.key)
_FORGET_OUTBOX = _forget(outbox, _SETTLED[outbox])
_NEWEST = select(func.max(inbox.c.id))


async def forget(tx: Tx, *, before: float) -> int:
    """Take out some of what was settled before this moment (seconds since 1970); returns how many rows that were."""
    newest = (await tx.execute(_NEWEST)).scalar_one() or 0
    heard = (await tx.execute(_FORGET_INBOX, {"before": before})).all()
    again = [row for row in heard if row[0] > newest - dismissed.REACH]  # a quiet platform brings the last ones again
    for connector in {row[1] for row in again}:
        await dismissed.add(tx, connector, [row[2] for row in again if row[1] == connector])
    return len(heard) + (await tx.execute(_FORGET_OUTBOX, {"before": before})).rowcount
