"""Chats: which of them take nothing from us any more, and which the platform gave another id."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, select

from bot.messages import Address
from bot.store.schema import agents, closed_chats, moved_chats
from bot.store.tx import Tx, insert_into

_REOPEN = delete(closed_chats).where(
    closed_chats.c.connector == bindparam("of"), closed_chats.c.chat == bindparam("reopened")
)
_MOVED = select(moved_chats.c.moved_to, moved_chats.c.chat).where(moved_chats.c.connector == bindparam("of"))


async def closed(tx: Tx, connector: str) -> set[str]:
    """Chats that blocked the bot, or threw it out."""
    rows = await tx.execute(select(closed_chats.c.chat).where(closed_chats.c.connector == connector))
    return {row[0] for row in rows}


async def close(tx: Tx, connector: str, chat: str, *, now: float) -> None:
    """This one did."""
    await tx.execute(
        insert_into(tx, closed_chats)
        .values(connector=connector, chat=chat, since=now)
        .on_conflict_do_nothing(index_elements=["connector", "chat"])
    )


async def reopen(tx: Tx, connector: str, chat: str) -> None:
    """It takes messages again."""
    await tx.execute(_REOPEN, {"of": connector, "reopened": chat})


async def moved(tx: Tx, connector: str) -> Mapping[str, str]:
    """The id that a chat has now, to the one that its conversations began with."""
    rows = await tx.execute(_MOVED, {"of": connector})
    return {row[0]: row[1] for row in rows}


async def move(tx: Tx, connector: str, chat: str, moved_to: str) -> None:
    """The platform gave a chat another id. ``chat`` is the one that its conversations began with."""
    await tx.execute(delete(moved_chats).where(moved_chats.c.connector == connector, moved_chats.c.chat == chat))
    await tx.execute(
        insert_into(tx, moved_chats)
        .values(connector=connector, moved_to=moved_to, chat=chat)
        .on_conflict_do_nothing(index_elements=["connector", "moved_to"])
    )


async def latest(tx: Tx, connector: str, limit: int) -> list[Address]:
    """The conversations of a connector, the last active first."""
    rows = await tx.execute(
        select(agents.c.connector, agents.c.chat, agents.c.thread)
        .where(agents.c.connector == connector)
        .order_by(agents.c.touched_at.desc())
        .limit(limit)
    )
    return [Address(*row) for row in rows]
