"""The index of words: which entries of an agent hold which words. FTS5 in SQLite, a GIN over tsvectors in PostgreSQL.

Both hold the words that :mod:`bot.store.search.words` makes of a text, and take no text apart themselves. An agent's
entries are a range of their own in it: in SQLite by the row's number (the agent's, then the seq), in PostgreSQL by the
beginning of each word. So a search costs what the agent's own entries cost, however many other agents there are, and
finds nothing of theirs.

Beside it stands a table of what an order by relevance needs: how long each entry is, and which words it has more than
once. Entries that were indexed before there was one are counted by :func:`count_older`, some at a time; until then each
of their words counts once, and they as of ordinary length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    bindparam,
    inspect,
    literal,
    select,
    text,
    tuple_,
    update,
)

from bot.history import Entry
from bot.history.entry_text import text_to_find
from bot.messages import AgentId
from bot.store.schema import entries, indexed_agents
from bot.store.search.ranking import PLAIN_LENGTH
from bot.store.search.words import PREFIX, Counted, Wanted, counted
from bot.store.tx import InEach, Tx, insert_into

_SEQ_BITS = 32
_AT_ONCE = 500
_LONG = 8_000
"""Characters: a longer text is taken apart in a thread."""

_INSERT = {
    "sqlite": text("INSERT INTO entry_words (rowid, words) VALUES ((:agent << 32) | :seq, :words)"),
    "postgresql": text(
        "INSERT INTO entry_words (agent, seq, words) "
        "VALUES (:agent, :seq, array_to_tsvector(string_to_array(CAST(:words AS text), ' ')))"
    ),
}
_COUNTS = Table(
    "entry_words_counts",
    MetaData(),  # of its own: as a part of the index it is made from other rows
    Column("agent", Integer, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("length", Integer, nullable=False),
    Column("repeats", Text, nullable=False),
)
_PUT_COUNTS = InEach(_COUNTS, lambda insert: insert.on_conflict_do_nothing())
_COUNTS_OF_AGENT = _COUNTS.delete().where(_COUNTS.c.agent == bindparam("of_agent"))
_COUNTS_OF_ONE = _COUNTS_OF_AGENT.where(_COUNTS.c.seq == bindparam("of_seq"))
_NUMBER = select(indexed_agents.c.number).where(indexed_agents.c.agent_id == bindparam("agent"))
_DELETE = {
    "sqlite": text("DELETE FROM entry_words WHERE rowid BETWEEN (:agent << 32) AND (:agent << 32) | 4294967295"),
    "postgresql": text("DELETE FROM entry_words WHERE agent = :agent"),
}
_DELETE_ONE = {
    "sqlite": text("DELETE FROM entry_words WHERE rowid = (:agent << 32) | :seq"),
    "postgresql": text("DELETE FROM entry_words WHERE agent = :agent AND seq = :seq"),
}
_NEWEST = (
    "SELECT {at} AS at, group_concat(seq) AS seqs FROM (SELECT rowid & 4294967295 AS seq FROM entry_words "
    "WHERE entry_words MATCH :q{at} AND rowid BETWEEN (:agent << 32) | :low AND (:agent << 32) | :high "
    "ORDER BY rowid DESC LIMIT :most)"
)
_WORDS_OF = text("SELECT rowid & 4294967295 AS seq, words FROM entry_words WHERE rowid IN :rowids").bindparams(
    bindparam("rowids", expanding=True)
)
_ANYWHERE = (
    "SELECT rowid >> 32 AS agent, rowid & 4294967295 AS seq FROM entry_words WHERE entry_words MATCH :q "
    "ORDER BY rowid DESC LIMIT :most"
)
_OF_EACH = text(
    "SELECT agent, seq FROM unnest(CAST(:asked AS text[])) AS one (asked), LATERAL (SELECT agent, seq FROM entry_words "
    "WHERE words @@ CAST(asked AS tsquery) ORDER BY seq DESC LIMIT :most) AS found"
)
_MOST_ANYWHERE = 2_000
_MOST_NUMBERS, _AT_ONCE, _ENOUGH = 5_000, 100, 200
"""PostgreSQL: agents whose words are asked for, in one query, and entries after which no more are."""
_ALL_BY_INDEX = 10_000
"""PostgreSQL: of so many entries, those with a word are found by the index, however many they are."""
_SAMPLE = 1_000
"""PostgreSQL: of more, the newest, which are read to see which queries have many answers."""
_READING = 4
"""PostgreSQL: what it costs to read an entry and compare it, in entries that the index gives."""
_ASKED = "CAST(CAST(:q{at} AS text) AS tsquery)"
_MASKS = (
    "SELECT seq, mask FROM (SELECT seq, {mask} AS mask FROM entry_words, (SELECT {asked} OFFSET 0) AS asked "
    "WHERE agent = :agent AND {which}) AS masked WHERE mask > 0 ORDER BY seq DESC"
)
_BETWEEN, _THESE = "seq BETWEEN :low AND :high", "seq IN :seqs"
_BY_WORDS = (  # OFFSET 0 keeps the planner from reading backwards until it has met enough, which may be never
    "SELECT {at} AS at, string_agg(CAST(seq AS text), ',') AS seqs FROM (SELECT seq FROM (SELECT agent, seq "
    "FROM entry_words WHERE words @@ CAST(CAST(:q{at} AS text) AS tsquery) OFFSET 0) AS found "
    "WHERE agent = :agent AND seq BETWEEN :low AND :high ORDER BY seq DESC LIMIT :most) AS newest"
)
_BACKWARDS = (  # and here from asking the index
    "SELECT {at} AS at, string_agg(CAST(seq AS text), ',') AS seqs FROM (SELECT seq FROM (SELECT seq, words "
    "FROM entry_words WHERE agent = :agent AND seq BETWEEN :low AND :high ORDER BY seq DESC OFFSET 0) AS read "
    "WHERE words @@ CAST(CAST(:q{at} AS text) AS tsquery) LIMIT :most) AS newest"
)


@dataclass(frozen=True)
class Count:
    """Of an entry: how many words it has, and which of them more than once."""

    length: int = PLAIN_LENGTH
    repeats: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Hits:
    """Seqs of entries, the newest first. ``complete``: there are no more."""

    seqs: Sequence[int]
    complete: bool


async def add(tx: Tx, agent_id: AgentId, entries: Sequence[Entry]) -> None:
    """Index entries that are written in this transaction."""
    await add_counted(tx, agent_id, await _counted({entry.seq: text_to_find(entry.blocks) for entry in entries}))


async def add_counted(tx: Tx, agent_id: AgentId, words: Mapping[int, Counted]) -> None:
    """The same of entries whose words were counted already, by their seqs; each has some."""
    if words:
        number = await _number(tx, agent_id) or await _new_number(tx, agent_id)
        await tx.execute(*insertion(tx.dialect.name, number, {seq: one.words for seq, one in words.items()}))
        await _put_counts(tx, number, words)


async def forget(tx: Tx, agent_id: AgentId) -> None:
    """Take all entries of an agent out of the index."""
    number = await _number(tx, agent_id)
    if number is not None:
        await tx.execute(_DELETE[tx.dialect.name], {"agent": number})
        await tx.execute(_COUNTS_OF_AGENT, {"of_agent": number})
        await tx.execute(indexed_agents.delete().where(indexed_agents.c.agent_id == agent_id))


async def refill(tx: Tx) -> None:
    """Put all entries of numbered agents into an index that is empty, some at a time. (In a book of an earlier layout
    nothing is counted yet.)"""
    of_agent, seq = "", 0
    known = select(indexed_agents.c.number, indexed_agents.c.agent_id)
    numbers = {agent_id: number for number, agent_id in await tx.execute(known)}
    counts = await tx.run_sync(lambda connection: inspect(connection).has_table(_COUNTS.name))
    while True:
        after = tuple_(entries.c.agent_id, entries.c.seq) > tuple_(literal(of_agent), literal(seq))
        chosen = select(entries.c.agent_id, entries.c.seq, entries.c.blocks).where(after)
        rows = (await tx.execute(chosen.order_by(entries.c.agent_id, entries.c.seq).limit(_AT_ONCE))).all()
        if not rows:
            break
        for agent_id, own in groupby(rows, key=lambda row: str(row.agent_id)):
            words = await _counted({row.seq: text_to_find(row.blocks) for row in own})
            if words and (number := numbers.get(agent_id)) is not None:
                await tx.execute(*insertion(tx.dialect.name, number, {seq: one.words for seq, one in words.items()}))
                if counts:
                    await _put_counts(tx, number, words)
        of_agent, seq = rows[-1].agent_id, rows[-1].seq
    if counts:
        await tx.execute(update(indexed_agents).values(uncounted=0))


async def all_counted(tx: Tx) -> bool:
    """Whether :func:`count_older` has nothing to do."""
    left = select(indexed_agents.c.number).where(indexed_agents.c.uncounted > 0).limit(1)
    return (await tx.execute(left)).first() is None


async def count_older(tx: Tx, *, most: int) -> int | None:
    """Count words of entries that were indexed before words were counted, the newest first; returns how many entries
    that were, and None when there were none left. Rows are locked: what is taken out of one meanwhile must not come
    back with its count."""
    chosen = select(indexed_agents).where(indexed_agents.c.uncounted > 0).order_by(indexed_agents.c.number)
    agent = (await tx.execute(chosen.limit(1).with_for_update())).first()
    if agent is None:
        return None
    older = select(entries.c.seq, entries.c.blocks).where(
        entries.c.agent_id == agent.agent_id, entries.c.seq <= agent.uncounted
    )
    rows = (await tx.execute(older.order_by(entries.c.seq.desc()).limit(most).with_for_update())).all()
    if words := await _counted({row.seq: text_to_find(row.blocks) for row in rows}):
        await _put_counts(tx, agent.number, words)
    left = rows[-1].seq - 1 if len(rows) == most else 0
    own = update(indexed_agents).where(indexed_agents.c.number == agent.number)
    await tx.execute(own.values(uncounted=left))
    return len(rows)


async def forget_some(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> None:
    """Take these entries of an agent out of the index."""
    number = await _number(tx, agent_id)
    if number is not None and seqs:
        await tx.execute(_DELETE_ONE[tx.dialect.name], [{"agent": number, "seq": seq} for seq in seqs])
        await tx.execute(_COUNTS_OF_ONE, [{"of_agent": number, "of_seq": seq} for seq in seqs])


async def newest(
    tx: Tx, agent_id: AgentId, queries: Sequence[Sequence[Wanted]], *, low: int, high: int, most: int
) -> list[Hits]:
    """For each query the newest entries of this agent from ``low`` to ``high`` that have all its words, at most
    ``most``: the same ones in either database."""
    number = await _number(tx, agent_id)
    if number is None or not queries or low > high:
        return [Hits((), complete=True) for _ in queries]
    asked = {f"q{at}": _expression(tx.dialect.name, number, query) for at, query in enumerate(queries)}
    bounds = {"agent": number, "low": low, "high": high}
    if tx.dialect.name == "sqlite":
        found = await _found(tx, dict.fromkeys(range(len(queries)), _NEWEST), {**asked, **bounds, "most": most})
    else:
        found = await _newest_in_postgresql(tx, asked, bounds, most)
    return [Hits(seqs, len(seqs) < most) for seqs in found.values()]


async def holding(tx: Tx, agent_id: AgentId, words: Sequence[Wanted], seqs: Sequence[int]) -> list[set[int]]:
    """For each word those of these entries that have it."""
    number = await _number(tx, agent_id)
    if number is None or not words or not seqs:
        return [set() for _ in words]
    if tx.dialect.name == "sqlite":
        rows = await tx.execute(_WORDS_OF, {"rowids": [number << _SEQ_BITS | seq for seq in seqs]})
        return _in_order(words, {row.seq: row.words for row in rows})
    asked = {f"q{at}": _expression("postgresql", number, [word]) for at, word in enumerate(words)}
    return [set(own) for own in await _masked(tx, asked, _THESE, {"agent": number, "seqs": list(seqs)})]


async def counts(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> dict[int, Count]:
    """How long these entries are, and what they repeat; without those that were not counted yet."""
    number = await _number(tx, agent_id)
    if number is None or not seqs:
        return {}
    rows = await tx.execute(_COUNTS.select().where(_COUNTS.c.agent == number, _COUNTS.c.seq.in_(seqs)))
    return {row.seq: Count(row.length, _repeats(row.repeats)) for row in rows}


async def anywhere(tx: Tx, query: Sequence[Wanted], *, most_each: int) -> list[tuple[AgentId, int]]:
    """Entries of any agent that have all words, by their seqs; of each agent the newest. Of a word that very many
    entries hold, those of the agents that were indexed last."""
    if not query:
        return []
    if tx.dialect.name == "sqlite":
        asked = {"q": _expression("sqlite", 0, query), "most": _MOST_ANYWHERE}
        hits = [(row.agent, row.seq) for row in await tx.execute(text(_ANYWHERE), asked)]
    else:
        hits = await _anywhere_in_postgresql(tx, query, most_each)
    found: dict[int, list[int]] = {}
    for number, seq in hits:
        found.setdefault(number, []).append(seq)
    ids = await _ids(tx, list(found))
    return [(ids[number], seq) for number, seqs in found.items() for seq in sorted(seqs, reverse=True)[:most_each]]


async def _anywhere_in_postgresql(tx: Tx, query: Sequence[Wanted], most_each: int) -> list[tuple[int, int]]:
    """An agent's words begin with its number, so each is asked for its own: one query for all of them together would
    compare each entry that it meets with the words of every agent."""
    newest = select(indexed_agents.c.number).order_by(indexed_agents.c.number.desc()).limit(_MOST_NUMBERS)
    numbers, hits = [row[0] for row in await tx.execute(newest)], list[tuple[int, int]]()
    # Or the planner might look at every entry, once for each agent: it expects more answers than there are.
    await tx.execute(text("SET LOCAL enable_seqscan = off"))
    for at in range(0, len(numbers), _AT_ONCE):
        asked = [_expression("postgresql", number, query) for number in numbers[at : at + _AT_ONCE]]
        hits += [(row.agent, row.seq) for row in await tx.execute(_OF_EACH, {"asked": asked, "most": most_each})]
        if len(hits) >= _ENOUGH:
            break
    await tx.execute(text("SET LOCAL enable_seqscan = on"))
    return hits


async def _ids(tx: Tx, numbers: Sequence[int]) -> dict[int, AgentId]:
    rows = await tx.execute(select(indexed_agents).where(indexed_agents.c.number.in_(numbers)))
    return {row.number: AgentId(row.agent_id) for row in rows}


async def _newest_in_postgresql(
    tx: Tx, asked: Mapping[str, str], bounds: Mapping[str, int], most: int
) -> dict[int, list[int]]:
    """By the index, whose cost is that of all answers; or where a sample shows that so many are more than has to be
    read backwards to meet enough of them, by reading."""
    searched = bounds["high"] - bounds["low"] + 1
    ways = dict.fromkeys(range(len(asked)), _BY_WORDS)
    known: dict[int, list[int]] = {}
    if searched > _ALL_BY_INDEX:
        newest = {**bounds, "low": bounds["high"] - _SAMPLE + 1}
        for at, seqs in enumerate(await _masked(tx, asked, _BETWEEN, newest)):
            if len(seqs) >= most:
                known[at] = seqs[:most]
            elif searched * len(seqs) / _SAMPLE > _READING * most * _SAMPLE / max(1, len(seqs)):
                ways[at] = _BACKWARDS
    left = {at: way for at, way in ways.items() if at not in known}
    named = {f"q{at}": asked[f"q{at}"] for at in left}
    found = await _found(tx, left, {**named, **bounds, "most": most})
    return {at: known.get(at) or found[at] for at in ways}


async def _masked(tx: Tx, asked: Mapping[str, str], which: str, values: Mapping[str, object]) -> list[list[int]]:
    """PostgreSQL: for each query those of these entries that answer it, the newest first."""
    statement = text(
        _MASKS.format(
            mask=" + ".join(f"CASE WHEN words @@ q{at} THEN {1 << at} ELSE 0 END" for at in range(len(asked))),
            asked=", ".join(f"{_ASKED.format(at=at)} AS q{at}" for at in range(len(asked))),
            which=which,
        )
    )
    if which is _THESE:
        statement = statement.bindparams(bindparam("seqs", expanding=True))
    found: list[list[int]] = [[] for _ in asked]
    for seq, mask in await tx.execute(statement, {**asked, **values}):
        for at, seqs in enumerate(found):
            if mask >> at & 1:
                seqs.append(seq)
    return found


async def _found(tx: Tx, ways: Mapping[int, str], values: Mapping[str, object]) -> dict[int, list[int]]:
    """What the queries at these places find, each asked in its way; all at once."""
    found: dict[int, list[int]] = {at: [] for at in ways}
    if found:
        statement = text(" UNION ALL ".join(way.format(at=at) for at, way in ways.items()))
        for at, seqs in await tx.execute(statement, values):
            found[at] = sorted(map(int, seqs.split(",")), reverse=True) if seqs else []
    return found


def _in_order(words: Sequence[Wanted], texts: Mapping[int, str]) -> list[set[int]]:
    """SQLite: for each word of a query the entries whose words have it."""
    found: list[set[int]] = [set() for _ in words]
    for seq, stored in texts.items():
        own = set(stored.split())
        for word, seqs in zip(words, found, strict=True):
            if any(all(part in own or _begins(part, stored) for part in form) for form in word.forms):
                seqs.add(seq)
    return found


def _begins(part: str, stored: str) -> bool:
    return part.endswith(PREFIX) and (stored.startswith(part[:-1]) or f" {part[:-1]}" in stored)


def insertion(
    dialect: str, number: int, words: Mapping[int, Sequence[str]]
) -> tuple[TextClause, list[dict[str, object]]]:
    """What puts the words of entries, by their seqs, into the index of the agent with this number."""
    rows: list[dict[str, object]] = [
        {"agent": number, "seq": seq, "words": " ".join(_stored(dialect, number, word) for word in own)}
        for seq, own in words.items()
    ]
    return _INSERT[dialect], rows


async def _counted(texts: Mapping[int, str]) -> dict[int, Counted]:
    """Those of these texts that have words."""
    if sum(map(len, texts.values())) > _LONG:
        found = await asyncio.to_thread(lambda: {seq: counted(content) for seq, content in texts.items()})
    else:
        found = {seq: counted(content) for seq, content in texts.items()}
    return {seq: one for seq, one in found.items() if one.words}


async def _put_counts(tx: Tx, number: int, words: Mapping[int, Counted]) -> None:
    rows: list[dict[str, object]] = [
        {"agent": number, "seq": seq, "length": one.length, "repeats": _as_text(one.repeats)}
        for seq, one in words.items()
    ]
    await tx.execute(_PUT_COUNTS.of(tx), rows)


def _as_text(repeats: Mapping[str, int]) -> str:
    """No word has a space in it."""
    return " ".join(f"{word} {times}" for word, times in repeats.items())


def _repeats(content: str) -> dict[str, int]:
    pieces = content.split(" ") if content else []
    return dict(zip(pieces[::2], map(int, pieces[1::2]), strict=True))


async def _number(tx: Tx, agent_id: AgentId) -> int | None:
    row = await tx.execute(_NUMBER, {"agent": agent_id})
    return row.scalar_one_or_none()


async def _new_number(tx: Tx, agent_id: AgentId) -> int:
    await tx.execute(
        insert_into(tx, indexed_agents).values(agent_id=agent_id).on_conflict_do_nothing(index_elements=["agent_id"])
    )
    number = await _number(tx, agent_id)
    assert number is not None
    return number


def _stored(dialect: str, number: int, word: str) -> str:
    return word if dialect == "sqlite" else f"{number}|{word}"


def _expression(dialect: str, number: int, query: Sequence[Wanted]) -> str:
    """All words, each in one of its forms, as this database asks for them."""
    both, either = (" AND ", " OR ") if dialect == "sqlite" else (" & ", " | ")

    def term(word: str) -> str:
        bare, ending = (word[:-1], "*") if word.endswith(PREFIX) else (word, "")
        if dialect == "sqlite":
            return f'"{bare}"{ending}'
        quoted = _stored(dialect, number, bare).replace("'", "''")
        return f"'{quoted}'{':*' if ending else ''}"

    return both.join(f"({either.join(f'({both.join(map(term, form))})' for form in wanted.forms)})" for wanted in query)
