"""Which volume holds the folders of conversations that belong to this book."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, select

from bot.store.schema import volumes
from bot.store.tx import Tx, insert_into

_AGENTS = "agents"


async def known(tx: Tx) -> str | None:
    """Its id; None where none has been named yet."""
    return (await tx.execute(select(volumes.c.id).where(volumes.c.name == _AGENTS))).scalar_one_or_none()


async def look(tx: Tx) -> str | None:
    """Likewise, in a book whose tables may be missing or older."""
    return await known(tx) if await tx.run_sync(_has_table) else None


async def claim(tx: Tx, volume: str) -> str:
    """Name this one if none is named yet; returns the one that is. Whoever does so at the same moment waits for us."""
    await tx.execute(insert_into(tx, volumes).values(name=_AGENTS, id=volume).on_conflict_do_nothing())
    return str((await tx.execute(select(volumes.c.id).where(volumes.c.name == _AGENTS))).scalar_one())


async def change(tx: Tx, volume: str) -> None:
    """From now on it is this one."""
    await tx.execute(
        insert_into(tx, volumes)
        .values(name=_AGENTS, id=volume)
        .on_conflict_do_update(index_elements=["name"], set_={"id": volume})
    )


def _has_table(connection: Connection) -> bool:
    return inspect(connection).has_table(volumes.name)
