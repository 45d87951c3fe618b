"""Shorter forms of facts, for when room is short: of a record, the fields that a later call may need. Pure.

What calls need is told by what values look like and not by what they are called: a column whose values are like ids,
digits too where they are as long as each other; then what is short; then the rest. Names that say of themselves that
ids are under them are believed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from bot.compaction.coverage import AMOUNT, terms_of
from bot.compaction.facts.fact import RECORDS, Fact, FactKind
from bot.compaction.facts.records import OWNER, as_text, fields_of, is_id_name, is_measure, looks_like_an_id

_EXACT = re.compile(
    r"(?<!\S)(?=\S*\d)\S*[^\W\d]|\d{3}|[@_/\\]|[a-zß-ÿа-я][A-ZÀ-ÞА-Я]|\b[A-ZА-Я]{3,}\b|\.\w{1,4}(?=\W*(?:\s|\Z))"
)
_PLACE = re.compile(r"[/\\]\S*\w|\w\.[a-z]\w{0,4}\b(?::\d+)?")
_ADDRESS = re.compile(r"\S+@\S+\.\S+\Z|[a-z]+://\S+\Z|(?:~|[A-Za-z]:)?[/\\]\S*\w\S*\Z")

_SAMPLE = 200
"""Cells of a column that are looked at."""
_LONG_DIGITS = 5
"""Digits from which on a number without a point, among others as long as it, is an id."""
_SHORT, _LONG = 24, 60
"""Characters of a cell that is cheap to keep, and from which on it is a text."""

_SOME, _MOSTLY = 3, 0.6
"""Cells of a column of names at least, and the share of them that are worded and differ."""
_NUMBER = re.compile(r"-?\d{1,4}(?:\.\d+)?\Z")

_IDS, _CHEAP, _ALL, _TEXTS = range(4)
"""How much later calls need what is under a name: an id, what is short, what is long, and texts rather than values."""


def has_exact(text: str, *, only_places: bool = False) -> bool:
    """Whether a text holds what nobody could guess: digits, points, lines or capitals within words."""
    return bool((_PLACE if only_places else _EXACT).search(text))


@dataclass(frozen=True)
class Vocabulary:
    """How much later calls need what is under the names in records."""

    ranks: Mapping[str, int]

    @classmethod
    def of(cls, facts: Sequence[Fact]) -> Vocabulary:
        """By the first values under each name; where no name of a record has ids, by those that tell it from others."""
        columns, shapes = defaultdict[str, list[str]](list), dict[tuple[str, ...], None]()
        for fact in facts:
            fields = fields_of(fact.text) if fact.kind in RECORDS else {}
            shapes[tuple(fields)] = None
            for name, cell in fields.items():
                columns[name].append(cell)
        ranks = {name: _rank(name, cells[:_SAMPLE]) for name, cells in columns.items()}
        for names in shapes:
            if all(ranks[name] != _IDS for name in names) and (named := [n for n in names if _are_names(columns[n])]):
                ranks[max(named, key=lambda name: len(set(columns[name])) / len(columns[name]))] = _IDS
        return cls(ranks)

    def terms(self, text: str) -> tuple[str, ...]:
        """What a record says, by its values: what they are called tells nothing new. A number that is no id tells less
        than one that is."""
        terms = (
            amount_terms(cell) if self.ranks.get(name, _IDS) != _IDS else terms_of(cell)
            for name, cell in fields_of(text).items()
        )
        return tuple(dict.fromkeys(chain.from_iterable(terms)))


def is_amount(cell: str) -> bool:
    """Whether a value is a short number, which by itself may be so many of anything."""
    return bool(_NUMBER.match(cell))


def amount_terms(cell: str) -> tuple[str, ...]:
    """What a value tells that is no id."""
    return (f"{AMOUNT}{cell}",) if is_amount(cell) else terms_of(cell)


def _rank(name: str, cells: Sequence[str]) -> int:
    if name in ("tool", "error") or OWNER in name or _are_ids(cells, named=is_id_name(name)):
        return _IDS
    return _CHEAP if _mean(cells) <= _SHORT else _ALL if _mean(cells) <= _LONG else _TEXTS


def _are_names(cells: Sequence[str]) -> bool:
    """Whether cells are words that differ from each other, as names of things do."""
    worded = sum(cell[:1].isalpha() and not is_measure(cell) for cell in cells)
    return _mean(cells) <= _LONG and len(cells) >= _SOME and worded > _MOSTLY * len(cells) < len(set(cells))


def _mean(cells: Collection[str]) -> float:
    return sum(map(len, cells)) / len(cells) if cells else 0.0


def _are_ids(cells: Sequence[str], *, named: bool) -> bool:
    """Whether the cells of a column are ids. ``named``: what they are called says so."""
    digits = [len(cell) for cell in cells if cell.isdigit() and not is_measure(cell)]
    if not named and 5 * len(digits) >= 4 * len(cells):
        return min(digits) >= _LONG_DIGITS and max(digits) - min(digits) <= 1
    firsts = (cell.partition(", ")[0] for cell in cells if not cell.isdigit())
    if 2 * sum(looks_like_an_id(cell) or bool(_ADDRESS.match(cell)) for cell in firsts) >= len(cells):
        return True
    return named and _mean(cells) <= _LONG and not any(" " in cell for cell in cells)


def forms_of(fact: Fact, vocabulary: Vocabulary) -> list[str]:
    """The texts of a fact from the shortest to the full one.

    Of a record: what later calls need most, then more and more. The fields of all records of one shape are in the same
    order, so that they can stand in one table.
    """
    if fact.kind not in RECORDS:
        return [fact.text]
    fields = fields_of(fact.text)
    ranks = {name: vocabulary.ranks[name] for name in fields}
    first = next(iter(fields))
    if ranks[first] != _TEXTS:
        ranks[first] = _IDS
    if fact.kind is FactKind.ACTION:  # what a call was given may be given to the next one, a short command too
        ranks |= {name: _IDS for name, cell in fields.items() if len(cell) <= _LONG}
    ordered = sorted(fields, key=ranks.__getitem__)
    forms = (
        as_text({name: fields[name] for name in ordered if ranks[name] <= most}) for most in (_IDS, _CHEAP, _TEXTS)
    )
    return list(dict.fromkeys(filter(None, forms)))
