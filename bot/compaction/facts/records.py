"""Records: what a tool was asked and what it returned, as names and values in one line. Pure.

A record's text is ``name=value`` fields with tabs between them: no value holds a tab or a line break, so it can be
taken apart again. Nested objects are flattened to the shortest names that tell them apart, and nested lists of
objects are written as small tables, ``flights=[number date: HAT1 2024-05-20 / HAT2 2024-05-21]``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.estimate.cuts import beginning, head_of

Fields = dict[str, str]
"""A record: values by their names, in order."""

SEPARATOR = "\t"

ID_NAMES = "id|uuid|guid|key|sku|slug|ref|reference|code"
"""What fields that hold an id are called, or end in, behind a line or a point; for a pattern."""
ID_HUMP = "[a-z](?:Id|Key|Ref)"
"""Likewise in one piece (``orderId``); a code is more often of something else (``exitCode``, ``statusCode``)."""

LONGEST_VALUE = 240
"""Characters of one value."""

LONGEST_LIST = 1_600
"""Characters of a nested list."""

MOST_ROWS = 200
"""Rows of one result that become records: the first of them."""

_LONGEST_JSON = 400_000
_DEEPEST = 6
_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PAIR_LINE = re.compile(r"^\s*([^\W\d][\w .()/-]{0,38}[\w)])\s*[:=]\s+(\S.{0,238})$", re.MULTILINE)
_ENOUGH_PAIRS = 0.5
"""Share of the lines of a plain text that are pairs, for it to be a record."""


def words_of_name(name: str) -> list[str]:
    """The words that the name of a tool or a field is made of (``getUser_name``)."""
    return _NAME_WORDS.findall(name)


def parsed(text: str) -> Any:
    """A result's text as JSON, or None if it is none or too long to be looked at."""
    plain = text.strip()
    if not plain or plain[0] not in "{[" or len(plain) > _LONGEST_JSON:
        return None
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return None


def as_text(fields: Mapping[str, str]) -> str:
    """A record in one line."""
    return SEPARATOR.join(f"{name}={value}" if name else value for name, value in fields.items())


def fields_of(text: str) -> Fields:
    """A line that :func:`as_text` wrote, as a record again; a part without a name gets an empty one."""
    fields: Fields = {}
    for part in text.split(SEPARATOR):
        name, sign, value = part.partition("=")
        fields[name if sign else ""] = value if sign else part
    return fields


def plain_pairs(text: str) -> Fields:
    """The ``name: value`` lines of a plain text that mostly consists of them; otherwise nothing."""
    pairs = {_name(name): _scalar(value) for name, value in _PAIR_LINE.findall(head_of(text, LONGEST_LIST * 4))}
    lines = sum(1 for line in head_of(text, LONGEST_LIST * 4).splitlines() if line.strip())
    return pairs if len(pairs) > 1 and len(pairs) >= _ENOUGH_PAIRS * lines else {}


def rows_of(value: Any) -> list[Mapping[str, Any]] | None:
    """A list of objects (or lists of them), flat: the rows of a table; None for anything else."""
    rows: list[Mapping[str, Any]] = []
    if not isinstance(value, list) or not value:
        return None
    for item in value:
        if isinstance(item, Mapping):
            rows.append(item)
        elif isinstance(item, list) and (inner := rows_of(item)):
            rows.extend(inner)
        else:
            return None
    return rows


def wrapped_rows(value: Mapping[str, Any]) -> tuple[str, list[Mapping[str, Any]]] | None:
    """The one list of objects in an object that has little besides: ``{"results": [...], "total": 3}``."""
    lists = [(name, rows) for name, item in value.items() if (rows := rows_of(item))]
    others = [item for item in value.values() if not isinstance(item, list)]
    if len(lists) == 1 and len(value) <= 1 + 3 and not any(isinstance(item, Mapping) for item in others):
        return lists[0]
    return None


def flattened(value: Mapping[str, Any], lists: dict[str, list[Mapping[str, Any]]] | None = None) -> Fields:
    """An object as a record. What is empty is left out; names are as short as they can be told apart.

    ``lists``: takes the lists of objects in it, by their names; without it they become small tables in one field.
    """
    leaves = list(_leaves(value, (), 0, lists))
    ends = Counter(path[-1] for path, _ in leaves)
    fields: Fields = {}
    for path, text in leaves:
        name = path[-1] if ends[path[-1]] == 1 else ".".join(path[-2:])
        fields.setdefault(name if name not in fields else ".".join(path), text)
    return fields


def _leaves(
    value: Any, path: tuple[str, ...], depth: int, lists: dict[str, list[Mapping[str, Any]]] | None
) -> Iterator[tuple[tuple[str, ...], str]]:
    rows = None
    if depth:
        rows = _keyed_rows(value) if isinstance(value, Mapping) else rows_of(value)
    if rows and lists is not None and path[-1] not in lists:
        lists[path[-1]] = rows
    elif rows:
        yield path, _table(rows)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for name, item in value.items():
            yield from _leaves(item, (*path, _name(str(name))), depth + 1, lists)
    elif text := _one_line(value):
        yield path or ("",), text


def _keyed_rows(value: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """An object of objects by their ids, as a list: an id that is told twice is told once."""
    items = [(str(key), item) for key, item in value.items()]
    if not items or not all(isinstance(item, Mapping) and item for _, item in items):
        return None
    if not all(any(char.isdigit() for char in key) for key, _ in items):
        return None
    return [item if key in map(str, item.values()) else {"key": key, **item} for key, item in items]


def _one_line(value: Any) -> str:
    if isinstance(value, list):
        rows = rows_of(value)
        if rows:
            return _table(rows)
        return _cut(", ".join(text for item in value if (text := _one_line(item))), LONGEST_LIST)
    if isinstance(value, Mapping):
        pairs = (f"{name} {text}" for name, item in value.items() if (text := _one_line(item)))
        return _cut(", ".join(pairs), LONGEST_LIST)
    return _scalar(value)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """``[a b: 1 2 / 3 4]``, with commas where a cell has spaces; rows of one shape share their head."""
    texts: list[str] = []
    head: tuple[str, ...] = ()
    for row in rows:
        fields = {str(name): text for name, item in row.items() if (text := _one_line(item))}
        between = "," if any(" " in text for text in fields.values()) else " "
        cells = between.join(fields.values())
        if tuple(fields) != head:
            head = tuple(fields)
            cells = f"{between.join(_name(name) for name in head)}: {cells}"
        texts.append(cells)
    return _cut(f"[{' / '.join(texts)}]", LONGEST_LIST)


def _scalar(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _cut(" ".join(str(value).split()), LONGEST_VALUE)


def _name(name: str) -> str:
    return "_".join(name.replace("=", " ").split())[:60]


def _cut(text: str, longest: int) -> str:
    return beginning(text, longest)
