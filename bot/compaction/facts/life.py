"""The life of facts: what is new is merged with what is known, and what is of no use goes again. Pure (FEATURES A8).

::

    new entries ─▶ candidates ─▶ merged with the known facts ─▶ facts, every candidate with its decision
                                      └ nothing new: prune ─▶ fewer facts

Things are merged in the order in which they were said: what is known is counted and not told twice, what is newer under
a key takes the place of what is older, and failures that a later call made good go. What people and the model said is
never changed, and of two sentences none is taken to mean the other: that one may outdate the other is said by where
they stand. Only a record that was read again outdates what was said of its old value. What a person pinned or added
stays until that person has it forgotten, and that until a person says it again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nsmallest
from operator import attrgetter

from bot.compaction.coverage import is_telling, terms_of
from bot.compaction.facts.candidates import candidates_by_entry
from bot.compaction.facts.choice import most_telling
from bot.compaction.facts.fact import (
    OF_A_CALL,
    PART,
    Candidate,
    Fact,
    FactKind,
    FactStatus,
    Reason,
    Speaker,
    about,
    plain,
)
from bot.compaction.facts.records import Fields, as_text, fields_of, is_id_name
from bot.compaction.places import is_place
from bot.compaction.quotes import is_note
from bot.compaction.sentences import asks
from bot.history import Entry, EntryKind
from bot.history.entry_text import RECALL

MOST_FACTS, _AFTER_CAPPING = 1_700, 0.45
"""Facts of one agent that were found by themselves, and the share of them that is left when there were more."""
CAPS = {FactKind.ACTION: 400, FactKind.VALUE: 1_500, FactKind.GIVEN: 1_000, FactKind.PATH: 100}
"""Facts of one kind at most; the oldest that nobody pinned go (FEATURES A8: growth is capped)."""
MOST_CANDIDATES, MOST_FORGOTTEN = 2_000, 500
"""Candidates that are kept of one agent, and facts that it knows it has to forget; the oldest go."""
MOST_SEQS = 8
"""Entries that a fact remembers to stand in: the first, and the last ones."""

_NO_VALUE, _LOW_VALUE = 1.0, 1.5
_SOON, _LATE = 50, 500
"""Entries after which a fact of low value, and one that does not hold any more, is of no use."""
_SAME_REMARKS, _MOST_REMARKS = 3, 200
"""Remarks in the same words, and in all, that are kept, the last ones."""
_MOST_ALIKE, _SHORTEST_VALUE = 64, 4
"""Lines with one id, or one value, that are looked at, the last ones; and characters of a value that does not stand in
a sentence by chance."""
_NEWS = frozenset({EntryKind.SAID, EntryKind.FILE, EntryKind.REPLY, EntryKind.RESULT})


@dataclass(frozen=True)
class Refreshed:
    """``facts``: all that are known now, tombstones included; those that are new have no number yet. ``pruned``: how
    many of the facts from before are gone. ``candidates``: with their decisions, in the order in which they came."""

    facts: tuple[Fact, ...]
    candidates: tuple[Candidate, ...] = ()
    pruned: int = 0

    @property
    def accepted(self) -> int:
        """How many candidates were."""
        return sum(item.is_accepted for item in self.candidates)

    @property
    def rejected(self) -> Mapping[str, int]:
        """How many were not, by reason."""
        reasons = (item.reason.value for item in self.candidates if not item.is_accepted)
        return dict(sorted(Counter(reasons).items()))


def found_in(entries: Iterable[Entry], earlier: Iterable[Entry] = ()) -> tuple[Candidate, ...]:
    """The candidates of entries in reading order. ``earlier``: what came before them, for its tool calls. What layers
    inserted, what the program said and what ``recall`` found again is not news."""
    news = [entry for entry in entries if entry.layer is None and entry.kind in _NEWS]
    return tuple(one for _, found in candidates_by_entry(news, [*earlier], unread=RECALL) for one in found)


def in_scope(fact: Fact, floor: int) -> bool:
    """Whether a fact was said after the last `/new`, or in no message at all."""
    return not floor or not fact.seqs or fact.last > floor


def merged(candidates: Iterable[Candidate], known: Sequence[Fact] = ()) -> Refreshed:
    """All facts, oldest first. ``known``: facts from before, which the candidates come after; they are updated like any
    other."""
    merging = _Merging(list(candidates), known)
    return Refreshed(tuple(sorted(merging.facts.values(), key=attrgetter("last"))), tuple(merging.candidates))


def refreshed(known: Sequence[Fact], found: Sequence[Candidate], floor: int = 0) -> Refreshed:
    """What is known after these candidates. What lies beneath `/new` and what stands above it do not mix."""
    forgotten, held = [fact for fact in known if fact.forgotten], [fact for fact in known if not fact.forgotten]
    facts, decided = list[Fact](), list[Candidate]()
    checked = _not_forgotten(found, forgotten) if forgotten else found
    for beneath in (True, False) if floor else (False,):
        same = [fact for fact in held if in_scope(fact, floor) is not beneath] if floor else held
        if news := [item for item in checked if (item.seq <= floor) is beneath]:
            merging = _Merging(news, same)
            decided, same = [*decided, *merging.candidates], [*merging.facts.values()]
        facts += same
    life = Refreshed((), tuple(decided))
    facts = _capped(facts if life.accepted else pruned(facts, floor))
    gone = {fact.number for fact in held} - {fact.number for fact in facts}
    if len(forgotten) > MOST_FORGOTTEN:
        forgotten = sorted(forgotten, key=attrgetter("number"))[-MOST_FORGOTTEN:]
    return replace(life, facts=(*forgotten, *facts), pruned=sum(fact.is_listed for fact in held if fact.number in gone))


def pruned(facts: Sequence[Fact], floor: int = 0) -> list[Fact]:
    """Without what was found and is of no use: dates that look like paths, what has little value, what was said twice
    (in what is in memory, and apart from that in what `/new` put out of it)."""
    newest = max((fact.last for fact in facts), default=0)
    useful = [fact for fact in facts if fact.protected or _is_useful(fact, newest)]
    beneath = (fact for fact in useful if not in_scope(fact, floor))
    return [*beneath, *merged((), [fact for fact in useful if in_scope(fact, floor)]).facts]


def injected(facts: Iterable[Fact], floor: int) -> tuple[Fact, ...]:
    """The facts that a checkpoint may hold: what is active or pinned, and what says itself that it is over; places
    only if they are places. Oldest first."""
    shown = (fact for fact in facts if not fact.forgotten and in_scope(fact, floor))
    told = (fact for fact in shown if fact.kind.is_prose or fact.status in (FactStatus.ACTIVE, FactStatus.FAILED))
    may_stand = (fact for fact in told if fact.kind is not FactKind.PATH or is_place(fact.text))
    return tuple(sorted(may_stand, key=attrgetter("last", "number")))


def _not_forgotten(found: Sequence[Candidate], forgotten: Sequence[Fact]) -> list[Candidate]:
    """What was forgotten is rejected: in the entries that it stood in whatever says so, and later unless a person does,
    or a record says something else."""
    gone = defaultdict[str, list[Fact]](list)
    for fact in forgotten:
        gone[about(fact)].append(fact)

    def is_meant(fact: Fact, item: Candidate) -> bool:
        is_same = item.speaker is not Speaker.PERSON and (not fact.kind.is_record or fact.text == item.text)
        return is_same or item.seq <= fact.last

    def is_gone(item: Candidate) -> bool:
        return any(is_meant(fact, item) for fact in gone.get(about(item), ()))

    return [replace(item, reason=Reason.FORGOTTEN) if is_gone(item) else item for item in found]


def _is_useful(fact: Fact, newest: int) -> bool:
    if fact.kind is FactKind.PATH:
        return is_place(fact.text)
    age = newest - fact.last if fact.seqs else 0
    if fact.status in (FactStatus.DONE, FactStatus.CANCELLED, FactStatus.REPLACED):
        return age <= _LATE
    return fact.weight >= _NO_VALUE and (fact.weight > _LOW_VALUE or len(fact.seqs) > 1 or age <= _SOON)


def _capped(facts: list[Fact]) -> list[Fact]:
    """When there are too many that were found, those stay that tell most beside the others, and so few that it is not
    done at every turn; of remarks the last ones."""
    remarks = [fact for fact in facts if fact.status is FactStatus.REMARK]
    auto = [fact for fact in facts if fact.is_listed and not fact.protected] if len(facts) > MOST_FACTS else []
    gone = set(map(id, remarks[:-_MOST_REMARKS]))
    if len(auto) > MOST_FACTS:
        best = most_telling(auto, max(1, round(MOST_FACTS * _AFTER_CAPPING)))
        gone |= {id(fact) for at, fact in enumerate(auto) if at not in best}
    return [fact for fact in facts if id(fact) not in gone] if gone else facts


class _Merging:
    """``facts``: each under the number of the candidate that it came from; what was known before has numbers below 0.
    The indices may name numbers that are gone."""

    def __init__(self, candidates: list[Candidate], known: Sequence[Fact]) -> None:
        self.candidates = candidates
        self.facts = dict(enumerate(known, -len(known)))
        self._by_what = dict(zip(map(about, known), self.facts, strict=True))
        self._by_text: dict[tuple[FactKind, str], int] = {}
        """What a checkpoint tells has no keys, or others."""
        self._by_clue = defaultdict[str, list[int]](list)
        """Records by the ids of their things, what was said by its values."""
        self._unread = list(self.facts)
        """What no clue names yet: the index is made when it is first asked, and most turns never ask."""
        self._lists: dict[str, int] = {}
        """By the key of a list, in which entry it was returned last."""
        self._said, self._remarks = list[int](), defaultdict[str, list[int]](list)
        """The entries in which people said something, those that are known by the last one; remarks by their words."""
        if len(self._by_what) < len(self.facts):
            self._join_doubles()
        for at, candidate in enumerate(tuple(candidates)):
            if candidate.is_accepted:
                self._take(at, candidate)
                self._said += [candidate.seq] if _is_own(candidate) else ()
            elif candidate.reason is Reason.LOW_VALUE and not is_note(candidate.text):
                self._remark(at, candidate)
        self._finish()

    def _join_doubles(self) -> None:
        """What is known twice becomes one, as the newest says it, where both were said; what a person wants kept stays
        so, under its number, and two of them stay two."""
        self._by_what.clear()
        for at, fact in sorted(self.facts.items(), key=lambda item: item[1].seqs[-1:]):
            first = self._by_what.get(about(fact), at)
            older = self.facts[first]
            if first != at and fact.protected and older.protected:
                self.facts[first] = older if older.kind.is_prose else replace(older, status=FactStatus.REPLACED)
            elif first != at:
                del self.facts[first]
                seqs = with_seqs((), *sorted({*older.seqs, *fact.seqs}))
                self.facts[at] = _in_the_place_of(older, fact, seqs) if older.protected else replace(fact, seqs=seqs)
            self._by_what[about(fact)] = at

    def _take(self, at: int, candidate: Candidate) -> None:
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
            fact = self._newer(self.facts.pop(older), fact)
            if older >= 0:
                self.candidates[older] = replace(self.candidates[older], reason=Reason.SUPERSEDED)
            self.candidates[at] = replace(candidate, reason=Reason.UPDATE)
        self._put(at, fact)

    def _remark(self, at: int, said: Candidate) -> None:
        """What tells nothing alone, and a message begins with, may take back what a person said before it; and a
        question of the model's is what the next message answers."""
        if said.speaker is Speaker.MODEL and not asks(said.text):
            return
        if not self._said:
            self._said.append(max((fact.last for fact in self.facts.values() if _is_own(fact)), default=0))
        if not self._remarks:
            for one in [one for one, fact in self.facts.items() if fact.status is FactStatus.REMARK]:
                self._remarks[plain(self.facts[one].text)].append(one)
        before, same = self._said[-1], self._remarks[plain(said.text)]
        if before < said.seq and (before or at):
            key = f"remark:{before}:{said.seq}:{said.text}"
            self.facts[at] = replace(said.fact, key=key, status=FactStatus.REMARK, weight=2 * _LOW_VALUE)
            same.append(at)
            for one in same[:-_SAME_REMARKS]:
                self.facts.pop(one, None)

    def _finish(self) -> None:
        """A list that was returned again replaces the whole list from before; and there are not too many of a kind."""
        for at, fact in [item for item in self.facts.items() if item[1].key in self._lists] if self._lists else ():
            if fact.last < self._lists[fact.key]:
                self._drop(at, Reason.SUPERSEDED)
        kinds = [fact.kind for fact in self.facts.values()]
        for kind, most in CAPS.items():
            if kinds.count(kind) > most:
                of_kind = [(fact.pinned, fact.seqs[-1:], at) for at, fact in self.facts.items() if fact.kind is kind]
                for _, _, at in nsmallest(len(of_kind) - most, of_kind):
                    self._drop(at, Reason.OVER_CAP)

    def _put(self, at: int, fact: Fact) -> None:
        self.facts[at] = fact
        self._by_what[about(fact)] = at
        if not fact.key.startswith(OF_A_CALL):  # two calls may return the same
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
        return _in_the_place_of(before, replace(fact, text=text), with_seqs(before.seqs, *fact.seqs))

    def _retire(self, name: str, before: str, now: str) -> None:
        """What a record says otherwise now is not told from before in prose either."""
        for at in self._about(list(filter(is_telling, terms_of(before)))[:1]):
            fact = self.facts[at]
            if not fact.kind.is_prose or before not in fact.text or now in fact.text:
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
        """What a person wants kept stays, and says that it is outdated."""
        fact = self.facts.pop(at, None)
        if fact and at >= 0:
            self.candidates[at] = replace(self.candidates[at], reason=reason)
        if fact and fact.protected:
            status = FactStatus.REPLACED if fact.status is FactStatus.ACTIVE else fact.status
            self.facts[at] = replace(fact, status=status)


