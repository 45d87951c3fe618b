"""Who is logged in to the page. Only the hash of what a browser holds is kept, so the book lets nobody in."""

from __future__ import annotations

from sqlalchemy import delete, func, select

from bot.store.schema import page_sessions
from bot.store.tx import Tx

MOST = 100
"""Sessions at a time; of more, the oldest end."""


async def begin(tx: Tx, token_hash: str, *, now: float, seconds: float) -> None:
    """Somebody logged in, for so many seconds. What has expired goes."""
    await tx.execute(delete(page_sessions).where(page_sessions.c.expires_at <= now))
    newest = select(page_sessions.c.token_hash).order_by(page_sessions.c.created_at.desc()).limit(MOST - 1)
    await tx.execute(delete(page_sessions).where(page_sessions.c.token_hash.not_in(newest.scalar_subquery())))
    values = {"token_hash": token_hash, "created_at": now, "expires_at": now + seconds}
    await tx.execute(page_sessions.insert().values(values))


async def is_open(tx: Tx, token_hash: str, *, now: float) -> bool:
    """Whether this session goes on."""
    found = select(func.count()).where(page_sessions.c.token_hash == token_hash, page_sessions.c.expires_at > now)
    return bool((await tx.execute(found)).scalar_one())


async def end(tx: Tx, token_hash: str) -> None:
    """Logged out."""
    await tx.execute(delete(page_sessions).where(page_sessions.c.token_hash == token_hash))
