"""All candidates become facts: the second of the two stages of finding facts. Pure.

In the order in which things were said: what is known already is counted and not told twice, what is newer under a key
takes the place of what is older, failures that a later call made good go, and each kind is capped. What people and the
model said is never changed, and of two sentences none is taken to mean the other: that one may outdate the other is
said by where they stand (:mod:`bot.compaction.facts.lines`). Only a record that was read again outdates what was said
of its old value. Every candidate comes out with a decision and its reason (FEATURES A8).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bot.compaction.coverage import is_telling, terms_of
from bot.compaction.facts.fact import (
    PART,
    PROSE,
    Candidate,
    Decision,
    Fact,
    FactKind,
    FactStatus,
    Reason,
    Speaker,
    about,
)
from bot.compaction.facts.records import Fields, as_text, fields_of, is_id_name

CAPS = {FactKind.ACTION: 400, FactKind.VALUE: 1_500, FactKind.GIVEN: 1_000, FactKind.PATH: 100}
"""Facts of one kind at most; the oldest that nobody pinned go (FEATURES A8: growth is capped). Of what was said
only the book has a cap (:mod:`bot.compaction.facts.life`)."""

MOST_SEQS = 8
"""Entries that a fact remembers to stand in: the first, and the last ones."""

_MOST_ALIKE = 64
"""Lines with one id, or one value, that are looked at: the last ones."""
_SHORTEST_VALUE = 4
"""Characters of a value that does not stand in a sentence by chance."""


@dataclass(frozen=True)
class Merged:
    """The facts, and every candidate with its decision, in the order in which they came."""

    facts: tuple[Fact, ...]
    candidates: tuple[Candidate, ...]


def merged(candidates: Iterable[Candidate], known: Sequence[Fact] = ()) -> Merged:
    """``known``: facts from before, which the candidates come after; they are updated like any other."""
    merging = _Merging(list(candidates), known)
    for at, candidate in enumerate(tuple(merging.candidates)):
        if candidate.decision is Decision.ACCEPTED:
            merging.take(at, candidate)
    merging.finish()
    facts = sorted(merging.facts.values(), key=lambda fact: fact.seqs[-1] if fact.seqs else 0)
    return Merged(tuple(facts), tuple(merging.candidates))


class _Merging:
    """``facts``: each under the number of the candidate that it came from; what was known before has numbers below 0.
    The indices may name numbers that are gone."""

    def __init__(self, candidates: list[Candidate], known: Sequence[Fact]) -> None:
        self.candidates = candidates
        self.facts = dict(enumerate(known, -len(known)))
        self._by_what = {about(fact): at for at, fact in self.facts.items()}
        self._by_text: dict[tuple[FactKind, str], int] = {}
        """What a checkpoint tells has no keys, or others."""
        self._by_clue = defaultdict[str, list[int]](list)
        """Records by the ids of their things, what was said by its values."""
        self._unread = list(self.facts)
        """What no clue names yet: the index is made when it is first asked, and most turns never ask."""
        self._lists: dict[str, int] = {}
        """By the key of a list, in which entry it was returned last."""
        if len(self._by_what) < len(self.facts):
            self._join_doubles()

    def _join_doubles(self) -> None:
        """What is known twice becomes one, as the newest says it, with the sources of both; pinned if one was, and with
        the number of that one."""
        self._by_what.clear()
        for at, fact in sorted(self.facts.items(), key=lambda item: item[1].seqs[-1:]):
            if (first := self._by_what.get(about(fact))) is not None:
                older = self.facts.pop(first)
                seqs = with_seqs((), *sorted({*older.seqs, *fact.seqs}))
                number = older.number if older.pinned and not fact.pinned else fact.number
                self.facts[at] = replace(fact, seqs=seqs, pinned=older.pinned or fact.pinned, number=number)
            self._by_what[about(fact)] = at

    def take(self, at: int, candidate: Candidate) -> None:
        """The candidate of this number, after all before it."""
        if candidate.key.startswith(PART):
            self._lists[candidate.key] = candidate.seq
            self._drop(self._by_what.get(candidate.key.removeprefix(PART), at), Reason.SUPERSEDED)
        older = self._by_what.get(about(candidate), self._by_text.get((candidate.kind, candidate.text), at))
        known = self.facts.get(older)
        if known is not None and _is_told(candidate, known):
            self.candidates[at] = replace(candidate, reason=Reason.DUPLICATE)
            self.facts[older] = _said_again(known, candidate)
            return
        if candidate.kind is FactKind.ACTION and candidate.status is FactStatus.ACTIVE:
            action = fields_of(candidate.text)
            self._drop(self._by_what.get(f"failed:{action.get('tool', '')}", at), Reason.RETRIED)
            self._outdate(action)
        fact = candidate.fact
        if known is not None:
            fact = self._newer(known, fact)
            self._drop(older, Reason.SUPERSEDED)
            self.candidates[at] = replace(candidate, reason=Reason.UPDATE)
        self._put(at, fact)

    def finish(self) -> None:
        """A list that was returned again replaces the whole list from before; and there are not too many of a kind."""
        for at, fact in [item for item in self.facts.items() if item[1].key in self._lists] if self._lists else ():
            if max(fact.seqs, default=0) < self._lists[fact.key]:
                self._drop(at, Reason.SUPERSEDED)
        kinds = [fact.kind for fact in self.facts.values()]
        for kind, most in CAPS.items():
            if kinds.count(kind) > most:
                of_kind = [at for at, fact in self.facts.items() if fact.kind is kind]
                of_kind.sort(key=lambda at: (self.facts[at].pinned, self.facts[at].seqs[-1:]))
                for at in of_kind[:-most]:
                    self._drop(at, Reason.OVER_CAP)

    def _put(self, at: int, fact: Fact) -> None:
        self.facts[at] = fact
        self._by_what[about(fact)] = at
        if not fact.key.startswith(f"{PART}call:"):  # two calls may return the same
            self._by_text[fact.kind, fact.text] = at
        self._unread.append(at)

    def _newer(self, before: Fact, fact: Fact) -> Fact:
        """The newer under the same key holds; what only the older record says of the same thing is kept with it."""
        text = fact.text
        if fact.kind is FactKind.VALUE:
            then, now = fields_of(before.text), fields_of(text)
            for name, value in then.items():
                if now.get(name, value) != value and len(value) >= _SHORTEST_VALUE:
                    self._retire(name, value, now[name])
            text = as_text({**then, **now}) if fact.key.startswith("entity:") else text
        seqs = with_seqs(before.seqs, *fact.seqs)
        return replace(fact, text=text, seqs=seqs, pinned=before.pinned, number=before.number)

    def _retire(self, name: str, before: str, now: str) -> None:
        """What a record says otherwise now is not told from before in prose either."""
        for at in self._about(list(filter(is_telling, terms_of(before)))[:1]):
            fact = self.facts[at]
            if fact.kind not in PROSE or before not in fact.text or now in fact.text:
                continue
            if fact.speaker is Speaker.MODEL:
                self._drop(at, Reason.SUPERSEDED)
            elif not set(terms_of(name.replace("_", " "))).isdisjoint(terms_of(fact.text)):
                self.facts[at] = replace(fact, status=FactStatus.REPLACED)

    def _outdate(self, action: Fields) -> None:
        """What an action gave another value to is told by the action, and no longer by the row of that thing."""
        given = {_bare(name): cell for name, cell in action.items() if not is_id_name(name)}
        for at in self._about(_ids_in(as_text(action))):
            row = fields_of(self.facts[at].text)
            holds = {name: cell for name, cell in row.items() if given.get(_bare(name), cell) == cell}
            if self.facts[at].kind is FactKind.VALUE and len(holds) < len(row):
                self._put(at, replace(self.facts[at], text=as_text(holds)))

    def _about(self, clues: Iterable[str]) -> Iterable[int]:
        """The last lines that hold one of these."""
        for at in self._unread:
            for clue in _clues(self.facts[at]) if at in self.facts else ():
                self._by_clue[clue].append(at)
        self._unread.clear()
        found = (at for clue in clues for at in self._by_clue.get(clue, ())[-_MOST_ALIKE:])
        return [at for at in dict.fromkeys(found) if at in self.facts]

    def _drop(self, at: int, reason: Reason) -> None:
        if self.facts.pop(at, None) and at >= 0:
            self.candidates[at] = replace(self.candidates[at], reason=reason)


def _is_told(candidate: Candidate, fact: Fact) -> bool:
    """Whether the fact about the same thing says so already: also what somebody else echoes of it."""
    if fact.kind in PROSE and candidate.speaker is Speaker.MODEL and fact.speaker is Speaker.PERSON:
        return True
    if fact.kind in PROSE:
        return candidate.status is fact.status
    return candidate.status is fact.status and candidate.text == fact.text


def _said_again(fact: Fact, candidate: Candidate) -> Fact:
    if fact.kind in PROSE and candidate.speaker is not fact.speaker:
        return fact  # whose word it is, word for word, is said by its last message: an echo of somebody else is not it
    seqs, weight = with_seqs(fact.seqs, candidate.seq), max(fact.weight, candidate.weight)
    speaker = Speaker.TOOL if candidate.speaker is Speaker.TOOL else fact.speaker  # a place that was named is seen now
    return replace(fact, text=candidate.text, seqs=seqs, weight=weight, speaker=speaker)


def with_seqs(seqs: tuple[int, ...], *more: int) -> tuple[int, ...]:
    """The entries that a fact stands in, with these: the first, and the last ones."""
    whole = (*seqs, *(seq for seq in more if seq not in seqs[-1:]))
    return whole if len(whole) <= MOST_SEQS else (whole[0], *whole[-MOST_SEQS + 1 :])


def _clues(fact: Fact) -> Iterable[str]:
    if fact.kind in PROSE:
        return filter(is_telling, terms_of(fact.text))
    return _ids_in(fact.text) if fact.kind is FactKind.VALUE else ()


@lru_cache(maxsize=4_096)
def _ids_in(record: str) -> frozenset[str]:
    """The cells that the thing of a record can be found by. Kept, since every known record is asked at every turn."""
    return frozenset(cell for name, cell in fields_of(record).items() if is_id_name(name))


def _bare(name: str) -> str:
    return name.casefold().replace("_", "").removeprefix("new")
