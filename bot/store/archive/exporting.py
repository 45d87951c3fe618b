"""A conversation's rows as they are, some at a time: a history may be longer than the memory is large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, select, tuple_

from bot.messages import AgentId
from bot.store.archive.own import ORDER, owner
from bot.store.schema import agents, compactions, heads
from bot.store.tx import Tx

Row = Mapping[str, Any]

TABLES: Mapping[str, Table] = {table.name: table for table in ORDER}
"""By their names, in the order in which they can be read back: what is named comes before what names it."""
LEFT_OUT: Mapping[Table, frozenset[str]] = {agents: frozenset({"epoch", "starts"})}
"""Columns about the host that has the conversation, and not about the conversation."""
_AT_ONCE = 500
_FEW = 20
"""Of rows that can be long."""


async def rows(tx: Tx, table: Table, agent_id: AgentId) -> AsyncIterator[Sequence[Row]]:
    """This conversation's rows of one of the tables of :data:`bot.store.archive.own.ORDER`, in its order."""
    most, order = _FEW if table is compactions else _AT_ONCE, [table.c[name] for name in ORDER[table]]
    columns = [column for column in table.c if column.name not in LEFT_OUT.get(table, ())]
    query = select(*columns).where(owner(table) == agent_id).order_by(*order).limit(most)
    after: tuple[Any, ...] | None = None
    while True:
        batch = query if after is None else query.where(tuple_(*order) > after)
        found = (await tx.execute(batch)).mappings().all()
        if found:
            yield [dict(row) for row in found]
        if len(found) < most:
            return
        after = tuple(found[-1][column.name] for column in order)


async def heads_of(tx: Tx, agent_id: AgentId) -> Sequence[Row]:
    """What stood before the messages of this conversation's compactions."""
    named = select(compactions.c.head).where(compactions.c.agent_id == agent_id)
    found = await tx.execute(select(heads).where(heads.c.hash.in_(named)).order_by(heads.c.hash))
    return [dict(row) for row in found.mappings()]
