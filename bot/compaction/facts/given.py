"""What calls were given: each value once, one line for each name of an argument. Pure.

A value that a call was given is often given to a later one. In rows it would stand behind the same names again and
again; so each is a fact of its own, ``city=San Jose``, under the name under which it was given last, and those of one
name stand together, whatever tool they were given to: ``city=San Jose<tab>Fremont``. Which of them went together, and
where, is told by the rows, where these have room.

A value stands letter by letter, with its blanks and its line breaks, since a call takes it only so: code that an edit
replaces, a command of several lines. One of whose lines a line could be taken for another one of the checkpoint, or for
the beginning of somebody's words, stands in one line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from bot.compaction.facts.fact import Candidate, Fact, FactKind, Speaker
from bot.compaction.facts.records import DEEPEST, LONGEST_VALUE, SEPARATOR, as_name, one_line

_LONGEST = 100
"""Characters of a value in one line that may be given again as it is; a longer one is a text, and stands in rows."""
_MOST_OF_A_LIST, _MOST = 20, 60
"""Values of one list, and of one call: the first of them. Of a table that is handed over no cell is given again."""
_WEIGHT = 6.5
_CELL = re.compile(r"[\t\n=]")
_GOES_ON = r"\n(?: +\S|(?:[^\W\d]|[)\]}])(?![^\n\t]{0,60}(?::(?:\s|\Z)|：)))"
"""How a line of a value begins that is not its first: no line of a checkpoint does, and nobody's words; behind a name
of up to 60 characters these begin with a colon."""
_EXACT = re.compile(rf" *\S[\S ]*(?:{_GOES_ON}[\S ]*)*")
_BETWEEN = " ¦ "
"""Between the values of one name in a line that begins with a tool: checkpoints that histories hold may have such."""
_END = " ¦"
"""Behind the last value of a line, if any of them has several lines."""
_OF_LINES = re.compile(rf"^- [^\n]*(?:{_GOES_ON}[^\n]*)+(?={_END}$)", re.MULTILINE)
_BREAK = "\v"
"""In place of a line break in a value, while a checkpoint is read line by line: no fact holds one."""


def as_given(value: Any) -> str:
    """A value as a call was given it, where it can stand so; else in one line."""
    is_short = isinstance(value, str) and len(value) <= LONGEST_VALUE
    return value if is_short and _EXACT.fullmatch(value) else one_line(value)


def given_candidates(given: Any, seq: int) -> Iterator[Candidate]:
    """The values that a call was given and that may be given again, each :func:`as_given` and by itself, also those in
    lists and objects; of many the first."""
    for name, value in islice(_values(given), _MOST):
        if value and len(value) <= (LONGEST_VALUE if "\n" in value else _LONGEST):
            yield Candidate(FactKind.GIVEN, f"{name}={value}", seq, f"given:{value}", Speaker.TOOL, weight=_WEIGHT)


def _values(given: Any, name: str = "_", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > DEEPEST or not isinstance(given, Mapping | list):
        yield name, as_given(given)
    elif isinstance(given, list):
        yield from islice(chain.from_iterable(_values(item, name, depth + 1) for item in given), _MOST_OF_A_LIST)
    else:
        for key, item in given.items():
            yield from _values(item, as_name(str(key)), depth + 1)


def given_in(line: str, seq: int) -> Iterator[Candidate]:
    """The values in a line that :func:`given_lines` wrote and :func:`lines_of` read."""
    line = line.removesuffix(_END).replace(_BREAK, "\n") if _BREAK in line else line
    name, _, values = line.partition("=")
    if SEPARATOR not in name:
        told = [(name, value) for value in values.split(SEPARATOR)]
    else:
        fields = (field.partition("=") for field in line.split(SEPARATOR)[1:])
        told = [(name, value) for name, _, values in fields for value in values.split(_BETWEEN)]
    for name, value in told:
        yield from given_candidates({name: value}, seq)


def lines_of(text: str) -> list[str]:
    """The lines of a checkpoint, as long as they are together. One that holds values of several lines is one."""
    return _OF_LINES.sub(lambda found: found[0].replace("\n", _BREAK), text).split("\n")


def value_of(fact: Fact) -> str:
    """The value that a call was given."""
    return fact.text.partition("=")[2]


def given_lines(facts: Sequence[Fact], shown: str) -> Iterator[str]:
    """A line for each name. What stands as a cell of a table in ``shown`` is not told again."""
    there = set(_CELL.split(shown))
    values: defaultdict[str, list[str]] = defaultdict(list)
    for fact in facts:
        name, _, value = fact.text.partition("=")
        if value not in there:
            values[one_line(name)].append(as_given(value))
    for name, own in values.items():
        line = f"{name}={SEPARATOR.join(own)}"
        yield f"{line}{_END}" if "\n" in line else line
