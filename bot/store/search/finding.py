"""Finding what was said in any conversation, and who said it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, or_, select, tuple_

from bot.history import Entry
from bot.messages import AgentId
from bot.store import histories
from bot.store.schema import agents, entries, inbox, people
from bot.store.search import word_index
from bot.store.search.words import query_words
from bot.store.tx import Tx

_MOST_OF_ONE = 5


@dataclass(frozen=True)
class Found:
    """An entry of some conversation. ``at``: seconds since 1970."""

    agent_id: AgentId
    entry: Entry
    at: float


@dataclass(frozen=True)
class Person:
    """Somebody who wrote, and where. ``state``: how far they were let in; empty for who never had to ask."""

    connector: str
    person: str
    name: str
    agents: tuple[AgentId, ...]
    state: str


async def said(tx: Tx, query: str, *, most: int) -> list[Found]:
    """Entries with all words of the query, the newest first; where there are very many, of the conversations that were
    touched last."""
    hits = await word_index.anywhere(tx, query_words(query), most_each=_MOST_OF_ONE)
    if len(hits) > most:
        rows = await tx.execute(
            select(agents.c.id, agents.c.touched_at).where(agents.c.id.in_({hit[0] for hit in hits}))
        )
        touched = {row.id: row.touched_at for row in rows}
        hits = sorted(hits, key=lambda hit: -touched.get(hit[0], 0.0))[:most]
    return await _load(tx, hits)


async def people_called(tx: Tx, query: str, *, most: int) -> list[Person]:
    """People whose name, or whose id on their platform, has the query in it."""
    wrote = (
        select(inbox.c.connector, inbox.c.person, func.max(inbox.c.person_name).label("name"))
        .where(or_(inbox.c.person_name.icontains(query, autoescape=True), inbox.c.person == query))
        .group_by(inbox.c.connector, inbox.c.person)
        .order_by(func.max(inbox.c.id).desc())
        .limit(most)
    )
    asked = (
        select(people)
        .where(or_(people.c.name.icontains(query, autoescape=True), people.c.person == query))
        .order_by(people.c.changed_at.desc())
        .limit(most)
    )
    states = {(row.connector, row.person): row for row in await tx.execute(asked)}
    names = {(row.connector, row.person): row.name for row in await tx.execute(wrote)}
    names |= {key: row.name for key, row in states.items() if key not in names}
    where = await _agents_of(tx, list(names)[:most])
    return [
        Person(connector, person, name, where.get((connector, person), ()), getattr(found, "state", ""))
        for (connector, person), name in list(names.items())[:most]
        for found in [states.get((connector, person))]
    ]


async def _agents_of(tx: Tx, named: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[AgentId, ...]]:
    if not named:
        return {}
    query = (
        select(inbox.c.connector, inbox.c.person, inbox.c.agent_id)
        .where(tuple_(inbox.c.connector, inbox.c.person).in_(named))
        .group_by(inbox.c.connector, inbox.c.person, inbox.c.agent_id)
        .order_by(func.max(inbox.c.id).desc())
    )
    found: dict[tuple[str, str], tuple[AgentId, ...]] = {}
    for row in await tx.execute(query):
        key = (row.connector, row.person)
        found[key] = (*found.get(key, ()), AgentId(row.agent_id))
    return found


async def _load(tx: Tx, hits: Sequence[tuple[AgentId, int]]) -> list[Found]:
    if not hits:
        return []
    chosen = select(entries).where(tuple_(entries.c.agent_id, entries.c.seq).in_(list(hits)))
    rows = (await tx.execute(chosen.order_by(entries.c.created_at.desc()))).mappings()
    return [Found(AgentId(row["agent_id"]), histories.entry_of(row), row["created_at"]) for row in rows]
