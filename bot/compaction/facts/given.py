"""What calls were given: each value once, as a fact by itself. Pure.

A value that a call was given is often given to a later one. In rows it would stand behind the same names again and
again; so it is a fact of its own, ``city=San Jose``, under the name under which it was given last. What went together
is told by the rows, where these have room. It stands letter by letter, with its blanks and its line breaks, since a
call takes it only so: code that an edit replaces, a command of several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from bot.compaction.facts.fact import Candidate, Fact, FactKind, Speaker
from bot.compaction.facts.records import DEEPEST, LONGEST_VALUE, as_name, one_line

_LONGEST = 100
"""Characters of a value in one line that may be given again as it is; a longer one is a text, and stands in rows."""
_MOST_OF_A_LIST, _MOST = 20, 60
"""Values of one list, and of one call: the first of them. Of a table that is handed over no cell is given again."""
_EXACT = re.compile(r" *\S[\S ]*(?:\n(?: +\S|(?:[^\W\d]|[)\]}])(?![^\n\t]{0,60}(?::(?:\s|\Z)|：)))[\S ]*)*")
"""No line of it but the first begins as a line of a checkpoint does, or somebody's words: behind a name of up to 60
characters these have a colon. Any other value stands in one line."""


def as_given(value: Any) -> str:
    """A value as a call was given it, where it can stand so; else in one line."""
    is_short = isinstance(value, str) and len(value) <= LONGEST_VALUE
    return value if is_short and _EXACT.fullmatch(value) else one_line(value)


def given_candidates(given: Any, seq: int) -> Iterator[Candidate]:
    """The values that a call was given and that may be given again, each :func:`as_given` and by itself, also those in
    lists and objects; of many the first."""
    for name, value in islice(_values(given), _MOST):
        if value and len(value) <= (LONGEST_VALUE if "\n" in value else _LONGEST):
            yield Candidate(FactKind.GIVEN, f"{name}={value}", seq, f"given:{value}", Speaker.TOOL)


def value_of(fact: Fact) -> str:
    """The value that a call was given."""
    return fact.text.partition("=")[2]


def _values(given: Any, name: str = "_", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > DEEPEST or not isinstance(given, Mapping | list):
        yield name, as_given(given)
    elif isinstance(given, list):
        yield from islice(chain.from_iterable(_values(item, name, depth + 1) for item in given), _MOST_OF_A_LIST)
    else:
        for key, item in given.items():
            yield from _values(item, as_name(str(key)), depth + 1)
