"""Finding and reading again what was said (FEATURES B3): everything that an agent ever said or saw, also beneath its
layers, and nothing of any other agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest

from sqlalchemy import RowMapping, func, not_, or_, select

from bot.history import ASKED, Entry, EntryKind, History, Layer, Ranges
from bot.history.entry_text import is_result, text_to_read
from bot.messages import AgentId, Audience, tool_calls
from bot.store import histories
from bot.store.histories import OutOfSight
from bot.store.schema import entries, inbox
from bot.store.search import ranking, word_index
from bot.store.search.word_index import Count, Hits
from bot.store.search.words import (
    LONGEST_QUERY,
    Wanted,
    plain,
    telling_and_common,
    times_in,
    times_written,
    written_words,
)
from bot.store.tx import Tx

MODEL = frozenset({Audience.EVERYONE, Audience.MODEL})
"""What a model may read."""
PEOPLE = frozenset({Audience.EVERYONE, Audience.PEOPLE})
"""What people may read."""

_LAST = 2**31 - 1
_MOST_HITS = 500
"""Entries that are looked at for one word, and for several together, the newest."""
_MOST_WEIGHED = 400
"""Of all these, those with the most and rarest words are weighed."""
_POOL = 60
"""Of these, the best are read."""
_EDGES = " .,;:!?¿¡…。、？！\"'«»“”„()[]"
"""What may stand around a phrase and is no part of it."""
_ORIGINAL = ASKED | {EntryKind.REPLY, EntryKind.RESULT}
_FURTHEST_CALL = 30
"""Entries between a call and its result, at most: the results of calls that were made with it."""
_DIGITS = 6
"""What differs by less is equal, and the newest comes first."""
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

    What was said comes before what compactions wrote of it, and an exact phrase before single words. Otherwise they
    stand by BM25 (:mod:`bot.store.search.ranking`), and among equals the newest first.
    ``unseen``: without what the model has in front of it now.
    """
    words, common = telling_and_common(query)
    stack = await histories.load_layers(tx, agent_id) if unseen else ()
    newest = _deepest(stack) if unseen else await histories.last_seq(tx, agent_id)
    low, high = min(_LAST, max(1, low)), newest if high is None else min(high, newest)
    if not words or low > high:
        return []
    scores: dict[int, _Score] = {}
    away = await histories.out_of_sight(tx, agent_id)
    for first, last_one in _in_sight(low, high, away.ranges):
        scores |= await _Search(tx, agent_id, words, common, first, last_one).scores()
    best = partial(nlargest, _POOL, key=lambda seq: (round(scores[seq].weight, _DIGITS), seq))
    pool = {*best(scores), *best(seq for seq, score in scores.items() if score.whole)}
    found = [item for item in await _load(tx, agent_id, sorted(pool)) if _is_for(item.entry, audience, away)]
    if unseen:
        in_front = _in_front(found, stack)
        found = [item for item in found if item.seq not in in_front]
    phrase = plain(query[:LONGEST_QUERY]).strip(_EDGES) if len(words) + len(common) > 1 else ""
    ranked = _ranked(found, [scores[item.seq] for item in found], written_words(query), phrase)
    return await _with_names(tx, agent_id, ranked[:most])


async def read(
    tx: Tx, agent_id: AgentId, *, audience: frozenset[Audience], low: int, high: int, most: int = MOST_READ
) -> list[Recalled]:
    """The entries of this agent from ``low`` to ``high``, in their order; the first ``most``."""
    away = await histories.out_of_sight(tx, agent_id)
    chosen = (
        select(entries)
        .where(
            entries.c.agent_id == agent_id,
            entries.c.seq.between(min(_LAST, max(1, low)), min(_LAST, high)),
            entries.c.audience.in_(audience),
            *(not_(entries.c.seq.between(first, last_one)) for first, last_one in away.ranges),
        )
        .order_by(entries.c.seq)
        .limit(most)
    )
    rows = await tx.execute(chosen)
    found = [_recalled(row) for row in rows.mappings()]
    return await _with_names(tx, agent_id, [item for item in found if _is_for(item.entry, audience, away)])


async def these(tx: Tx, agent_id: AgentId, seqs: Sequence[int]) -> list[Recalled]:
    """The entries of this agent with these numbers, whoever may see them."""
    return await _with_names(tx, agent_id, await _load(tx, agent_id, seqs))


async def last(tx: Tx, agent_id: AgentId) -> int:
    """The newest entry's number."""
    return await histories.last_seq(tx, agent_id)


def _is_for(entry: Entry, audience: frozenset[Audience], away: OutOfSight) -> bool:
    return entry.audience in audience and entry.layer not in away.layers


