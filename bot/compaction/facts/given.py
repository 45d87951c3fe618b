"""What calls were given: each value once, under the name of its argument, one line a tool. Pure.

A value that a call was given is often given to a later one. In rows it would stand behind the same names again and
again; so where room is short, the values of all calls of a tool stand together: ``book_table<tab>city=San Jose ¦
Fremont<tab>date=2019-03-05``. Which of them went together is told by the rows, where these have room.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.facts.records import SEPARATOR, Fields, as_text, fields_of

AND = " ¦ "
"""Between the values of one argument."""
_LONGEST = 100
"""Characters of a value that may be given again as it is; a longer one is a text."""
_CELL = re.compile(r"[\t\n=]")


def given_text(tool: str, arguments: Fields) -> str:
    """What a call of this tool was given, as the text of a fact; empty without any value that may be given again."""
    told = {name: cell for name, cell in arguments.items() if len(cell) <= _LONGEST and AND.strip() not in cell}
    return f"{tool}{SEPARATOR}{as_text(told)}" if told else ""


def by_value(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The same facts, but those of what calls were given apart: one for each value, with all entries in which a call
    was given it, under the name under which it was given last."""
    last: dict[str, Fact] = {}
    for fact in facts:
        if fact.kind is not FactKind.GIVEN:
            yield fact
            continue
        tool, _, told = fact.text.partition(SEPARATOR)
        for name, cell in fields_of(told).items():
            for value in cell.split(AND):
                before = last.pop(value, fact).seqs
                seqs = tuple(sorted({*before, *fact.seqs}))
                last[value] = replace(fact, text=f"{tool}{SEPARATOR}{name}={value}", seqs=seqs)
    yield from last.values()


def value_of(fact: Fact) -> str:
    """The value of a fact that :func:`by_value` made."""
    return fact.text.partition("=")[2]


def given_lines(facts: Sequence[Fact], shown: str) -> Iterator[str]:
    """A line for each tool. What stands as a cell of a table in ``shown`` is not told again."""
    there = set(_CELL.split(shown))
    tools: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for fact in by_value(facts):
        if value_of(fact) not in there:
            tool, _, told = fact.text.partition(SEPARATOR)
            tools[tool][told.partition("=")[0]].append(value_of(fact))
    for tool, names in tools.items():
        yield f"{tool}{SEPARATOR}{as_text({name: AND.join(values) for name, values in names.items()})}"
