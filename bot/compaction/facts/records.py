"""Records: what a tool was asked and what it returned, as names and values in one line. Pure.

A record's text is ``name=value`` fields with tabs between them: no value holds a tab or a line break, so it can be
taken apart again. What a tool returned becomes rows (:func:`rows_of`): nested objects are flattened to the shortest
names that tell them apart, and each list of objects in an object is rows of their own, with the id of what they belong
to, however deep: ``items@=W7``, then ``options@=81``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from bot.compaction.grammar import CAPITAL, SMALL
from bot.estimate import cuts

Fields = Mapping[str, str]
"""A record: values by their names, in order."""

SEPARATOR = "\t"
OWNER = "@"
"""At the end of the name of a list: what its rows belong to."""

_ID_NAMES = "id|uuid|guid|key|sku|slug|ref|reference|code"
"""What fields that hold an id are called, or end in, behind a line or a point; or in one piece (``orderId``), where a
code is more often of something else (``exitCode``, ``statusCode``)."""
_IS_ID_NAME = re.compile(rf"(?:(?i:(?:^|[_.\s-])(?:{_ID_NAMES}))|[a-z](?:Id|ID|Key|Ref))\Z")
_IS_GENERIC = re.compile(rf"(?:{_ID_NAMES})\Z", re.IGNORECASE)

LONGEST_VALUE = 240
"""Characters of one value."""
_LONGEST_ID = 80

MOST_ROWS = 400
"""Rows of one result that become records: the first of them."""

DEEPEST = 12
_KEPT = 8_192
"""Names and records that are kept as what they are: those that are known are looked at again and again."""
_WORDS_OF_NAME = re.compile(rf"[{CAPITAL}]?[{SMALL}]+|[{CAPITAL}]+(?![{SMALL}])|[^\W\d_{CAPITAL}{SMALL}]+")
_IS_KEY = re.compile(r"(?![^\W\d]+_?\d\Z)(?:\W{0,3}\d+\Z|(?=.*\d)[\w.:@#-]{4,80}\Z)")
_ADDRESS = re.compile(r"\S+@\S+\.\S+\Z|[a-z]+://\S+\Z|(?:~|[A-Za-z]:)?[/\\]\S*\w\S*\Z")
_LONG_DIGITS = 5
"""Digits from which on a number without a point, among others as long as it, is an id."""
_NO_NAME = re.compile(r"[^\w@.-]+")
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
    """Whether a name says of itself that ids are under it. It is believed; but what later calls need is told by what
    values look like (:func:`id_names`)."""
    return bool(_IS_ID_NAME.search(name))


def is_generic(name: str) -> bool:
    """Whether a name says of nothing that its ids are of it ("id", "code")."""
    return bool(_IS_GENERIC.match(name))


def as_text(fields: Mapping[str, str]) -> str:
    """A record in one line."""
    return SEPARATOR.join(f"{name}={value}" if name else value for name, value in fields.items())


@lru_cache(maxsize=_KEPT)
def fields_of(text: str) -> Fields:
    """A line that :func:`as_text` wrote, as a record again; a part without a name gets an empty one."""
    fields: dict[str, str] = {}
    for part in text.split(SEPARATOR):
        name, sign, value = part.partition("=")
        fields[name if sign else ""] = value if sign else part
    return fields


def rows_of(value: Any, title: str = "", owner: str = "") -> Iterator[Fields]:
    """The objects in what a tool returned, each as a record, and behind it those of the lists in it. ``title``: the
    name of the list that it stands in; ``owner``: the id of what that belongs to, which then comes first."""
    about = {f"{title}{OWNER}": owner} if owner else {}
    if (listed := _objects(value, title)) is not None:
        for item in listed:
            yield from rows_of(item, title, owner)
    elif isinstance(value, dict):
        leaves = list(_leaves(value, split=True))
        fields = _record([leaf for leaf in leaves if isinstance(leaf[1], str)])
        own = id_in(fields)
        if fields:
            yield {**about, **fields}
        for path, inner in leaves:
            if not isinstance(inner, str):
                yield from rows_of(inner, path[-1], own[1] if own else owner)
    elif text := one_line(value):
        yield {**about, "result": text}


def list_of(fields: Fields) -> str:
    """The list of something that a record stands in, with what it belongs to; empty where it is in none."""
    name, cell = next(iter(fields.items()), ("", ""))
    return f"{name}={cell}" if OWNER in name else ""


def id_in(fields: Fields) -> tuple[str, str] | None:
    """The name and the value by which a thing can be told: what is called an id, else the first that looks like one."""
    short = [(name, cell) for name, cell in fields.items() if len(cell) <= _LONGEST_ID]
    named = next(((name, cell) for name, cell in short if is_id_name(name)), None)
    return named or next(((name, cell) for name, cell in short[:3] if _looks_like_an_id(cell)), None)


def id_names(records: Iterable[Fields]) -> frozenset[str]:
    """The names in records that later calls need: those with ids under them, and what is wrong."""
    columns = defaultdict[str, list[str]](list)
    for name, cell in chain.from_iterable(fields.items() for fields in records):
        columns[name].append(cell)
    return frozenset(
        name for name, cells in columns.items() if name == "error" or OWNER in name or _are_ids(name, cells)
    )


def _looks_like_an_id(cell: str) -> bool:
    """Whether a value by itself is one that nobody could guess: digits without a point, alone or with letters."""
    return bool(_LOOKS_LIKE_AN_ID.match(cell)) and not _IS_MEASURE.match(cell)


def _are_ids(name: str, cells: Sequence[str]) -> bool:
    """Whether the cells of a column are ids: digits are where they are about as long as each other."""
    if is_id_name(name) and not any(" " in cell for cell in cells):
        return True
    digits = [len(cell) for cell in cells if cell.isdigit() and not _IS_MEASURE.match(cell)]
    if 5 * len(digits) >= 4 * len(cells):
        return min(digits) >= _LONG_DIGITS and max(digits) - min(digits) <= 1
    firsts = (cell.partition(", ")[0] for cell in cells if not cell.isdigit())
    return 2 * sum(_looks_like_an_id(cell) or bool(_ADDRESS.match(cell)) for cell in firsts) >= len(cells)


def flattened(value: Mapping[Any, Any]) -> Fields:
    """An object as a record, with all that is in it."""
    return _record(list(_leaves(value)))


def one_line(value: Any) -> str:
    """A value as a cell: in one line, and not too long; nothing for what is empty."""
    if isinstance(value, str):
        return cuts.one_line(value, LONGEST_VALUE)
    if isinstance(value, dict):
        value = [f"{as_name(str(name))} {text}" for name, item in value.items() if (text := one_line(item))]
    if isinstance(value, list | tuple):
        cells = (text for item in value[:MOST_ROWS] if (text := one_line(item)))
        return cuts.beginning(", ".join(cells), 4 * LONGEST_VALUE)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@lru_cache(maxsize=_KEPT)
def as_name(name: str) -> str:
    """A name as it stands in a record."""
    return _NO_NAME.sub("_", name)[:60].strip("_") or "_"


_Leaf = tuple[tuple[str, ...], Any]
"""The names that lead to what an object holds, and a cell, or the objects of a list."""


def _leaves(value: Mapping[Any, Any], path: tuple[str, ...] = (), *, split: bool = False) -> Iterator[_Leaf]:
    """``split``: lists of objects are told as such, and not as cells."""
    for key, item in value.items():
        inner = (*path, as_name(str(key)))
        if split and (listed := _objects(item, inner[-1])) is not None:
            yield inner, listed
        elif isinstance(item, dict) and len(path) < DEEPEST:
            yield from _leaves(item, inner, split=split)
        elif text := one_line(item):
            yield inner, text


def _record(leaves: Sequence[_Leaf]) -> Fields:
    """Cells under names that are as short as they can be told apart."""
    tails = [[path[at:] for at in reversed(range(len(path)))] for path, _ in leaves]
    times = Counter(chain.from_iterable(tails))
    names = (next((tail for tail in own if times[tail] == 1), own[-1]) for own in tails)
    return {".".join(name): text for name, (_, text) in zip(names, leaves, strict=True)}


def _objects(value: Any, title: str) -> list[Any] | None:
    """The objects that a value lists, if it does: in a list, in lists of them, by their ids, or in rows of cells."""
    if isinstance(value, dict):
        return _by_keys(value, title or "key")
    if not isinstance(value, list | tuple) or not value:
        return None
    if all(isinstance(item, list | tuple) for item in value) and (rows := _by_head(value)):
        return rows
    inner = [[item] if isinstance(item, dict) else _objects(item, title) for item in value]
    return None if None in inner else [item for listed in inner for item in listed or ()]


def _by_head(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Rows of cells, the first of which may be a head; without one the cells have numbers."""
    head, count = lists[0], len(lists[0])
    if count <= 1 or any(len(row) != count or any(isinstance(cell, dict | list) for cell in row) for row in lists):
        return []
    is_named = all(isinstance(cell, str) and not re.search(r"\d", cell) for cell in head) and len(set(head)) == count
    names = head if is_named else range(1, count + 1)
    return [dict(zip(names, row, strict=True)) for row in lists[is_named:]]


def _by_keys(value: Mapping[Any, Any], name: str) -> list[Any] | None:
    """Objects by their ids, or plain values by what they are of. An id that is told twice is told once."""
    items = [(str(key), item) for key, item in value.items()]
    are_keys, are_several = all(_IS_KEY.match(key) for key, _ in items), len(items) > 1
    if items and all(isinstance(item, dict) and item for _, item in items):
        if are_keys or (are_several and len({tuple(item) for _, item in items}) == 1):
            return [item if key in map(str, item.values()) else {name: key, **item} for key, item in items]
    elif are_several and are_keys and not any(isinstance(item, dict | list) for _, item in items):
        return [{name: key, "value": item} for key, item in items]
    return None