def _in_sight(low: int, high: int, away: Ranges) -> list[tuple[int, int]]:
    """What is left of these numbers without those that nobody is to find."""
    left: list[tuple[int, int]] = []
    for first, last_one in away:
        if low < first:
            left.append((low, min(high, first - 1)))
        low = max(low, last_one + 1)
    return [*left, (low, high)] if low <= high else left


@dataclass(frozen=True)
class _Score:
    """What the words of a query weigh in an entry, in any form; how long it is; and whether it has all words of the
    query, also those that every text has."""

    weight: float
    length: int
    whole: bool


@dataclass(frozen=True)
class _Search:
    """For these words, in the entries of an agent from ``low`` to ``high``."""

    tx: Tx
    agent_id: AgentId
    words: Sequence[Wanted]
    common: Sequence[Wanted]
    low: int
    high: int

    async def scores(self) -> dict[int, _Score]:
        """By seq."""
        words = self.words
        lists = await self._newest([[word] for word in words])
        telling = [_rarity(hits, self.low, self.high) for hits in lists]
        held = await self._held(lists, telling)
        whole = set(await self._whole())
        held.update((seq, set(range(len(words)))) for seq in whole)
        known = {seq: round(sum(telling[at] for at in sorted(own)), _DIGITS) for seq, own in held.items()}
        seqs = nlargest(_MOST_WEIGHED, known, key=lambda seq: (seq in whole, known[seq], seq))
        frequent = [at for at, hits in enumerate(lists) if not hits.complete]
        holding = await word_index.holding(self.tx, self.agent_id, [words[at] for at in frequent], seqs)
        for at, own in zip(frequent, holding, strict=True):
            for seq in own:
                held[seq].add(at)
        counts = await word_index.counts(self.tx, self.agent_id, seqs)
        return {seq: _score(words, telling, held[seq], counts.get(seq, Count()), whole=seq in whole) for seq in seqs}

    async def _whole(self) -> Sequence[int]:
        """The newest that have all words of the query, also those that every text has. Whoever asks for a whole
        sentence asks for these; where little of it tells anything, they are not among the best."""
        if not self.common:
            return ()
        [hits] = await self._newest([[*self.words, *self.common]])
        return hits.seqs

    async def _held(self, lists: Sequence[Hits], telling: Sequence[float]) -> dict[int, set[int]]:
        """By seq, the places of the words that an entry is known to hold. Of frequent words only the newest entries
        are known, so they are looked for together with rarer ones."""
        every = len(self.words)
        rarest_first = sorted(range(every), key=lambda at: -telling[at])
        together = [
            rarest_first[:count]
            for count in sorted({every, every - 1, every // 2, 2})
            if 1 < count <= every and not lists[rarest_first[count - 1]].complete
        ]
        both = await self._newest([[self.words[at] for at in some] for some in together])
        held: dict[int, set[int]] = {}
        for some, hits in zip([*([at] for at in range(every)), *together], [*lists, *both], strict=True):
            for seq in hits.seqs:
                held.setdefault(seq, set()).update(some)
        return held

    async def _newest(self, queries: Sequence[Sequence[Wanted]]) -> list[Hits]:
        return await word_index.newest(self.tx, self.agent_id, queries, low=self.low, high=self.high, most=_MOST_HITS)


def _rarity(hits: Hits, low: int, high: int) -> float:
    """Of a word that these entries hold, among all of them; where there are more, they may be as dense before."""
    entries = high - low + 1
    searched = entries if hits.complete else high - hits.seqs[-1] + 1
    return ranking.rarity(entries, len(hits.seqs) * entries / searched)


def _score(
    words: Sequence[Wanted], telling: Sequence[float], held: AbstractSet[int], count: Count, *, whole: bool
) -> _Score:
    weights = (
        ranking.weight(telling[at], times_in(word, count.repeats), count.length)
        for at, word in enumerate(words)
        if at in held
    )
    return _Score(sum(weights), count.length, whole)


def _ranked(found: Sequence[Recalled], scores: Sequence[_Score], asked: Sequence[str], phrase: str) -> list[Recalled]:
    said = [plain(item.text) for item in found]
    times = [times_written(asked, one) for one in said]
    written = ranking.as_written(times, [score.length for score in scores])
    ranks = {
        item.seq: (item.entry.kind in _ORIGINAL, phrase in text, round(score.weight + more, _DIGITS), item.seq)
        for item, text, score, more in zip(found, said, scores, written, strict=True)
    }
    return sorted(found, key=lambda item: ranks[item.seq], reverse=True)


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
