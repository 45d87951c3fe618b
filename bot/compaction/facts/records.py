"""Records: names and values in one line, and which of them are ids. Pure.

A record's text is ``name=value`` fields with tabs between them; no value holds a tab or a line break.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from bot.compaction.grammar import CAPITAL, SMALL

Fields = Mapping[str, str]
"""A record: values by their names, in order."""

SEPARATOR = "\t"
OWNER = "@"
"""At the end of the name of a list, which is the first in each of its rows: there stands what they belong to."""

_ID_NAMES = "id|uuid|guid|key|sku|slug|ref|reference|code"
"""What fields that hold an id are called, or end in, behind a line or a point; or in one piece (``orderId``), where a
code is more often of something else (``exitCode``, ``statusCode``)."""
_IS_ID_NAME = re.compile(rf"(?:(?i:(?:^|[_.\s-])(?:{_ID_NAMES}))|[a-z](?:Id|ID|Key|Ref))\Z")
_IS_GENERIC = re.compile(rf"(?:{_ID_NAMES})\Z", re.IGNORECASE)

_LONGEST_ID, _LONGEST_NAME = 80, 60
_KEPT = 8_192
"""Names and records that are kept as what they are: those that are known are looked at again and again."""
_WORDS_OF_NAME = re.compile(rf"[{CAPITAL}]?[{SMALL}]+|[{CAPITAL}]+(?![{SMALL}])|[^\W\d_{CAPITAL}{SMALL}]+")
_ADDRESS = re.compile(r"\S+@\S+\.\S+\Z|[a-z]+://\S+\Z|(?:~|[A-Za-z]:)?[/\\]\S*\w\S*\Z")
_LONG_DIGITS, _FEWEST_NAMES = 5, 3
"""Digits from which on a number without a point, among others as long as it, is an id; cells of a column of names."""
_LOOKS_LIKE_AN_ID = re.compile(r"#?(?=\S*\d)(?:\d{5,40}|(?=\S*[^\W\d])[\w@+#-]{4,80})\Z")
_IS_MEASURE = re.compile(
    r"\d{1,4}[-/.]\d\d?[-/.]\d{1,4}(?:\Z|[T\s])|\d\d?:\d\d|1[4-9]\d{8}(?:\d{3})?\Z"
    r"|\d{1,5}(?:[.,]\d+)?[-_]?(?:(?![A-Z])[^\W\d_]){1,12}\Z"
)
"""A date, a time (in seconds too), or so many of something ("25ft", "2-piece")."""


def words_of_name(name: str) -> list[str]:
    """The words that the name of a tool or a field is made of (``getUser_name``), in any writing."""
    return _WORDS_OF_NAME.findall(name)


@lru_cache(maxsize=_KEPT)
def is_id_name(name: str) -> bool:
    """Whether a name says of itself that ids are under it; it is believed. Values say it too (:func:`id_names`)."""
    return bool(_IS_ID_NAME.search(name))


def is_generic(name: str) -> bool:
    """Whether a name says of nothing that its ids are of it ("id", "code")."""
    return bool(_IS_GENERIC.match(name))


def as_text(fields: Fields) -> str:
    """A record in one line."""
    return SEPARATOR.join(f"{name}={value}" if name else value for name, value in fields.items())


@lru_cache(maxsize=_KEPT)
def fields_of(text: str) -> Fields:
    """A line that :func:`as_text` wrote, as a record again; a part without a name gets an empty one."""
    parts = (part.partition("=") for part in text.split(SEPARATOR))
    return {name if sign else "": value if sign else name for name, sign, value in parts}


def id_in(fields: Fields) -> tuple[str, str] | None:
    """The name and the value by which a thing can be told: what is called an id, else the first that looks like one."""
    short = [(name, cell) for name, cell in fields.items() if len(cell) <= _LONGEST_ID]
    named = next(((name, cell) for name, cell in short if is_id_name(name)), None)
    return named or next(((name, cell) for name, cell in short[:3] if _looks_like_an_id(cell)), None)


def id_names(records: Iterable[Fields]) -> frozenset[str]:
    """The names in records that later calls need: those with ids under them, and what is wrong; where no name of a
    record has any, the one whose values tell it from others."""
    rows, columns = list(records), defaultdict[str, list[str]](list)
    for name, cell in chain.from_iterable(row.items() for row in rows):
        columns[name].append(cell)
    found = {name for name, cells in columns.items() if name == "error" or OWNER in name or _are_ids(name, cells)}
    for names in dict.fromkeys(map(tuple, rows)):
        if found.isdisjoint(names) and (named := [name for name in names if _are_names(columns[name])]):
            found.add(max(named, key=lambda name: len(set(columns[name])) / len(columns[name])))
    return frozenset(found)


def _looks_like_an_id(cell: str) -> bool:
    """Whether a value by itself is one that nobody could guess: digits without a point, alone or with letters."""
    return bool(_LOOKS_LIKE_AN_ID.match(cell)) and not _IS_MEASURE.match(cell)


def _are_names(cells: Sequence[str]) -> bool:
    """Whether cells are words that differ from each other, as names of things do."""
    are_short = len(cells) >= _FEWEST_NAMES and sum(map(len, cells)) <= _LONGEST_NAME * len(cells)
    worded = sum(cell[:1].isalpha() and not _IS_MEASURE.match(cell) for cell in cells)
    return are_short and worded > 0.6 * len(cells) < len(set(cells))


def _are_ids(name: str, cells: Sequence[str]) -> bool:
    """Whether the cells of a column are ids: digits are where they are about as long as each other."""
    if is_id_name(name) and not any(" " in cell for cell in cells):
        return True
    digits = [len(cell) for cell in cells if cell.isdigit() and not _IS_MEASURE.match(cell)]
    if 5 * len(digits) >= 4 * len(cells):
        return min(digits) >= _LONG_DIGITS and max(digits) - min(digits) <= 1
    firsts = (cell.partition(", ")[0] for cell in cells if not cell.isdigit())
    return 2 * sum(_looks_like_an_id(cell) or bool(_ADDRESS.match(cell)) for cell in firsts) >= len(cells)
