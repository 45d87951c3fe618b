"""All candidates become facts: the second of the two stages of finding facts. Pure.

In the order in which things were said: what is known already is counted and not told twice, what is newer replaces
what is older under the same key, corrections change earlier lines, tasks that were taken back or reached are marked,
failures that a later call made good go, and each kind is capped. Every candidate comes out with a decision and its
reason (FEATURES A8).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bot.compaction.facts.brief import Vocabulary, briefly
from bot.compaction.facts.changes import (
    Change,
    change_between,
    is_reached,
    restated,
    says_more,
    says_the_same,
    shared_values,
    taken_back,
)
from bot.compaction.facts.fact import Candidate, Decision, Fact, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.lines import Index, Line
from bot.compaction.facts.quotes import is_note
from bot.compaction.facts.records import Fields, as_text, fields_of
from bot.compaction.facts.rows import identities, with_new_values
from bot.compaction.facts.rules import are_opposed
from bot.compaction.facts.sentences import Sentence
from bot.compaction.facts.words import plain, terms_of

CAPS = {
    FactKind.GOAL: 200,
    FactKind.CONSTRAINT: 400,
    FactKind.STATEMENT: 800,
    FactKind.ACTION: 400,
    FactKind.VALUE: 1_500,
    FactKind.PATH: 100,
}
"""Facts of one kind at most; the least useful, then the oldest, go (FEATURES A8: growth is capped)."""

_MOST_SEQS = 8
"""Entries that a fact remembers to stand in: the first, and the last ones."""

_SAME_ID = 24
"""Records with one id that an action may have changed, at most."""

_OVER = 3.0
"""Weight of a line that does not hold any more, at most."""
_FOLLOW_UP = 7.0
"""Weight of a line that comes back to an earlier one, at least."""

_PROSE = (FactKind.GOAL, FactKind.CONSTRAINT, FactKind.STATEMENT)
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


@dataclass
class _Merger:
    lines: list[Line] = field(default_factory=list)
    decided: list[Candidate] = field(default_factory=list)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    parts: dict[str, list[Line]] = field(default_factory=dict)
    by_key: dict[str, Line] = field(default_factory=dict)
    by_text: dict[str, Line] = field(default_factory=dict)
    by_id: dict[str, deque[Line]] = field(default_factory=dict)
    index: Index = field(default_factory=Index)

    def know(self, fact: Fact) -> None:
        self.vocabulary.note(_as_candidate(fact))
        self._add(Line(fact, None))

    def take(self, candidate: Candidate) -> None:
        self.decided.append(candidate)
        at = len(self.decided) - 1
        self.vocabulary.note(candidate)
        if candidate.decision is Decision.REJECTED:
            return
        line = Line(_fact_of(candidate), at)
        if candidate.key.startswith(_PART):
            self._renew_parts(candidate)
        same = self.by_text.get(plain(candidate.text))
        if same is not None and same.alive and same.fact.status is candidate.status:
            self._repeat(same, candidate)
            return
        if candidate.kind is FactKind.ACTION and candidate.status is FactStatus.ACTIVE:
            self._make_good(candidate)
            self._renew_rows(fields_of(candidate.text), candidate.seq)
        older = self.by_key.get(candidate.key)
        if older is not None and older.alive:
            self._replace(older, line)
        elif candidate.kind in _PROSE:
            line.sentence = Sentence(candidate.text)
            if candidate.speaker is Speaker.MODEL and self.vocabulary.knows_all(line.sentence.values):
                self._decide(at, Decision.REJECTED, Reason.REDUNDANT)
                return
            self._apply_changes(line)
        self._add(line)

    def finished(self) -> Merged:
        kept: list[Line] = []
        for kind, cap in CAPS.items():
            lines = [line for line in self.lines if line.alive and line.fact.kind is kind]
            lines.sort(key=lambda line: (line.fact.pinned, line.fact.weight, line.order), reverse=True)
            for line in lines[cap:]:
                self._reject(line, Reason.OVER_CAP)
            kept.extend(lines[:cap])
        kept.sort(key=lambda line: (line.fact.seqs[-1:] or (0,), line.order))
        return Merged(tuple(briefly([line.fact for line in kept], self.vocabulary)), tuple(self.decided))

    def _add(self, line: Line) -> None:
        line.order = len(self.lines)
        self.lines.append(line)
        self.by_text[plain(line.fact.text)] = line
        if line.fact.key.startswith(_PART):
            self.parts.setdefault(line.fact.key, []).append(line)
        elif line.fact.key:
            self.by_key[line.fact.key] = line
        if line.fact.kind in _PROSE:
            self.index.add(line)
        elif line.fact.kind is FactKind.VALUE:
            for cell in set(identities(fields_of(line.fact.text))):
                self.by_id.setdefault(cell, deque(maxlen=_SAME_ID)).append(line)

    def _repeat(self, line: Line, candidate: Candidate) -> None:
        self._decide(len(self.decided) - 1, Decision.REJECTED, Reason.DUPLICATE)
        kind = line.fact.kind if line.fact.weight >= candidate.weight else candidate.kind
        weight = max(line.fact.weight, candidate.weight)
        listed = kind is FactKind.PATH and candidate.speaker is Speaker.TOOL  # what people only named is seen now
        speaker, seqs = candidate.speaker if listed else line.fact.speaker, _with_seq(line.fact.seqs, candidate.seq)
        line.fact = replace(line.fact, seqs=seqs, kind=kind, weight=weight, speaker=speaker)

    def _replace(self, older: Line, line: Line) -> None:
        """The newer under the same key holds; what only the older record says of the same thing is kept with it."""
        if line.fact.kind is FactKind.VALUE and line.fact.key.startswith("entity:"):
            whole = fields_of(older.fact.text) | fields_of(line.fact.text)
            line.fact = replace(line.fact, text=as_text(whole))
        self._retire_values(older, line)
        seqs = (*older.fact.seqs, *line.fact.seqs)[-_MOST_SEQS:]
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
        for cell in identities(action):
            for line in self.by_id.get(cell, ()):
                whole = with_new_values(fields_of(line.fact.text), line.fact.key, action) if line.alive else None
                if whole is not None:
                    line.fact = replace(line.fact, text=as_text(whole), seqs=_with_seq(line.fact.seqs, seq))
                    self.by_text[plain(line.fact.text)] = line

    def _apply_changes(self, line: Line) -> None:
        new = line.sentence
        assert new is not None
        assert line.origin is not None
        if new.changes_nothing:
            return
        for older in self.index.related(new):
            if (
                older.sentence is not None
                and not is_note(older.fact.text)
                and self._changes(line, new, older, older.sentence)
            ):
                self._decide(line.origin, Decision.ACCEPTED, Reason.UPDATE)

    def _changes(self, line: Line, new: Sentence, older: Line, old: Sentence) -> bool:
        """Apply to an older line what the new one says of it. Answers whether the new one corrects it."""
        is_task = older.fact.kind is FactKind.GOAL
        is_rule = older.fact.kind is FactKind.CONSTRAINT
        if status := taken_back(new, old, is_task=is_task, is_rule=is_rule):
            self._mark(older, status)
            self._follow(line, older)
        elif new.completes and is_task and is_reached(new, old):
            self._mark(older, FactStatus.DONE)
        elif change := change_between(new, old, len(self.lines) - older.order):
            self._correct(older, old, new, change)
            for other in self.index.saying(change.old):
                if other is not older and other.sentence and says_the_same(other.sentence, old, new, change):
                    self._correct(other, other.sentence, new, change)
            self._follow(line, older)
            return True
        elif (change := restated(new, old)) and _may_restate(line, older):
            self._set_aside(older, old, new, change)
            self._follow(line, older)
            return True
        elif shared_values(new, old):
            self._follow(line, older)
        return False

    def _follow(self, line: Line, older: Line) -> None:
        """Who reads the older line has to read the newer one after it: it weighs as much, and stands no earlier."""
        if Speaker.MODEL in (line.fact.speaker, older.fact.speaker):
            return
        kind = max(line.fact.kind, older.fact.kind, key=_PROSE.index)
        line.fact = replace(line.fact, kind=kind, weight=max(line.fact.weight, older.fact.weight, _FOLLOW_UP))

    def _set_aside(self, older: Line, old: Sentence, new: Sentence, change: Change) -> None:
        """What seems to be replaced is marked, or goes if it says nothing else."""
        self._retire_place(change.old)
        decided = older.fact.kind is FactKind.CONSTRAINT and not new.corrects
        if older.fact.speaker is Speaker.MODEL or not (decided or says_more(old, new)):
            self._reject(older, Reason.SUPERSEDED)
        else:
            self._mark(older, FactStatus.REPLACED)

    def _correct(self, older: Line, old: Sentence, new: Sentence, change: Change) -> None:
        """Only what still holds of an older line stays, with the new value in place of the old one."""
        self._retire_place(change.old)
        if not change.new or old.subject <= new.subject:
            self._reject(older, Reason.SUPERSEDED)
            return
        value = re.escape(change.old)
        whole = rf"\[now {value}\]|(?<![A-Za-z0-9]){value}(?![A-Za-z0-9])"
        text = re.sub(whole, lambda _: f"[now {change.new}]", older.fact.text, flags=re.IGNORECASE)
        older.fact = replace(older.fact, text=text)
        older.sentence = Sentence(text)

    def _retire_place(self, value: str) -> None:
        place = self.by_key.get(f"path:{value}")
        if place is not None and place.alive:
            self._reject(place, Reason.SUPERSEDED)

    def _retire_values(self, older: Line, line: Line) -> None:
        """What a record says otherwise now is not told from before in prose either."""
        now = fields_of(line.fact.text)
        for name, value in fields_of(older.fact.text).items():
            if name not in now or now[name] == value:
                continue
            self._retire_place(value)
            for told in self.index.holding(value):
                if now[name] in told.fact.text:
                    continue
                if told.fact.speaker is Speaker.MODEL:
                    self._reject(told, Reason.SUPERSEDED)
                elif told.sentence and terms_of(name.replace("_", " ")) & told.sentence.subject:
                    self._mark(told, FactStatus.REPLACED)

    def _mark(self, line: Line, status: FactStatus) -> None:
        line.fact = replace(line.fact, status=status, weight=min(line.fact.weight, _OVER))

    def _reject(self, line: Line, reason: Reason) -> None:
        line.alive = False
        if line.origin is not None:
            self._decide(line.origin, Decision.REJECTED, reason)

    def _decide(self, at: int, decision: Decision, reason: Reason) -> None:
        self.decided[at] = replace(self.decided[at], decision=decision, reason=reason)


def _may_restate(line: Line, older: Line) -> bool:
    """Of two wishes both may hold; and the model does not take back what a person said without saying so."""
    if line.sentence is not None and line.sentence.corrects:
        return True
    if older.fact.kind is FactKind.CONSTRAINT and are_opposed(line.fact.text, older.fact.text):
        return False
    return older.fact.kind is not FactKind.GOAL and (
        line.fact.speaker is not Speaker.MODEL or older.fact.speaker is Speaker.MODEL
    )


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


def _as_candidate(fact: Fact) -> Candidate:
    """Of an action the names of the fields are those of arguments."""
    fields = fields_of(fact.text) if fact.kind is FactKind.ACTION else {}
    names = tuple(name for name in fields if name not in ("tool", "result", "error"))
    return Candidate(fact.kind, fact.text, max(fact.seqs, default=0), fact.key, fact.speaker, names=names)


def _with_seq(seqs: tuple[int, ...], seq: int) -> tuple[int, ...]:
    if seq in seqs[-1:]:
        return seqs
    whole = (*seqs, seq)
    return whole if len(whole) <= _MOST_SEQS else (whole[0], *whole[-_MOST_SEQS + 1 :])
