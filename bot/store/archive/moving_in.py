"""What was said elsewhere, in a conversation's history: entries with their own dates, beneath a layer from the first
on, so that no model ever reads them whole.

Whatever one import brings into one conversation is a stretch of entries. Its first one is a note that names the other
program's conversation by its key, by which it is found again. While it is being written, and after `/undo`, a layer of
the kind ``SET_ASIDE`` lies over it; else one of the kind ``IMPORTED``, which says what is beneath it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, String, bindparam, func, literal_column, or_, select, update

from bot.history import ASKED, SET_ASIDE, Entry, EntryKind, Layer, Ranges
from bot.messages import AgentId
from bot.store import histories
from bot.store.schema import agents, entries, layers
from bot.store.search import word_index
from bot.store.search.words import Counted
from bot.store.tx import Tx

_MESSAGES = sorted(ASKED | {EntryKind.REPLY})
_AT_ONCE = 500
_KEYED = entries.c.key != literal_column("''", String)
"""Said as it is in the index, which would not be used otherwise."""
_TOUCH = (
    update(agents)
    .where(agents.c.id == bindparam("agent"), agents.c.touched_at < bindparam("at"))
    .values(touched_at=bindparam("at"))
)


@dataclass(frozen=True)
class Dated:
    """An entry, when it was said, and the words that it is found by."""

    entry: Entry
    at: float
    words: Counted


@dataclass(frozen=True)
class Extent:
    """What lies in some stretches: how many messages, and from when to when, in seconds since 1970."""

    messages: int
    first: float
    last: float


async def holders(tx: Tx, key: str) -> list[AgentId]:
    """The conversations into which the one with this key was brought."""
    rows = await tx.execute(select(entries.c.agent_id).where(entries.c.key == key, _KEYED).distinct())
    return sorted(AgentId(row[0]) for row in rows)


async def connector_of(tx: Tx, agent_id: AgentId) -> str | None:
    """Where this conversation is; None where there is none."""
    return (await tx.execute(select(agents.c.connector).where(agents.c.id == agent_id))).scalar_one_or_none()


async def known(tx: Tx, agent_id: AgentId, keys: Sequence[str]) -> frozenset[str]:
    """Those of these messages that are in this conversation."""
    found: set[str] = set()
    for at in range(0, len(keys), _AT_ONCE):
        some = entries.c.key.in_(keys[at : at + _AT_ONCE])
        rows = await tx.execute(select(entries.c.key, entries.c.agent_id).where(some, _KEYED))
        found.update(row[0] for row in rows if row[1] == agent_id)  # asked for that, SQLite would read all of it
    return frozenset(found)


async def append(tx: Tx, agent_id: AgentId, added: Sequence[Dated]) -> None:
    """Add entries as they were said then, and what they are found by."""
    await histories.append_dated(tx, agent_id, [(one.entry, one.at) for one in added])
    await word_index.add_counted(tx, agent_id, {one.entry.seq: one.words for one in added if one.words.words})


async def set_aside(tx: Tx, agent_id: AgentId, key: str) -> list[Layer]:
    """The layers over stretches of the conversation with this key that are out of everybody's sight."""
    aside = [layer for layer in await histories.load_layers(tx, agent_id) if layer.kind == SET_ASIDE and layer.hidden]
    firsts = {layer.hidden[0][0]: layer for layer in aside}
    own = select(entries.c.seq).where(
        entries.c.agent_id == agent_id, entries.c.seq.in_(list(firsts)), entries.c.key == key
    )
    return [firsts[row[0]] for row in await tx.execute(own)]


async def stretch(tx: Tx, agent_id: AgentId, layer: Layer) -> None:
    """A layer that is on reaches as far as this one."""
    this = (layers.c.agent_id == agent_id) & (layers.c.number == layer.number)
    hidden = [list(span) for span in layer.hidden]
    await tx.execute(update(layers).where(this).values(hidden=hidden, upto=layer.upto))


async def extent(tx: Tx, agent_id: AgentId, ranges: Ranges) -> Extent:
    """How much was said in these stretches."""
    at = entries.c.created_at
    counted = select(func.count(), func.min(at), func.max(at)).where(
        entries.c.agent_id == agent_id, _within(ranges), entries.c.kind.in_(_MESSAGES)
    )
    row = (await tx.execute(counted)).one()
    return Extent(row[0], row[1] or 0.0, row[2] or 0.0)


async def newest(tx: Tx, agent_id: AgentId, ranges: Ranges, most: int) -> list[Entry]:
    """The last entries of these stretches, in their order."""
    chosen = select(entries).where(entries.c.agent_id == agent_id, _within(ranges))
    rows = (await tx.execute(chosen.order_by(entries.c.seq.desc()).limit(most))).mappings().all()
    return [histories.entry_of(row) for row in reversed(rows)]


async def last_said(tx: Tx, agent_id: AgentId) -> int:
    """The newest entry that no layer inserted; 0 where there is none."""
    said = (entries.c.agent_id == agent_id) & entries.c.layer.is_(None)
    return (await tx.execute(select(func.max(entries.c.seq)).where(said))).scalar_one() or 0


async def touched(tx: Tx, agent_id: AgentId, at: float) -> None:
    """Somebody was there at this time, if nobody was later."""
    await tx.execute(_TOUCH, {"agent": agent_id, "at": at})


def _within(ranges: Ranges) -> ColumnElement[bool]:
    return or_(*(entries.c.seq.between(low, high) for low, high in ranges))
