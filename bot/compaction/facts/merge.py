"""All candidates become facts: the second of the two stages of finding facts. Pure.

In the order in which things were said: what is known already is counted and not told twice, what is newer under a key
takes the place of what is older, failures that a later call made good go, and each kind is capped. What people and the
model said is never changed, and of two sentences none is taken to mean the other: that one may outdate the other is
said by where they stand (:mod:`bot.compaction.facts.lines`). Only a record that was read again outdates what was said
of its old value. Every candidate comes out with a decision and its reason (FEATURES A8).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

from bot.compaction.coverage import is_telling, terms_of
from bot.compaction.facts.fact import (
    PROSE,
    Candidate,
    Decision,
    Fact,
    FactKind,
    FactStatus,
    Reason,
    Speaker,
    plain,
)
from bot.compaction.facts.records import SEPARATOR, Fields, as_text, fields_of, is_id_name

CAPS = {FactKind.ACTION: 400, FactKind.VALUE: 1_500, FactKind.GIVEN: 400, FactKind.PATH: 100}
"""Facts of one kind at most; the least useful, then the oldest, go (FEATURES A8: growth is capped). Of what was said
only the book has a cap (:mod:`bot.compaction.facts.life`)."""

MOST_SEQS = 8
"""Entries that a fact remembers to stand in: the first, and the last ones."""

_MOST_ALIKE = 64
"""Lines with one id, or one value, that are looked at: the last ones."""
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
    """The facts. ``found``, ``verdicts``: the candidates, and by their numbers what else was decided of them."""

    facts: tuple[Fact, ...]
    found: Sequence[Candidate]
    verdicts: Mapping[int, tuple[Decision, Reason]]

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every candidate with its decision, in the order in which they came."""
        return tuple(
            replace(found, decision=self.verdicts[at][0], reason=self.verdicts[at][1]) if at in self.verdicts else found
            for at, found in enumerate(self.found)
        )


def merged(candidates: Iterable[Candidate], known: Sequence[Fact] = ()) -> Merged:
    """``known``: facts from before, which the candidates come after; they are updated like any other."""
    merger = _Merger(known)
    for candidate in candidates:
        merger.take(candidate)
    return merger.finished()


@dataclass(eq=False, slots=True)
class _Line:
    """A fact in the making, and the number of the candidate that it came from (None: it was known before)."""

    fact: Fact
    origin: int | None
    alive: bool = True


