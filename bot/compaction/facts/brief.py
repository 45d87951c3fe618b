"""Shorter forms of facts, for when room is short: of a record, the fields that a later call may need. Pure.

What calls need is told by what a conversation does with values and not by what they are called: a column whose values
are like ids, digits too where they are as long as each other; one that comes again under another name, or that a call
was given; then what is short; then the rest. Names that say of themselves that ids are under them are believed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bot.compaction.facts.fact import RECORDS, Fact, FactKind
from bot.compaction.facts.records import OWNER, Fields, as_text, fields_of, is_id_name, looks_like_an_id
from bot.estimate.cuts import MARK

_EDGES = ".,;:!?()[]{}<>\"'`“”«»*|"
_TELLING = re.compile(r"\d{3}|(?=.*\d)(?=.*[^\W\d])|[@_/\\]|[a-zß-ÿа-я][A-ZÀ-ÞА-Я]|\A[A-ZА-Я]{3,}\Z|\.\w{1,4}\Z")
_PLACE = re.compile(r"[/\\]\S*\w|\w\.[a-z]\w{0,4}\b(?::\d+)?")
_EXACT = re.compile(
    r"\S+@\S+\.\S+\Z|[a-z]+://\S+\Z|~?/\S*\w\S*\Z|[A-Za-z]:\\\S+\Z|[\w.-]+(?:/[\w.-]+)+\.\w{1,8}\Z|[A-Z]{5,10}\Z"
)
"""An address, a place, a code of letters."""
_DATE_OR_TIME = re.compile(r"\d{1,4}[-/.]\d\d?[-/.]\d{1,4}(?:[T\s].*)?\Z|\d\d?:\d\d\S{0,20}\Z|1[4-9]\d{8}(?:\d{3})?\Z")

_SAMPLE = 200
"""Cells of a column that are looked at."""
_LONG_DIGITS = 5
"""Digits from which on a number without a point, among others as long as it, is an id."""
_FEWEST_DIGITS = 3
_SHORT, _LONG = 24, 60
"""Characters of a cell that is cheap to keep, and from which on it is a text."""
_KEPT_WHOLE = 0.75
"""A shorter form of a text that is longer than this share of it is not worth what it leaves out."""

_IDS, _MET, _CHEAP, _ALL = range(4)
"""How much later calls need what is under a name: an id, what calls were given or what was met again, what is short."""


def has_exact(text: str, *, only_places: bool = False) -> bool:
    """Whether a text holds what nobody could guess: words with digits, points, lines or capitals in them."""
    return bool(_PLACE.search(text)) if only_places else any(map(_tells, text.split()))


def _tells(word: str) -> bool:
    return bool(_TELLING.search(word.strip(_EDGES)))


@dataclass
class Vocabulary:
    """What the conversation uses: names of arguments, and the values in records by their names."""

    arguments: set[str] = field(default_factory=set)
    columns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _ranks: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Vocabulary:
        """Of what is known."""
        made = cls()
        for fact in facts:
            if fact.kind in RECORDS:
                fields = fields_of(fact.text)
                if fact.kind is FactKind.ACTION:
                    made.arguments.update(fields)
                for name, cell in fields.items():
                    if len(made.columns[name]) < _SAMPLE:
                        made.columns[name].append(cell)
        return made

    def rank(self, name: str) -> int:
        """How much later calls need what is under this name."""
        if name not in self._ranks:
            self._ranks[name] = self._rank(name)
        return self._ranks[name]

    def is_text(self, name: str) -> bool:
        """Whether long texts are under this name, rather than values."""
        return self.rank(name) == _ALL and _mean(self.columns.get(name, ())) > _LONG

    def _rank(self, name: str) -> int:
        cells = self.columns.get(name, [])
        met = name in self._met
        if name in ("tool", "error") or OWNER in name or _are_ids(cells, named=is_id_name(name), met=met):
            return _IDS
        if _mean(cells) > _LONG:
            return _ALL
        return _MET if met or name in self.arguments else _CHEAP if _mean(cells) <= _SHORT else _ALL

    @cached_property
    def _met(self) -> set[str]:
        """The names whose values come again under another."""
        under: dict[str, str] = {}
        times: Counter[str] = Counter()
        distinct = {name: set(cells) for name, cells in self.columns.items()}
        for name, cells in distinct.items():
            for cell in cells:
                other = under.setdefault(cell, name)
                if other != name and len(cell) > _FEWEST_DIGITS and not cell.isalpha():
                    times.update((name, other))
        return {name for name, count in times.items() if 4 * count >= len(distinct[name])}


def _mean(cells: Collection[str]) -> float:
    return sum(map(len, cells)) / len(cells) if cells else 0.0


def _are_ids(cells: Sequence[str], *, named: bool, met: bool) -> bool:
    """Whether the cells of a column are ids. ``met``: they come again under another name."""
    times = [cell for cell in cells if _DATE_OR_TIME.match(cell)]
    digits = [len(cell) for cell in cells if cell.isdigit() and not _DATE_OR_TIME.match(cell)]
    firsts = (cell.partition(", ")[0] for cell in cells if not cell.isdigit() and not _DATE_OR_TIME.match(cell))
    if 2 * sum(looks_like_an_id(cell) or bool(_EXACT.match(cell)) for cell in firsts) >= len(cells):
        return True
    if 2 * len(times) >= len(cells) and not named:
        return False
    if 5 * len(digits) >= 4 * len(cells):
        alike = min(digits) >= _LONG_DIGITS and max(digits) - min(digits) <= 1
        return named or alike or (met and min(digits) >= _FEWEST_DIGITS)
    return (named or met) and _mean(cells) <= _LONG and not any(" " in cell for cell in cells)


def forms_of(fact: Fact, vocabulary: Vocabulary) -> list[str]:
    """The texts of a fact from the shortest to the full one.

    Of a record: what later calls need most, then more and more. The fields of all records of one shape are in the same
    order, so that they can stand in one table; a long text within a record is at first told by what is exact in it.
    """
    if fact.kind not in RECORDS:
        return [fact.text]
    fields = fields_of(fact.text)
    ranks = _ranks_of(fact, fields, vocabulary)
    ordered = sorted(fields, key=ranks.__getitem__)
    forms: list[str] = []
    for most in range(_IDS, _ALL + 1):
        form: Fields = {}
        for name in ordered:
            if ranks[name] <= most:
                form[name] = fields[name]
            elif vocabulary.is_text(name) and name != "result" and (short := excerpt(fields[name])):
                form[name] = short
        text = as_text(form)
        if form and text not in forms[-1:]:
            forms.append(text)
    return forms


def _ranks_of(fact: Fact, fields: Fields, vocabulary: Vocabulary) -> dict[str, int]:
    ranks = {name: vocabulary.rank(name) for name in fields}
    first = next(iter(fields))
    if not vocabulary.is_text(first):
        ranks[first] = _IDS
    if fact.kind is FactKind.ACTION:  # what a call was given may be given to the next one, a short command too
        short = {name for name, cell in fields.items() if len(cell) <= _LONG}
        ranks |= {name: min(ranks[name], _MET) for name in short}
    return ranks


def excerpt(text: str) -> str:
    """The part of a text from the first to the last word in it that nobody could guess, with the word before it; empty
    if there is none. It is one piece, and marked where it is cut."""
    words = text.split()
    exact = [at for at, word in enumerate(words) if _tells(word)]
    if not exact:
        return ""
    first, last = max(0, exact[0] - 1), exact[-1] + 1
    short = " ".join(([MARK] if first else []) + words[first:last] + ([MARK] if last < len(words) else []))
    return short if len(short) <= _KEPT_WHOLE * len(text) else text
