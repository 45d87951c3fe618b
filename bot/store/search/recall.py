"""Finding and reading again what was said (FEATURES B3): everything that an agent ever said or saw, also beneath its
layers, and nothing of any other agent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import RowMapping, func, or_, select

from bot.history import ASKED, Entry, EntryKind, History, Layer
from bot.history.entry_text import is_result, text_to_read
from bot.messages import AgentId, Audience, tool_calls
from bot.store import histories
from bot.store.schema import entries, inbox
from bot.store.search import word_index
from bot.store.search.word_index import Hits
from bot.store.search.words import LONGEST_QUERY, Wanted, plain, query_words
from bot.store.tx import Tx

MODEL = frozenset({Audience.EVERYONE, Audience.MODEL})
"""What a model may read."""
PEOPLE = frozenset({Audience.EVERYONE, Audience.PEOPLE})
"""What people may read."""

_LAST = 2**31 - 1
_MOST_HITS = 120
"""Entries that are looked at for one word, and for several together, the newest."""
_POOL = 60
"""Of all these, the most promising are read."""
_EDGES = " .,;:!?¿¡…。、？！\"'«»“”„()[]"
"""What may stand around a phrase and is no part of it."""
_ORIGINAL = ASKED | {EntryKind.REPLY, EntryKind.RESULT}
_FURTHEST_CALL = 30
"""Entries between a call and its result, at most: the results of calls that were made with it."""
MOST_READ = 200
"""Entries of a range that are read at once."""


@dataclass(frozen=True)
class Recalled:
    """An entry with what is known around it. ``at``: seconds since 1970. ``who``: the name of the person or of the
    tool, where one is known."""

    entry: Entry
    at: float
    who: str = ""

    @property
    def seq(self) -> int:
        """Its number in the conversation."""
        return self.entry.seq

    @property
    def text(self) -> str:
        """What it says, in full."""
        return text_to_read(self.entry.blocks)


async def search(
    tx: Tx,
    agent_id: AgentId,
    query: str,
    *,
    audience: frozenset[Audience],
    low: int = 1,
    high: int | None = None,
    unseen: bool = False,
    most: int = 20,
) -> list[Recalled]:
    """The entries of this agent from ``low`` to ``high`` that answer the query best, the best first.

    Those that hold all words come first, then those that hold some. Among either, what was said comes before what
    compactions wrote of it, an exact phrase before single words, rare words before frequent ones, and the newest first.
    ``unseen``: without what the model has in front of it now.
    """
    words = query_words(query)
    stack = await histories.load_layers(tx, agent_id) if unseen else ()
    newest = _deepest(stack) if unseen else await histories.last_seq(tx, agent_id)
    low, high = min(_LAST, max(1, low)), newest if high is None else min(high, newest)
    if not words or low > high:
        return []
    scores = await _scores(tx, agent_id, words, low, high)
    pool = sorted(scores, key=lambda seq: (scores[seq], seq), reverse=True)[:_POOL]
    found = [item for item in await _load(tx, agent_id, pool) if item.entry.audience in audience]
    if unseen:
        in_front = _in_front(found, stack)
        found = [item for item in found if item.seq not in in_front]
    phrase = plain(query[:LONGEST_QUERY]).strip(_EDGES)
    ranked = sorted(found, key=lambda item: _rank(item, scores[item.seq], words, phrase), reverse=True)
    return await _with_names(tx, agent_id, ranked[:most])


async def read(
    tx: Tx, agent_id: AgentId, *, audience: frozenset[Audience], low: int, high: int, most: int = MOST_READ
) -> list[Recalled]:
    """The entries of this agent from ``low`` to ``high``, in their order; the first ``most``."""
    chosen = (
        select(entries)
        .where(
            entries.c.agent_id == agent_id,
            entries.c.seq.between(min(_LAST, max(1, low)), min(_LAST, high)),
            entries.c.audience.in_(audience),
        )
        .order_by(entries.c.seq)
        .limit(most)
    )
    rows = await tx.execute(chosen)
    return await _with_names(tx, agent_id, [_recalled(row) for row in rows.mappings()])


async def these(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> list[Recalled]:
    """The entries of this agent with these numbers, whoever may see them."""
    return await _with_names(tx, agent_id, await _load(tx, agent_id, seqs))


async def last(tx: Tx, agent_id: AgentId) -> int:
    """The newest entry's number."""
    return await histories.last_seq(tx, agent_id)


class _Score(NamedTuple):
    """``complete``: all words are there. ``weight``: of those that are, the rarer the more."""

    complete: bool
    weight: float