class _Index:
    """Lines by what stands in them: records by their ids, what was said by its values. It is made when it is first
    asked, and goes on from there: most turns bring a few sentences, and never ask."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines, self._read = lines, 0
        self._found: dict[str, deque[_Line]] = {}

    def lines_with(self, clue: str, kinds: Collection[FactKind]) -> Iterator[_Line]:
        """The last lines with it that are of one of these kinds and still told."""
        for line in self._lines[self._read :]:
            for own in _clues(line.fact):
                self._found.setdefault(own, deque(maxlen=_MOST_ALIKE)).append(line)
        self._read = len(self._lines)
        return (line for line in tuple(self._found.get(clue, ())) if line.alive and line.fact.kind in kinds)


class _Merger:
    def __init__(self, known: Sequence[Fact]) -> None:
        self.lines = [_Line(fact, None) for fact in known]
        self.found: list[Candidate] = []
        self._verdicts: dict[int, tuple[Decision, Reason]] = {}
        self._by_text = {_told_as(line.fact): line for line in self.lines}
        self._by_key: dict[str, _Line] = {}
        self._parts: dict[str, list[_Line]] = {}
        for line in self.lines:
            if line.fact.key:
                self._note_key(line)
        self._index = _Index(self.lines)

    def take(self, candidate: Candidate) -> None:
        self.found.append(candidate)
        at = len(self.found) - 1
        if candidate.decision is Decision.REJECTED:
            return
        if candidate.key.startswith(_PART):
            self._renew_parts(candidate)
        same = self._by_text.get(_told_as(candidate))
        if same is not None and same.alive and same.fact.status is candidate.status:
            self._repeat(same, candidate)
            return
        if candidate.kind is FactKind.ACTION and candidate.status is FactStatus.ACTIVE:
            action = fields_of(candidate.text)
            self._drop(self._by_key.pop(f"failed:{action.get('tool', '')}", None), Reason.RETRIED)
            self._outdate(action)
        line = _Line(_fact_of(candidate), at)
        older = self._by_key.get(candidate.key)
        if older is not None and older.alive:
            self._replace(older, line)
        self._add(line)

    def finished(self) -> Merged:
        alive = [line for line in self.lines if line.alive]
        for kind, cap in CAPS.items() if len(alive) > min(CAPS.values()) else ():
            lines = [line for line in alive if line.fact.kind is kind]
            if len(lines) > cap:
                lines.sort(key=lambda line: (line.fact.pinned, line.fact.weight))
                for line in lines[:-cap]:
                    self._drop(line, Reason.OVER_CAP)
        kept = [line.fact for line in alive if line.alive]
        kept.sort(key=lambda fact: fact.seqs[-1] if fact.seqs else 0)
        return Merged(tuple(kept), self.found, self._verdicts)

    def _add(self, line: _Line) -> None:
        self.lines.append(line)
        self._by_text[_told_as(line.fact)] = line
        if line.fact.key:
            self._note_key(line)

    def _note_key(self, line: _Line) -> None:
        if line.fact.key.startswith(_PART):
            self._parts.setdefault(line.fact.key, []).append(line)
        else:
            self._by_key[line.fact.key] = line

    def _repeat(self, line: _Line, candidate: Candidate) -> None:
        self._verdicts[len(self.found) - 1] = (Decision.REJECTED, Reason.DUPLICATE)
        fact = line.fact
        kind = fact.kind if fact.weight >= candidate.weight else candidate.kind
        listed = kind is FactKind.PATH and candidate.speaker is Speaker.TOOL  # what people only named is seen now
        # Whose word it is, word for word, is said by its last message: an echo of somebody else is none of these.
        own = kind not in PROSE or candidate.speaker is fact.speaker
        line.fact = replace(
            fact,
            text=candidate.text if own else fact.text,
            seqs=with_seqs(fact.seqs, candidate.seq) if own else fact.seqs,
            kind=kind,
            weight=max(fact.weight, candidate.weight),
            speaker=candidate.speaker if listed else fact.speaker,
        )

    def _replace(self, older: _Line, line: _Line) -> None:
        """The newer under the same key holds; what only the older record says of the same thing is kept with it."""
        before = older.fact
        if line.fact.kind is FactKind.VALUE:
            then, now = fields_of(before.text), fields_of(line.fact.text)
            self._retire(then, now)
            if line.fact.key.startswith("entity:"):
                line.fact = replace(line.fact, text=as_text({**then, **now}))
        seqs = with_seqs(before.seqs, *line.fact.seqs)
        line.fact = replace(line.fact, seqs=seqs, pinned=before.pinned, number=before.number)
        self._drop(older, Reason.SUPERSEDED)
        if line.origin is not None:
            self._verdicts[line.origin] = (Decision.ACCEPTED, Reason.UPDATE)

    def _renew_parts(self, candidate: Candidate) -> None:
        """A list that was returned again replaces the whole list from before."""
        lines = self._parts.get(candidate.key)
        if lines and candidate.seq not in lines[-1].fact.seqs:
            for line in self._parts.pop(candidate.key):
                self._drop(line, Reason.SUPERSEDED)

    def _outdate(self, action: Fields) -> None:
        """What an action gave another value to is told by the action, and no longer by the row of that thing."""
        given = {_bare(name): cell for name, cell in action.items() if not is_id_name(name)}
        found = (self._index.lines_with(cell, (FactKind.VALUE,)) for cell in _ids_in(as_text(action)))
        for line in chain.from_iterable(found):
            row = fields_of(line.fact.text)
            holds = {name: cell for name, cell in row.items() if given.get(_bare(name), cell) == cell}
            if len(holds) < len(row):
                line.fact = replace(line.fact, text=as_text(holds))
                self._by_text[_told_as(line.fact)] = line

    def _retire(self, then: Fields, now: Fields) -> None:
        """What a record says otherwise now is not told from before in prose either."""
        for name, value in then.items():
            if now.get(name, value) == value:
                continue
            self._drop(self._by_key.get(f"path:{value}"), Reason.SUPERSEDED)
            telling = next(filter(is_telling, terms_of(value)), None) if len(value) >= _SHORTEST_VALUE else None
            for told in self._index.lines_with(telling, PROSE) if telling else ():
                if value not in told.fact.text or now[name] in told.fact.text:
                    continue
                if told.fact.speaker is Speaker.MODEL:
                    self._drop(told, Reason.SUPERSEDED)
                elif not set(terms_of(name.replace("_", " "))).isdisjoint(terms_of(told.fact.text)):
                    weight = min(told.fact.weight, _OVER)
                    told.fact = replace(told.fact, status=FactStatus.REPLACED, weight=weight)

    def _drop(self, line: _Line | None, reason: Reason) -> None:
        if line is not None and line.alive:
            line.alive = False
            if line.origin is not None:
                self._verdicts[line.origin] = (Decision.REJECTED, reason)


def with_seqs(seqs: tuple[int, ...], *more: int) -> tuple[int, ...]:
    """The entries that a fact stands in, with these: the first, and the last ones."""
    whole = (*seqs, *(seq for seq in more if seq not in seqs[-1:]))
    return whole if len(whole) <= MOST_SEQS else (whole[0], *whole[-MOST_SEQS + 1 :])


def _told_as(said: Candidate | Fact) -> str:
    """What is told twice has this in common. A place is not what somebody says of it, and a record is told word for
    word."""
    return plain(said.text) if said.kind in PROSE else f"{SEPARATOR}{said.text}"


def _clues(fact: Fact) -> Iterable[str]:
    if fact.kind in PROSE:
        return filter(is_telling, terms_of(fact.text))
    return _ids_in(fact.text) if fact.kind is FactKind.VALUE else ()


@lru_cache(maxsize=_KEPT)
def _ids_in(record: str) -> frozenset[str]:
    """The cells that the thing of a record can be found by."""
    return frozenset(cell for name, cell in fields_of(record).items() if is_id_name(name))


def _bare(name: str) -> str:
    return name.casefold().replace("_", "").removeprefix("new")


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
