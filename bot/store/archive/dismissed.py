"""Events that were dismissed: refused at admission, forgotten, deleted by who said them.

A platform may bring one of them again, and so may a connector that reads back what it missed. What was decided then
holds: it is remembered by a digest of the event's key, which says neither what it was nor who said it.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2s

from sqlalchemy import bindparam, delete, func, select

from bot.store.schema import dismissed_events
from bot.store.tx import InEach, Tx

MOST = 10_000
"""So many are remembered, the latest ones: what a platform brings again is not long ago, counted in events."""
REACH = 1_000
"""So many of the latest rows of the inbox may be brought again, for whoever takes rows out of it."""

_ADD = InEach(dismissed_events, lambda insert: insert.on_conflict_do_nothing(index_elements=["connector", "digest"]))
_KNOWN = select(dismissed_events.c.digest).where(
    dismissed_events.c.connector == bindparam("of"), dismissed_events.c.digest.in_(bindparam("some", expanding=True))
)
_OLD = delete(dismissed_events).where(
    dismissed_events.c.id <= select(func.max(dismissed_events.c.id)).scalar_subquery() - MOST
)


async def add(tx: Tx, connector: str, keys: Collection[str]) -> None:
    """These are never to be stored (again)."""
    if keys:
        await tx.execute(_ADD.of(tx), [{"connector": connector, "digest": _digest(key)} for key in sorted(keys)])
        await tx.execute(_OLD)


async def known(tx: Tx, connector: str, keys: Collection[str]) -> frozenset[str]:
    """Those of these events that were dismissed."""
    if not keys:
        return frozenset()
    by_digest = {_digest(key): key for key in keys}
    rows = await tx.execute(_KNOWN, {"of": connector, "some": list(by_digest)})
    return frozenset(by_digest[row[0]] for row in rows)


def _digest(key: str) -> str:
    return blake2s(key.encode("utf-8", "replace"), digest_size=16).hexdigest()
