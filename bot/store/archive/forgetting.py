"""Takes a conversation out of the book: the one exception to "nothing is ever deleted"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, func, null, select, text, update

from bot.messages import AgentId
from bot.store import agents as agent_rows
from bot.store.archive import dismissed
from bot.store.archive.own import ORDER, owner
from bot.store.money import budgets, spending
from bot.store.operators import parked
from bot.store.schema import (
    agents,
    closed_chats,
    compactions,
    heads,
    inbox,
    indexed_agents,
    moved_chats,
    outages,
    outbox,
    skipped_updates,
)
from bot.store.search import word_index
from bot.store.tx import Tx

_ALONE = text("LOCK TABLE agents IN SHARE ROW EXCLUSIVE MODE")
"""PostgreSQL: who stores a message looks whether its conversation is there, and who writes for one raises a number in
this table. None of them may be between the two. SQLite has one writer at a time."""


async def be_alone(tx: Tx) -> None:
    """Wait for all who write, and keep others from it until the end of this transaction. Comes first in it."""
    if tx.dialect.name == "postgresql":
        await tx.execute(_ALONE)


async def count(tx: Tx, agent_id: AgentId) -> Mapping[str, int]:
    """How many rows of each table :func:`everything` would take out."""
    found: Counter[str] = Counter()
    for table in ORDER:
        rows = await tx.execute(select(func.count()).select_from(table).where(owner(table) == agent_id))
        found[table.name] = rows.scalar_one()
    found[skipped_updates.name] = len(await skipped_of(tx, agent_id))
    named = select(compactions.c.head).where(compactions.c.agent_id == agent_id)
    elsewhere = select(compactions.c.head).where(compactions.c.head == heads.c.hash, compactions.c.agent_id != agent_id)
    others = [
        (indexed_agents, indexed_agents.c.agent_id == agent_id),
        (heads, heads.c.hash.in_(named) & ~elsewhere.exists()),
        (outages, _own_outages(agent_id)),
        *await _of_chat(tx, agent_id),
    ]
    for table, its in others:
        found[table.name] += (await tx.execute(select(func.count()).select_from(table).where(its))).scalar_one()
    return {name: rows for name, rows in found.items() if rows}


async def everything(tx: Tx, agent_id: AgentId) -> Mapping[str, int]:
    """Take out all that is this conversation's; returns how many rows of each table that were.

    Whoever has it in memory can write no more: its epoch is gone, and none that comes later is as low.
    """
    await agent_rows.keep_above(tx, await agent_rows.epoch(tx, agent_id))
    gone: Counter[str] = Counter()
    named = set(await _heads(tx, agent_id))
    gone[skipped_updates.name] = await forget_skipped(tx, await skipped_of(tx, agent_id))
    indexed = select(indexed_agents.c.number).where(indexed_agents.c.agent_id == agent_id)
    gone[indexed_agents.name] = len((await tx.execute(indexed)).all())
    await word_index.forget(tx, agent_id)
    for table, its in [(outages, _own_outages(agent_id)), *await _of_chat(tx, agent_id)]:
        gone[table.name] += (await tx.execute(delete(table).where(its))).rowcount
    await spending.forget_conversation(tx, agent_id)
    await budgets.forget(tx, "", agent_id)
    await tx.execute(update(outages).where(outages.c.agent_id == agent_id).values(agent_id=""))
    await keep_out(tx, inbox.c.agent_id == agent_id)
    for table in (inbox, outbox):
        await blank_newest(tx, table, agent_id, gone)
    for table in ORDER:
        gone[table.name] += (await tx.execute(delete(table).where(owner(table) == agent_id))).rowcount
    gone[heads.name] = await forget_heads(tx, named)
    return {name: rows for name, rows in gone.items() if rows}


async def keep_out(tx: Tx, condition: ColumnElement[bool]) -> None:
    """These rows of the inbox are about to go. A platform may bring the last of them again, as if they were new."""
    chosen = select(inbox.c.connector, inbox.c.key).where(condition).order_by(inbox.c.id.desc())
    rows = (await tx.execute(chosen.limit(dismissed.REACH))).all()
    for connector in {row[0] for row in rows}:
        await dismissed.add(tx, connector, [row[1] for row in rows if row[0] == connector])


async def blank_newest(
    tx: Tx, table: Table, agent_id: AgentId, gone: Counter[str], numbers: Collection[int] | None = None
) -> None:
    """Of the newest row of a queue, if it is to go, only the number stays: SQLite would give it again, and whoever
    still delivers the old message would then write about the new one. (``numbers``: of the rows that go, if not all.)
    It leaves the queue as what is settled does."""
    newest = (await tx.execute(select(table.c.id, table.c.agent_id).order_by(table.c.id.desc()).limit(1))).first()
    if newest is None or newest[1] != agent_id or (numbers is not None and newest[0] not in numbers):
        return
    values: dict[str, Any] = {"agent_id": "", "connector": "", "text": ""}
    if table is inbox:
        values |= {"state": "done", "key": f"gone:{newest[0]}", "position": 0, "person": "", "person_name": ""}
        values |= {
            "speaker": "",
            "quote": "",
            "quoted_key": "",
            "quoted_person": "",
            "ref": "",
            "reason": "",
            "attachments": [],
            "turn_id": None,
            "parked_at": None,
        }
    else:
        values |= {
            "state": "void",
            "chat": "",
            "thread": "",
            "answers": "",
            "buttons": [],
            "refs": [],
            "file": null(),
            "payload": "",
        }
    await tx.execute(update(table).where(table.c.id == newest[0]).values(**values))
    gone[table.name] += 1


async def skipped_of(tx: Tx, agent_id: AgentId) -> list[int]:
    """What the inbox could not take of this conversation."""
    return [int(one.id[1:]) for one in await parked.all_skipped(tx) if one.agent_id == agent_id]


async def skipped_by(tx: Tx, connector: str, person: str) -> list[int]:
    """What the inbox could not take of this person."""
    found = [one for one in await parked.all_skipped(tx) if (one.connector, one.person) == (connector, person)]
    return [int(one.id[1:]) for one in found]


async def forget_skipped(tx: Tx, numbers: Collection[int]) -> int:
    """Take these out; returns how many there were."""
    return (await tx.execute(delete(skipped_updates).where(skipped_updates.c.id.in_(numbers)))).rowcount


async def forget_heads(tx: Tx, hashes: Collection[str]) -> int:
    """Those of these heads that no compaction names any more."""
    used = select(compactions.c.head).where(compactions.c.head == heads.c.hash).exists()
    return (await tx.execute(delete(heads).where(heads.c.hash.in_(hashes), ~used))).rowcount


async def _heads(tx: Tx, agent_id: AgentId) -> list[str]:
    rows = await tx.execute(select(compactions.c.head).where(compactions.c.agent_id == agent_id).distinct())
    return [row[0] for row in rows]


def _own_outages(agent_id: AgentId) -> ColumnElement[bool]:
    """Those that this conversation alone has met; what others meet too goes on."""
    return outages.c.name.endswith(f":{agent_id}", autoescape=True)


async def _of_chat(tx: Tx, agent_id: AgentId) -> list[tuple[Table, ColumnElement[bool]]]:
    """That its chat was closed or moved, where no other conversation is in that chat; in the order in which it goes."""
    found = (await tx.execute(select(agents.c.connector, agents.c.chat).where(agents.c.id == agent_id))).first()
    if found is None:
        return []
    here = (agents.c.connector == found[0]) & (agents.c.chat == found[1]) & (agents.c.id != agent_id)
    if (await tx.execute(select(agents.c.id).where(here).limit(1))).first():
        return []
    moved = (moved_chats.c.connector == found[0]) & (moved_chats.c.chat == found[1])
    now = select(moved_chats.c.moved_to).where(moved)
    closed = (closed_chats.c.connector == found[0]) & ((closed_chats.c.chat == found[1]) | closed_chats.c.chat.in_(now))
    return [(closed_chats, closed), (moved_chats, moved)]
