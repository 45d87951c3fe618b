"""The index of words: which entries of an agent hold which words. FTS5 in SQLite, a GIN over tsvectors in PostgreSQL.

Both hold the words that :mod:`bot.store.search.words` makes of a text, and take no text apart themselves. An agent's
entries are a range of their own in it: in SQLite by the row's number (the agent's, then the seq), in PostgreSQL by the
beginning of each word. So a search costs what the agent's own entries cost, however many other agents there are, and
finds nothing of theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import TextClause, bindparam, literal, select, text, tuple_

from bot.history import Entry
from bot.history.entry_text import text_to_find
from bot.messages import AgentId
from bot.store.schema import entries, indexed_agents
from bot.store.search.words import PREFIX, Wanted, words_in
from bot.store.tx import Tx, insert_into

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
    "SELECT * FROM (SELECT {at} AS at, rowid & 4294967295 AS seq FROM entry_words WHERE entry_words MATCH :q{at} "
    "AND rowid BETWEEN (:agent << 32) | :low AND (:agent << 32) | :high ORDER BY rowid DESC LIMIT :most)"
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
_SAMPLE = 1_000
"""PostgreSQL: the newest entries, which are read to see which queries have many answers."""
_MANY = 12
"""In the sample: a query with so many answers has too many to read them all."""
_ASKED = "CAST(CAST(:q{at} AS text) AS tsquery)"
_IN_SAMPLE = (
    "SELECT seq, mask FROM (SELECT seq, {mask} AS mask FROM entry_words, (SELECT {asked} OFFSET 0) AS asked "
    "WHERE agent = :agent AND seq BETWEEN :low AND :high) AS sample WHERE mask > 0 ORDER BY seq DESC"
)
_BY_WORDS = (  # OFFSET 0 keeps the planner from reading backwards until it has met enough, which may be never
    "(SELECT {at} AS at, seq FROM (SELECT agent, seq FROM entry_words "
    "WHERE words @@ CAST(CAST(:q{at} AS text) AS tsquery) OFFSET 0) AS found "
    "WHERE agent = :agent AND seq BETWEEN :low AND :high ORDER BY seq DESC LIMIT :most)"
)


@dataclass(frozen=True)
class Hits:
    """Seqs of entries, the newest first. ``complete``: there are no more."""

    seqs: Sequence[int]
    complete: bool


async def add(tx: Tx, agent_id: AgentId, entries: Sequence[Entry]) -> None:
    """Index entries that are written in this transaction."""
    texts = {entry.seq: text_to_find(entry.blocks) for entry in entries}
    if sum(map(len, texts.values())) > _LONG:
        words = await asyncio.to_thread(_words_of, texts)
    else:
        words = _words_of(texts)
    if words:
        number = await _number(tx, agent_id) or await _new_number(tx, agent_id)
        await tx.execute(*insertion(tx.dialect.name, number, words))


async def forget(tx: Tx, agent_id: AgentId) -> None:
    """Take all entries of an agent out of the index."""
    number = await _number(tx, agent_id)
    if number is not None:
        await tx.execute(_DELETE[tx.dialect.name], {"agent": number})
        await tx.execute(indexed_agents.delete().where(indexed_agents.c.agent_id == agent_id))


async def refill(tx: Tx) -> None:
    """Put all entries of numbered agents into an index that is empty, some at a time."""
    of_agent, seq = "", 0
    numbers = {agent_id: number for number, agent_id in await tx.execute(select(indexed_agents))}
    while True:
        after = tuple_(entries.c.agent_id, entries.c.seq) > tuple_(literal(of_agent), literal(seq))
        chosen = select(entries.c.agent_id, entries.c.seq, entries.c.blocks).where(after)
        rows = (await tx.execute(chosen.order_by(entries.c.agent_id, entries.c.seq).limit(_AT_ONCE))).all()
        if not rows:
            return
        for agent_id, own in groupby(rows, key=lambda row: str(row.agent_id)):
            words = _words_of({row.seq: text_to_find(row.blocks) for row in own})
            if words and agent_id in numbers:
                await tx.execute(*insertion(tx.dialect.name, numbers[agent_id], words))
        of_agent, seq = rows[-1].agent_id, rows[-1].seq


async def forget_some(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> None:
    """Take these entries of an agent out of the index."""
    number = await _number(tx, agent_id)
    if number is not None and seqs:
        await tx.execute(_DELETE_ONE[tx.dialect.name], [{"agent": number, "seq": seq} for seq in seqs])


async def newest(
    tx: Tx, agent_id: AgentId, queries: Sequence[Sequence[Wanted]], *, low: int, high: int, most: int
) -> list[Hits]:
    """For each query the newest entries of this agent from ``low`` to ``high`` that have all its words: at most
    ``most``, and where there are very many, perhaps fewer."""
    number = await _number(tx, agent_id)
    if number is None or not queries or low > high:
        return [Hits((), complete=True) for _ in queries]
    asked = {f"q{at}": _expression(tx.dialect.name, number, query) for at, query in enumerate(queries)}
    bounds = {"agent": number, "low": low, "high": high}
    if tx.dialect.name == "sqlite":
        found = await _found(tx, _NEWEST, range(len(queries)), {**asked, **bounds, "most": most})
        return [Hits(seqs, len(seqs) < most) for seqs in found.values()]
    return await _newest_in_postgresql(tx, asked, bounds, most)


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


async def _newest_in_postgresql(tx: Tx, asked: Mapping[str, str], bounds: Mapping[str, int], most: int) -> list[Hits]:
    """Queries with many answers are answered by reading the newest entries, the others by the index: its cost is that
    of all answers."""
    begin = max(bounds["low"], bounds["high"] - _SAMPLE + 1)
    statement = _IN_SAMPLE.format(
        mask=" + ".join(f"CASE WHEN words @@ q{at} THEN {1 << at} ELSE 0 END" for at in range(len(asked))),
        asked=", ".join(f"{_ASKED.format(at=at)} AS q{at}" for at in range(len(asked))),
    )
    sample: list[list[int]] = [[] for _ in asked]
    for seq, mask in await tx.execute(text(statement), {**asked, **bounds, "low": begin}):
        for at, seqs in enumerate(sample):
            if mask >> at & 1:
                seqs.append(seq)
    if begin == bounds["low"]:
        return [Hits(seqs[:most], len(seqs) <= most) for seqs in sample]
    few = [at for at, seqs in enumerate(sample) if len(seqs) < _MANY]
    named = {f"q{at}": asked[f"q{at}"] for at in few}
    found = await _found(tx, _BY_WORDS, few, {**named, **bounds, "most": most})
    return [
        Hits(found[at], len(found[at]) < most) if at in found else Hits(seqs[:most], complete=False)
        for at, seqs in enumerate(sample)
    ]


async def _found(tx: Tx, select_one: str, places: Sequence[int], values: Mapping[str, object]) -> dict[int, list[int]]:
    """What these queries find, by their places; all asked at once."""
    found: dict[int, list[int]] = {at: [] for at in places}
    if found:
        statement = text(" UNION ALL ".join(select_one.format(at=at) for at in places))
        for at, seq in await tx.execute(statement, values):
            found[at].append(seq)
    return {at: sorted(seqs, reverse=True) for at, seqs in found.items()}


def insertion(
    dialect: str, number: int, words: Mapping[int, Sequence[str]]
) -> tuple[TextClause, list[dict[str, object]]]:
    """What puts the words of entries, by their seqs, into the index of the agent with this number."""
    rows: list[dict[str, object]] = [
        {"agent": number, "seq": seq, "words": " ".join(_stored(dialect, number, word) for word in own)}
        for seq, own in words.items()
    ]
    return _INSERT[dialect], rows


def _words_of(texts: Mapping[int, str]) -> dict[int, list[str]]:
    found = {seq: words_in(content) for seq, content in texts.items()}
    return {seq: words for seq, words in found.items() if words}


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