def _is_own(said: Candidate | Fact) -> bool:
    """Whether it is a line of a person's own words."""
    return said.kind.is_prose and said.speaker is Speaker.PERSON and not (said.key or is_note(said.text))


def _is_told(candidate: Candidate, fact: Fact) -> bool:
    """Whether the fact about the same thing says so already; what the model echoes of a person says nothing."""
    is_echo = fact.kind.is_prose and candidate.speaker is Speaker.MODEL and fact.speaker is Speaker.PERSON
    says_so = fact.kind.is_prose or candidate.text == fact.text
    return is_echo or (says_so and candidate.status is fact.status)


def _said_again(fact: Fact, candidate: Candidate) -> Fact:
    if fact.kind.is_prose and candidate.speaker is not fact.speaker:
        return fact  # whose word it is, word for word, is said by its last message: an echo of somebody else is not it
    seqs, weight = with_seqs(fact.seqs, candidate.seq), max(fact.weight, candidate.weight)
    speaker = Speaker.TOOL if candidate.speaker is Speaker.TOOL else fact.speaker  # a place that was named is seen now
    return replace(fact, text=candidate.text, seqs=seqs, weight=weight, speaker=speaker)


def _in_the_place_of(before: Fact, fact: Fact, seqs: tuple[int, ...]) -> Fact:
    """A fact as the book has had it until now, in other words."""
    return replace(fact, seqs=seqs, pinned=before.pinned, number=before.number, source=before.source)


def with_seqs(seqs: tuple[int, ...], *more: int) -> tuple[int, ...]:
    """The entries that a fact stands in, with these: the first, and the last ones."""
    whole = (*seqs, *(seq for seq in more if seq not in seqs[-1:]))
    return whole if len(whole) <= MOST_SEQS else (whole[0], *whole[-MOST_SEQS + 1 :])


def _clues(fact: Fact) -> Iterable[str]:
    if fact.kind.is_prose:
        return filter(is_telling, terms_of(fact.text))
    return _ids_in(fact.text) if fact.kind is FactKind.VALUE else ()


@lru_cache(maxsize=4_096)
def _ids_in(record: str) -> frozenset[str]:
    """The cells that the thing of a record can be found by. Kept, since every known record is asked at every turn."""
    return frozenset(cell for name, cell in fields_of(record).items() if is_id_name(name))


def _bare(name: str) -> str:
    return name.casefold().replace("_", "").removeprefix("new")
