"""What a record is told by when room is short: the fields that a later call may need. Pure.

What calls need is told by what values look like and not by what they are called: a column whose values are like ids,
digits too where they are as long as each other. Names that say of themselves that ids are under them are believed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain

from bot.compaction.coverage import AMOUNT, terms_of
from bot.compaction.facts.fact import RECORDS, Fact, FactKind
from bot.compaction.facts.records import OWNER, as_text, fields_of, is_id_name, is_measure, looks_like_an_id

_ADDRESS = re.compile(r"\S+@\S+\.\S+\Z|[a-z]+://\S+\Z|(?:~|[A-Za-z]:)?[/\\]\S*\w\S*\Z")
_LONG_DIGITS = 5
"""Digits from which on a number without a point, among others as long as it, is an id."""
_LONG = 60
"""Characters from which on a cell is a text."""
_SOME, _MOSTLY = 3, 0.6
"""Cells of a column of names at least, and the share of them that are worded and differ."""
_NUMBER = re.compile(r"-?\d{1,4}(?:\.\d+)?\Z")


def id_names(facts: Sequence[Fact]) -> frozenset[str]:
    """The names in records that later calls need: those with ids under them; where no name of a record has any, the one
    whose values tell it from others."""
    columns, shapes = defaultdict[str, list[str]](list), dict[tuple[str, ...], None]()
    for fact in facts:
        fields = fields_of(fact.text) if fact.kind in RECORDS else {}
        shapes[tuple(fields)] = None
        for name, cell in fields.items():
            columns[name].append(cell)
    found = {name for name, cells in columns.items() if name == "error" or OWNER in name or _are_ids(name, cells)}
    for names in shapes:
        if found.isdisjoint(names) and (named := [name for name in names if _are_names(columns[name])]):
            found.add(max(named, key=lambda name: len(set(columns[name])) / len(columns[name])))
    return frozenset(found)


def pieces_of(fact: Fact, ids: Collection[str]) -> list[str]:
    """The text of a fact; that of a record as what later calls need, and the rest, where it has both.

    The fields of all records of one shape are in the same order, so that they can stand in one table.
    """
    fields = fields_of(fact.text) if fact.kind in RECORDS else {}
    # What a call was given may be given to the next one, a short command too.
    leading = fields if fact.kind is FactKind.ACTION else [*fields][:1]
    brief = {name: cell for name, cell in fields.items() if name in ids or (name in leading and len(cell) <= _LONG)}
    rest = {name: cell for name, cell in fields.items() if name not in brief}
    is_something = rest and any(OWNER not in name for name in brief)
    return [as_text(brief), as_text(rest)] if is_something else [fact.text]


def record_terms(text: str, ids: Collection[str]) -> tuple[str, ...]:
    """What a record says, by its values: what they are called tells nothing new. A number that is no id tells less than
    one that is."""
    terms = (terms_of(cell) if name in ids else amount_terms(cell) for name, cell in fields_of(text).items())
    return tuple(dict.fromkeys(chain.from_iterable(terms)))


def is_amount(cell: str) -> bool:
    """Whether a value is a short number, which by itself may be so many of anything."""
    return bool(_NUMBER.match(cell))


def amount_terms(cell: str) -> tuple[str, ...]:
    """What a value tells that is no id."""
    return (f"{AMOUNT}{cell}",) if is_amount(cell) else terms_of(cell)


def _are_names(cells: Sequence[str]) -> bool:
    """Whether cells are words that differ from each other, as names of things do."""
    worded = sum(cell[:1].isalpha() and not is_measure(cell) for cell in cells)
    return _mean(cells) <= _LONG and len(cells) >= _SOME and worded > _MOSTLY * len(cells) < len(set(cells))


def _mean(cells: Sequence[str]) -> float:
    return sum(map(len, cells)) / len(cells)


def _are_ids(name: str, cells: Sequence[str]) -> bool:
    """Whether the cells of a column are ids."""
    named = is_id_name(name)
    digits = [len(cell) for cell in cells if cell.isdigit() and not is_measure(cell)]
    if not named and 5 * len(digits) >= 4 * len(cells):
        return min(digits) >= _LONG_DIGITS and max(digits) - min(digits) <= 1
    firsts = (cell.partition(", ")[0] for cell in cells if not cell.isdigit())
    if 2 * sum(looks_like_an_id(cell) or bool(_ADDRESS.match(cell)) for cell in firsts) >= len(cells):
        return True
    return named and _mean(cells) <= _LONG and not any(" " in cell for cell in cells)