async def _scores(tx: Tx, agent_id: AgentId, words: Sequence[Wanted], low: int, high: int) -> dict[int, _Score]:
    """By seq. Of frequent words only the newest entries are known, so they are looked for together with rarer ones."""
    lists = await word_index.newest(tx, agent_id, [[word] for word in words], low=low, high=high, most=_MOST_HITS)
    weights = [_weight(hits, low, high) for hits in lists]
    held: dict[int, set[int]] = {}
    for at, hits in enumerate(lists):
        for seq in hits.seqs:
            held.setdefault(seq, set()).add(at)
    rarest_first = sorted(range(len(words)), key=lambda at: -weights[at])
    together = [
        rarest_first[:count]
        for count in sorted({len(words), len(words) - 1, len(words) // 2, 2})
        if 1 < count <= len(words) and not lists[rarest_first[count - 1]].complete
    ]
    queries = [[words[at] for at in some] for some in together]
    both = await word_index.newest(tx, agent_id, queries, low=low, high=high, most=_MOST_HITS)
    for some, hits in zip(together, both, strict=True):
        for seq in hits.seqs:
            held.setdefault(seq, set()).update(some)
    return {seq: _Score(len(own) == len(words), round(sum(weights[at] for at in own), 6)) for seq, own in held.items()}


def _weight(hits: Hits, low: int, high: int) -> float:
    """Of a word that these entries hold, by how rare it is among all of them."""
    if not hits.seqs:
        return math.log(2 + high - low)
    searched = high - (low if hits.complete else hits.seqs[-1]) + 1
    return math.log(1 + searched / len(hits.seqs))


def _rank(item: Recalled, score: _Score, words: Sequence[Wanted], phrase: str) -> tuple[object, ...]:
    said = plain(item.text)
    exact = sum(word.word in said for word in words)
    return score.complete, item.entry.kind in _ORIGINAL, phrase in said, score.weight, exact, item.seq


def _deepest(stack: Sequence[Layer]) -> int:
    """The newest entry that these layers hide or shorten; whatever came later is in front of the model."""
    hidden = (high for layer in stack for _, high in layer.hidden)
    return max((*hidden, *(seq for layer in stack for seq in layer.replaced)), default=0)


def _in_front(found: Iterable[Recalled], stack: tuple[Layer, ...]) -> set[int]:
    """Which of these the model has in front of it, whole."""
    page = History(tuple(sorted((item.entry for item in found), key=lambda entry: entry.seq)), stack)
    return {entry.seq for entry in page.visible} - {seq for layer in stack for seq in layer.replaced}


async def _load(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> list[Recalled]:
    rows = await tx.execute(select(entries).where(entries.c.agent_id == agent_id, entries.c.seq.in_(seqs)))
    return [_recalled(row) for row in rows.mappings()]


def _recalled(row: RowMapping) -> Recalled:
    return Recalled(histories.entry_of(row), row["created_at"])


async def _with_names(tx: Tx, agent_id: AgentId, found: Sequence[Recalled]) -> list[Recalled]:
    """Who said it, where one person alone wrote to that turn; and which tool a result is of."""
    people = await _people(tx, agent_id, {item.entry.turn for item in found if item.entry.turn})
    tools = await _tools(tx, agent_id, [item.seq for item in found if item.entry.kind is EntryKind.RESULT])
    return [replace(item, who=_who(item.entry, people, tools)) for item in found]


async def _people(tx: Tx, agent_id: AgentId, turns: Iterable[str]) -> dict[str, str]:
    """By turn."""
    written = select(inbox.c.turn_id, func.min(inbox.c.person_name).label("name")).where(
        inbox.c.agent_id == agent_id, inbox.c.turn_id.in_(list(turns))
    )
    one = func.count(inbox.c.person_name.distinct()) == 1
    rows = await tx.execute(written.group_by(inbox.c.turn_id).having(one))
    return {row.turn_id: row.name for row in rows}


async def _tools(tx: Tx, agent_id: AgentId, results: Sequence[int]) -> dict[str, str]:
    """By the id of the call."""
    if not results:
        return {}
    replies = select(entries.c.blocks).where(
        entries.c.agent_id == agent_id,
        entries.c.kind == EntryKind.REPLY,
        or_(*(entries.c.seq.between(seq - _FURTHEST_CALL, seq - 1) for seq in results)),
    )
    calls = [call for (blocks,) in await tx.execute(replies) for call in tool_calls(blocks)]
    return {call["id"]: call["name"] for call in calls}


def _who(entry: Entry, people: Mapping[str, str], tools: Mapping[str, str]) -> str:
    if entry.kind in ASKED:
        return people.get(entry.turn or "", "")
    return next((tools.get(block["tool_use_id"], "") for block in entry.blocks if is_result(block)), "")
