"""All candidates become facts: the second of the two stages of finding facts. Pure.

In the order in which things were said: what is known already is counted and not told twice, what is newer under a key
takes the place of what is older, failures that a later call made good go, and each kind is capped. What people and the
model said is never changed, and of two sentences none is taken to mean the other: that one may outdate the other is
said by where they stand (:mod:`bot.compaction.facts.lines`). Only a record that was read again outdates what was said
of its old value. Every candidate comes out with a decision and its reason (FEATURES A8).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from bot.compaction.coverage import form_of, is_telling, terms_of
from bot.compaction.facts.fact import PROSE, Candidate, Decision, Fact, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.records import Fields, as_text, fields_of
from bot.compaction.facts.rows import identities, with_new_values
from bot.compaction.facts.speech import LEAST
from bot.compaction.facts.words import plain

CAPS = {FactKind.ACTION: 400, FactKind.VALUE: 1_500, FactKind.PATH: 100}
"""Facts of one kind at most; the least useful, then the oldest, go (FEATURES A8: growth is capped). Of what was said
only the book has a cap (:mod:`bot.compaction.facts.life`)."""

MOST_SEQS = 8
"""Entries that a fact remembers to stand in: the first, and the last ones."""

_SAME_ID = 24
"""Records with one id that an action may have changed, at most."""
_OVER = 3.0
"""Weight of a line that does not hold any more, at most."""
_SHORTEST_VALUE = 4
"""Characters of a value that does not stand in a sentence by chance."""
_KEPT = 4_096
"""Answers that are kept: of every record that is known, at every turn."""
_PART = "part:"
"""How the keys of rows begin that belong to one list of one thing."""


@dataclass(frozen=True)
class Merged:
    """The facts, and every candidate with its decision, in the order in which they came."""

    facts: tuple[Fact, ...]
    candidates: tuple[Candidate, ...]


def merged(candidates: Iterable[Candidate], known: Sequence[Fact] = ()) -> Merged:
    """``known``: facts from before, which the candidates come after; they are updated like any other."""
    merger = _Merger()
    for fact in known:
        merger.know(fact)
    for candidate in candidates:
        merger.take(candidate)
    return merger.finished()


@dataclass(eq=False)
class _Line:
    """A fact in the making, and the number of the candidate that it came from (None: it was known before)."""

    fact: Fact
    origin: int | None
    order: int = 0
    alive: bool = True


@dataclass
class _Merger:
    """What costs more than a look at each line is made when it is first needed: most turns bring a few sentences."""

    lines: list[_Line] = field(default_factory=list)
    decided: list[Candidate] = field(default_factory=list)
    by_key: dict[str, _Line] = field(default_factory=dict)
    by_text: dict[tuple[bool, str], _Line] = field(default_factory=dict)
    parts: dict[str, list[_Line]] = field(default_factory=dict)
    _by_id: dict[str, deque[_Line]] | None = None
    _telling: dict[str, list[_Line]] | None = None
    _recorded: set[str] | None = None

    def know(self, fact: Fact) -> None:
        self._add(_Line(fact, None))

    def take(self, candidate: Candidate) -> None:
        self.decided.append(candidate)
        at = len(self.decided) - 1
        if candidate.decision is Decision.REJECTED:
            return
        line = _Line(_fact_of(candidate), at)
        if candidate.key.startswith(_PART):
            self._renew_parts(candidate)
        same = self.by_text.get(_told_as(candidate))
        if same is not None and same.alive and same.fact.status is candidate.status:
            self._repeat(same, candidate)
            return
        if candidate.kind is FactKind.ACTION and candidate.status is FactStatus.ACTIVE:
            self._make_good(candidate)
            self._renew_rows(fields_of(candidate.text), candidate.seq)
        older = self.by_key.get(candidate.key)
        if older is not None and older.alive:
            self._replace(older, line)
        elif candidate.kind in PROSE and candidate.speaker is Speaker.MODEL and self._is_recorded(candidate.text):
            self._decide(at, Decision.REJECTED, Reason.REDUNDANT)
            return
        self._add(line)

    def finished(self) -> Merged:
        there = Counter(line.fact.kind for line in self.lines if line.alive)
        for kind, cap in CAPS.items():
            if there[kind] > cap:
                lines = [line for line in self.lines if line.alive and line.fact.kind is kind]
                lines.sort(key=lambda line: (line.fact.pinned, line.fact.weight, line.order), reverse=True)
                for line in lines[cap:]:
                    self._reject(line, Reason.OVER_CAP)
        kept = [line for line in self.lines if line.alive]
        kept.sort(key=lambda line: line.fact.seqs[-1] if line.fact.seqs else 0)
        return Merged(tuple(line.fact for line in kept), tuple(self.decided))

    def _add(self, line: _Line) -> None:
        line.order = len(self.lines)
        self.lines.append(line)
        self.by_text[_told_as(line.fact)] = line
        if line.fact.key.startswith(_PART):
            self.parts.setdefault(line.fact.key, []).append(line)
        elif line.fact.key:
            self.by_key[line.fact.key] = line
        if line.fact.kind is FactKind.VALUE:
            self._note_ids(line)
            if self._recorded is not None:
                self._recorded.update(_recorded_by(line.fact.text))
        elif line.fact.kind in PROSE and self._telling is not None:
            self._note_values(line)

    def _repeat(self, line: _Line, candidate: Candidate) -> None:
        self._decide(len(self.decided) - 1, Decision.REJECTED, Reason.DUPLICATE)
        kind = line.fact.kind if line.fact.weight >= candidate.weight else candidate.kind
        weight = max(line.fact.weight, candidate.weight)
        listed = kind is FactKind.PATH and candidate.speaker is Speaker.TOOL  # what people only named is seen now
        speaker, seqs = candidate.speaker if listed else line.fact.speaker, _with_seq(line.fact.seqs, candidate.seq)
        line.fact = replace(line.fact, seqs=seqs, kind=kind, weight=weight, speaker=speaker)

    def _replace(self, older: _Line, line: _Line) -> None:
        """The newer under the same key holds; what only the older record says of the same thing is kept with it."""
        if line.fact.kind is FactKind.VALUE and line.fact.key.startswith("entity:"):
            whole = fields_of(older.fact.text) | fields_of(line.fact.text)
            line.fact = replace(line.fact, text=as_text(whole))
        self._retire_values(older, line)
        seqs = (*older.fact.seqs, *line.fact.seqs)[-MOST_SEQS:]
        line.fact = replace(line.fact, seqs=seqs, pinned=older.fact.pinned, number=older.fact.number)
        self._reject(older, Reason.SUPERSEDED)
        if line.origin is not None:
            self._decide(line.origin, Decision.ACCEPTED, Reason.UPDATE)

    def _renew_parts(self, candidate: Candidate) -> None:
        """A list that was returned again replaces the whole list from before."""
        lines = self.parts.get(candidate.key, [])
        if lines and candidate.seq not in lines[-1].fact.seqs:
            for line in lines:
                if line.alive:
                    self._reject(line, Reason.SUPERSEDED)
            self.parts[candidate.key] = []

    def _make_good(self, candidate: Candidate) -> None:
        name = fields_of(candidate.text).get("tool", "")
        failed = self.by_key.pop(f"failed:{name}", None)
        if failed is not None and failed.alive:
            self._reject(failed, Reason.RETRIED)

    def _renew_rows(self, action: Fields, seq: int) -> None:
        """What an action gave a new value to is not told with the old one."""
        if self._by_id is None:
            self._by_id = {}
            for line in self.lines:
                if line.fact.kind is FactKind.VALUE:
                    self._note_ids(line)
        for cell in identities(action):
            for line in self._by_id.get(cell, ()):
                whole = with_new_values(fields_of(line.fact.text), line.fact.key, action) if line.alive else None
                if whole is not None:
                    line.fact = replace(line.fact, text=as_text(whole), seqs=_with_seq(line.fact.seqs, seq))
                    self.by_text[_told_as(line.fact)] = line

    def _note_ids(self, line: _Line) -> None:
        if self._by_id is not None:
            for cell in _ids_of(line.fact.text):
                self._by_id.setdefault(cell, deque(maxlen=_SAME_ID)).append(line)

    def _is_recorded(self, text: str) -> bool:
        """Whether records hold all values of a sentence, and it says little besides."""
        terms = terms_of(text)
        telling = [term for term in terms if is_telling(term)]
        if not telling:
            return False
        if self._recorded is None:
            self._recorded = set()
            for line in self.lines:
                if line.fact.kind is FactKind.VALUE:
                    self._recorded.update(_recorded_by(line.fact.text))
        there = self._recorded
        return there.issuperset(telling) and sum(form_of(term) for term in terms if term not in there) < LEAST * 2

    def _retire_values(self, older: _Line, line: _Line) -> None:
        """What a record says otherwise now is not told from before in prose either."""
        now = fields_of(line.fact.text)
        for name, value in fields_of(older.fact.text).items():
            if name not in now or now[name] == value:
                continue
            place = self.by_key.get(f"path:{value}")
            if place is not None and place.alive:
                self._reject(place, Reason.SUPERSEDED)
            for told in self._holding(value):
                if now[name] in told.fact.text:
                    continue
                if told.fact.speaker is Speaker.MODEL:
                    self._reject(told, Reason.SUPERSEDED)
                elif not set(terms_of(name.replace("_", " "))).isdisjoint(terms_of(told.fact.text)):
                    weight = min(told.fact.weight, _OVER)
                    told.fact = replace(told.fact, status=FactStatus.REPLACED, weight=weight)

    def _holding(self, value: str) -> list[_Line]:
        """What was said with this value in it, if it is one that does not stand there by chance."""
        telling = [term for term in terms_of(value) if is_telling(term)]
        if len(value) < _SHORTEST_VALUE or not telling:
            return []
        if self._telling is None:
            self._telling = defaultdict(list)
            for line in self.lines:
                if line.fact.kind in PROSE:
                    self._note_values(line)
        return [line for line in self._telling.get(telling[0], ()) if line.alive and value in line.fact.text]

    def _note_values(self, line: _Line) -> None:
        assert self._telling is not None
        for term in filter(is_telling, terms_of(line.fact.text)):
            self._telling.setdefault(term, []).append(line)

    def _reject(self, line: _Line, reason: Reason) -> None:
        line.alive = False
        if line.origin is not None:
            self._decide(line.origin, Decision.REJECTED, reason)

    def _decide(self, at: int, decision: Decision, reason: Reason) -> None:
        self.decided[at] = replace(self.decided[at], decision=decision, reason=reason)


def _told_as(said: Candidate | Fact) -> tuple[bool, str]:
    """What is told twice has this in common. A place is not what somebody says of it."""
    return said.kind in PROSE, plain(said.text)


@lru_cache(maxsize=_KEPT)
def _recorded_by(record: str) -> frozenset[str]:
    names_and_cells = (text for name, cell in fields_of(record).items() for text in (name.replace("_", " "), cell))
    return frozenset(term for text in names_and_cells for term in terms_of(text))


@lru_cache(maxsize=_KEPT)
def _ids_of(record: str) -> frozenset[str]:
    return frozenset(identities(fields_of(record)))


def _fact_of(candidate: Candidate) -> Fact:
    return Fact(
        candidate.kind,
        candidate.text,
        (candidate.seq,),
        key=candidate.key,
        status=candidate.status,
        speaker=candidate.speaker,
        weight=candidate.weight,
    )


def _with_seq(seqs: tuple[int, ...], seq: int) -> tuple[int, ...]:
    if seq in seqs[-1:]:
        return seqs
    whole = (*seqs, seq)
    return whole if len(whole) <= MOST_SEQS else (whole[0], *whole[-MOST_SEQS + 1 :])
