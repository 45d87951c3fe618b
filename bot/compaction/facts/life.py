"""The life of facts: what a turn adds to those that are known, and what goes again. Pure (FEATURES A8).

::

    new entries ─▶ candidates ─▶ merged with the known facts ─▶ facts, every candidate with its decision
                                      └ nothing new: prune ─▶ fewer facts

What a person pinned or added stays until that person has it forgotten; and what was forgotten stays forgotten, unless
a person says it again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.compaction.facts.candidates import candidates_by_entry
from bot.compaction.facts.choice import most_telling
from bot.compaction.facts.fact import (
    PROSE,
    RECORDS,
    Candidate,
    Decision,
    Fact,
    FactKind,
    FactStatus,
    Reason,
    Speaker,
    about,
)
from bot.compaction.facts.merge import merged
from bot.compaction.places import is_place
from bot.history import Entry, EntryKind, History
from bot.history.entry_text import RECALL

MOST_FACTS = 1_700
"""Facts of one agent that were found by themselves; the least useful, then the oldest, go."""
MOST_CANDIDATES = 2_000
"""Candidates that are kept of one agent; the oldest go."""
MOST_FORGOTTEN = 500
"""Facts that an agent knows it has to forget; the oldest go."""

_NO_VALUE = 1.0
_LOW_VALUE = 1.5
_SOON, _LATE = 50, 500
"""Entries after which a fact of low value, and one that does not hold any more, is of no use."""
_AFTER_CAPPING = 0.7
"""Of the cap: what is left when it was passed."""
_NEWS = frozenset({EntryKind.SAID, EntryKind.FILE, EntryKind.REPLY, EntryKind.RESULT})


class Source(StrEnum):
    """Who put a fact into the book."""

    AUTO = "cfpm_auto"
    """It was found in what was said."""
    PERSON = "person"
    """A person added it, or pinned it."""


@dataclass(frozen=True, slots=True)
class Known:
    """A fact in the book. ``forgotten``: a tombstone; it is shown to nobody, and keeps others like it out."""

    fact: Fact
    source: Source = Source.AUTO
    forgotten: bool = False

    @property
    def protected(self) -> bool:
        """Whether only a person may take it out."""
        return self.fact.pinned or self.source is Source.PERSON


@dataclass(frozen=True)
class Refreshed:
    """``facts``: all that are known now, tombstones included; those that are new have no number yet. ``pruned``: how
    many of the facts from before are gone. ``candidates``: with their decisions, in the order in which they came."""

    facts: tuple[Known, ...]
    candidates: tuple[Candidate, ...] = ()
    pruned: int = 0

    @property
    def accepted(self) -> int:
        """How many candidates were."""
        return sum(item.decision is Decision.ACCEPTED for item in self.candidates)

    @property
    def rejected(self) -> Mapping[str, int]:
        """How many were not, by reason."""
        reasons = (item.reason.value for item in self.candidates if item.decision is Decision.REJECTED)
        return dict(sorted(Counter(reasons).items()))


def found_in(entries: Iterable[Entry], earlier: Iterable[Entry] = ()) -> tuple[Candidate, ...]:
    """The candidates of entries in reading order. ``earlier``: what came before them, for its tool calls.

    What layers inserted, what the program said and what ``recall`` found again is not news.
    """
    news = [entry for entry in entries if entry.layer is None and entry.kind in _NEWS]
    return tuple(one for _, found in candidates_by_entry(news, [*earlier], unread=RECALL) for one in found)


def floor_of(history: History) -> int:
    """What was said up to this seq is out of memory: the last `/new` hides it. 0: nothing is."""
    return max((layer.upto for layer in history.layers if layer.kind == "new"), default=0)


def in_scope(fact: Fact, floor: int) -> bool:
    """Whether a fact was said after the last `/new`, or in no message at all."""
    return not floor or not fact.seqs or max(fact.seqs) > floor


def refreshed(known: Sequence[Known], found: Sequence[Candidate], floor: int = 0) -> Refreshed:
    """What is known after these candidates. What lies beneath `/new` and what stands above it do not mix."""
    forgotten, held = [item for item in known if item.forgotten], [item for item in known if not item.forgotten]
    facts, decided = list[Known](), list[Candidate]()
    checked = _not_forgotten(found, forgotten) if forgotten else found
    for beneath in (True, False) if floor else (False,):
        same = [item for item in held if in_scope(item.fact, floor) is not beneath] if floor else held
        if news := [item for item in checked if (item.seq <= floor) is beneath]:
            merging = merged(news, [item.fact for item in same])
            decided += merging.candidates
            same = _merged_with(same, merging.facts)
        facts += same
    life = Refreshed((), tuple(decided))
    facts = _capped(facts if life.accepted else pruned(facts, floor))
    gone = len(known) - len(forgotten) - sum(item.fact.number > 0 for item in facts)
    if len(forgotten) > MOST_FORGOTTEN:
        forgotten = sorted(forgotten, key=lambda item: item.fact.number)[-MOST_FORGOTTEN:]
    return replace(life, facts=(*forgotten, *facts), pruned=gone)


def pruned(facts: Sequence[Known], floor: int = 0) -> list[Known]:
    """Without what was found and is of no use: dates that look like paths, what has little value, what was said twice
    (in what is in memory, and apart from that in what `/new` put out of it)."""
    newest = max((seq for item in facts for seq in item.fact.seqs), default=0)
    useful = [item for item in facts if item.protected or _is_useful(item.fact, newest)]
    here = [item for item in useful if in_scope(item.fact, floor)]
    beneath = (item for item in useful if not in_scope(item.fact, floor))
    return [*beneath, *_merged_with(here, merged((), [item.fact for item in here]).facts)]


def injected(facts: Iterable[Known], floor: int) -> tuple[Fact, ...]:
    """The facts that a checkpoint may hold: what is active or pinned, and what says itself that it is over; places
    only if they are places. Oldest first."""
    shown = (item.fact for item in facts if not item.forgotten and in_scope(item.fact, floor))
    told = (fact for fact in shown if fact.kind in PROSE or fact.status in (FactStatus.ACTIVE, FactStatus.FAILED))
    may_stand = (fact for fact in told if fact.kind is not FactKind.PATH or is_place(fact.text))
    return tuple(sorted(may_stand, key=lambda fact: (fact.seqs[-1] if fact.seqs else 0, fact.number)))


def _not_forgotten(found: Sequence[Candidate], forgotten: Sequence[Known]) -> list[Candidate]:
    """What was forgotten is rejected: in the entries that it stood in whatever says so, and later unless a person does,
    or a record says something else."""
    gone = defaultdict[str, list[Fact]](list)
    for item in forgotten:
        gone[about(item.fact)].append(item.fact)

    def is_forgotten(candidate: Candidate, fact: Fact) -> bool:
        if candidate.seq <= max(fact.seqs, default=0):
            return True
        return candidate.speaker is not Speaker.PERSON and (fact.kind not in RECORDS or fact.text == candidate.text)

    def is_gone(candidate: Candidate) -> bool:
        return any(is_forgotten(candidate, fact) for fact in gone.get(about(candidate), ()))

    return [replace(item, reason=Reason.FORGOTTEN) if is_gone(item) else item for item in found]


def _merged_with(before: Sequence[Known], after: Sequence[Fact]) -> list[Known]:
    """The merged facts, with their sources; what a person wants kept and is outdated stays, and says so."""
    left = {id(item.fact): item for item in before}
    same = [left.pop(id(fact), None) for fact in after]  # nearly all are: a look at each takes longer
    known = {item.fact.number: item for item in left.values()}
    facts = list[Known]()
    for fact, item in zip(after, same, strict=True):
        older = known.pop(fact.number, None) if item is None else None
        facts.append(item or (replace(older, fact=fact) if older else Known(fact)))
    kept = [item for item in known.values() if item.protected]
    told = {about(fact) for fact in after} if kept else set[str]()
    for item in kept:
        holds = item.fact.status is not FactStatus.ACTIVE or (item.fact.kind in PROSE and about(item.fact) in told)
        facts.append(item if holds else replace(item, fact=replace(item.fact, status=FactStatus.REPLACED)))
    return facts


def _is_useful(fact: Fact, newest: int) -> bool:
    if fact.kind is FactKind.PATH:
        return is_place(fact.text)
    age = newest - max(fact.seqs, default=newest)
    if fact.status in (FactStatus.DONE, FactStatus.CANCELLED, FactStatus.REPLACED):
        return age <= _LATE
    return fact.weight >= _NO_VALUE and (fact.weight > _LOW_VALUE or len(fact.seqs) > 1 or age <= _SOON)


def _capped(facts: list[Known]) -> list[Known]:
    """At most so many that were found: when there are more, those that tell least beside the others go, and some more
    with them, so that it is not done at every turn."""
    auto = [item for item in facts if not item.protected] if len(facts) > MOST_FACTS else []
    if len(auto) <= MOST_FACTS:
        return facts
    best = most_telling([item.fact for item in auto], max(1, round(MOST_FACTS * _AFTER_CAPPING)))
    return [*(item for item in facts if item.protected), *(item for at, item in enumerate(auto) if at in best)]
