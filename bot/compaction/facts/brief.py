"""Shorter forms of facts, for when room is short: of a record, the fields that a later call may need. Pure.

What calls need is told by what a conversation does with values and not by what they are called: a column whose values
are like ids, digits too where they are as long as each other; one that comes again under another name, or that a call
was given; then what is short; then the rest. Names that say of themselves that ids are under them are believed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from bot.compaction.facts.fact import RECORDS, Fact, FactKind
from bot.compaction.facts.records import OWNER, Fields, as_text, fields_of, is_id_name, looks_like_an_id, words_of_name
from bot.estimate.cuts import MARK

_EDGES = ".,;:!?()[]{}<>\"'`“”«»*|"
_TELLING = re.compile(r"\d{3}|(?=.*\d)(?=.*[^\W\d])|[@_/\\]|[a-zß-ÿа-я][A-ZÀ-ÞА-Я]|\A[A-ZА-Я]{3,}\Z|\.\w{1,4}\Z")
_PLACE = re.compile(r"[/\\]\S*\w|\w\.[a-z]\w{0,4}\b(?::\d+)?")
_ADDRESS = re.compile(r"\S+@\S+\.\S+\Z|[a-z]+://\S+\Z|~?/\S*\w\S*\Z|[A-Za-z]:\\\S+\Z|[\w.-]+(?:/[\w.-]+)+\.\w{1,8}\Z")
_DATE_OR_TIME = re.compile(r"\d{1,4}[-/.]\d\d?[-/.]\d{1,4}(?:[T\s].*)?\Z|\d\d?:\d\d\S{0,20}\Z|1[4-9]\d{8}(?:\d{3})?\Z")
_CODE = re.compile(r"[A-Z]{5,10}\Z")

_SAMPLE = 200
"""Cells of a column that are looked at."""
_LONG_DIGITS = 5
"""Digits from which on a number without a point, among others as long as it, is an id."""
_FEWEST_DIGITS = 3
_SHORT, _LONG = 24, 60
"""Characters of a cell that is cheap to keep, and from which on it is a text."""
_KEPT_WHOLE = 0.75
"""A shorter form of a text that is longer than this share of it is not worth what it leaves out."""
_NOT_GIVEN = ("tool", "result", "error", "line")
"""Names in records that are no arguments of any tool."""

_RANKS = 4
"""An id; what calls were given or what was met again; what is short; everything."""


def has_exact(text: str, *, only_places: bool = False) -> bool:
    """Whether a text holds what nobody could guess: words with digits, points, lines or capitals in them."""
    if only_places:
        return bool(_PLACE.search(text))
    return any(_TELLING.search(word.strip(_EDGES)) for word in text.split())


@dataclass
class _Column:
    """What is known of the values under one name."""

    count: int = 0
    exact: int = 0
    times: int = 0
    length: int = 0
    digits: Counter[int] = field(default_factory=Counter)
    """How many consist of so many digits and nothing else."""
    cells: set[str] = field(default_factory=set)

    def add(self, cell: str) -> None:
        self.count += 1
        self.length += len(cell)
        self.cells.add(cell)
        if _DATE_OR_TIME.match(cell):
            self.times += 1
        elif cell.isdigit():
            self.digits[len(cell)] += 1
        else:
            first = cell.partition(", ")[0]
            self.exact += looks_like_an_id(first) or bool(_ADDRESS.match(first) or _CODE.match(first))

    @property
    def mean(self) -> float:
        return self.length / self.count if self.count else 0.0

    def is_id(self, name: str, *, met: bool) -> bool:
        """Whether ids are under this name. ``met``: its values come again under another."""
        named = is_id_name(name)
        if 2 * self.exact >= self.count:
            return True
        if 2 * self.times >= self.count and not named:
            return False
        digits = sum(self.digits.values())
        if 5 * digits >= 4 * self.count:
            shortest, longest = min(self.digits), max(self.digits)
            alike = shortest >= _LONG_DIGITS and longest - shortest <= 1
            return named or alike or (met and shortest >= _FEWEST_DIGITS)
        return (named or met) and self.mean <= _LONG and not any(" " in cell for cell in self.cells)


@dataclass
class Vocabulary:
    """What the conversation uses: names of arguments, and the values in records by their names."""

    arguments: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Vocabulary:
        """Of what is known."""
        made = cls()
        for fact in facts:
            if fact.kind in RECORDS:
                made.texts.append(fact.text)
                if fact.kind is FactKind.ACTION:
                    made.arguments.update(name for name in fields_of(fact.text) if name not in _NOT_GIVEN)
        return made

    def rank(self, name: str) -> int:
        """How much later calls need what is under this name: 0 is most."""
        rank = self._ranks.get(name)
        if rank is None:
            rank = self._ranks[name] = self._rank(name)
        return rank

    def is_text(self, name: str) -> bool:
        """Whether long texts are under this name, rather than values."""
        column = self._columns.get(name)
        return column is not None and column.mean > _LONG and not 2 * column.exact >= column.count

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {}

    @cached_property
    def _columns(self) -> dict[str, _Column]:
        columns: dict[str, _Column] = {}
        for text in self.texts:
            for name, cell in fields_of(text).items():
                column = columns.setdefault(name, _Column())
                if column.count < _SAMPLE:
                    column.add(cell)
        return columns

    @cached_property
    def _met(self) -> set[str]:
        """The names whose values come again under another."""
        under: dict[str, str] = {}
        times: Counter[str] = Counter()
        for name, column in self._columns.items():
            for cell in column.cells:
                if len(cell) > _FEWEST_DIGITS and not cell.isalpha():
                    other = under.setdefault(cell, name)
                    if other != name:
                        times.update((name, other))
        return {name for name, count in times.items() if 4 * count >= len(self._columns[name].cells)}

    @cached_property
    def _asked(self) -> set[tuple[str, ...]]:
        """The endings of the names of arguments: ``new_item_ids`` asks for an ``item_id``."""
        found: set[tuple[str, ...]] = set()
        for name in self.arguments:
            words = _words(name)
            found.update(words[at:] for at in range(len(words)))
        return found

    def _rank(self, name: str) -> int:
        column = self._columns.get(name) or _Column()
        met = name in self._met
        if name in ("tool", "error") or OWNER in name or column.is_id(name, met=met):
            return 0
        if column.mean > _LONG:
            return 3
        if met or _words(name.rpartition(".")[2]) in self._asked:
            return 1
        return 2 if column.mean <= _SHORT else 3


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold().removesuffix("s") for word in words_of_name(name))


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
    for most in range(_RANKS):
        form: Fields = {}
        for name in ordered:
            if ranks[name] <= most:
                form[name] = fields[name]
            elif vocabulary.is_text(name) and (short := excerpt(fields[name])):
                form[name] = short
        text = as_text(form)
        if form and text not in forms[-1:]:
            forms.append(text)
    return forms


def _ranks_of(fact: Fact, fields: Fields, vocabulary: Vocabulary) -> dict[str, int]:
    ranks = {name: vocabulary.rank(name) for name in fields}
    first = next(iter(fields))
    if not vocabulary.is_text(first):
        ranks[first] = 0
    if fact.kind is FactKind.ACTION:  # what a call was given may be given to the next one, a short command too
        ranks |= {name: min(ranks[name], 1) for name, cell in fields.items() if len(cell) <= _LONG}
    return ranks


def excerpt(text: str) -> str:
    """The part of a text from the first to the last word in it that nobody could guess, with the word before it; empty
    if there is none. It is one piece, and marked where it is cut."""
    words = text.split()
    exact = [at for at, word in enumerate(words) if _TELLING.search(word.strip(_EDGES))]
    if not exact:
        return ""
    first, last = max(0, exact[0] - 1), exact[-1] + 1
    short = " ".join(([MARK] if first else []) + words[first:last] + ([MARK] if last < len(words) else []))
    return short if len(short) <= _KEPT_WHOLE * len(text) else text
