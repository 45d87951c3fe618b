"""What calls were given: each value once, under the name of its argument, one line a tool. Pure.

A value that a call was given is often given to a later one. In rows it would stand behind the same names again and
again; so each is a fact of its own, ``book_table<tab>city=San Jose``, under the name under which it was given last, and
those of a tool stand together: ``book_table<tab>city=San Jose ¦ Fremont<tab>date=2019-03-05``. Which of them went
together is told by the rows, where these have room.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from bot.compaction.facts.fact import Candidate, Fact, FactKind, Speaker
from bot.compaction.facts.records import SEPARATOR, Fields, as_text, fields_of

AND = " ¦ "
"""Between the values of one argument."""
_LONGEST = 100
"""Characters of a value that may be given again as it is; a longer one is a text."""
_WEIGHT = 6.5
_CELL = re.compile(r"[\t\n=]")


def given_candidates(tool: str, arguments: Fields, seq: int) -> Iterator[Candidate]:
    """The values that a call of this tool was given and that may be given again, or those of a line that
    :func:`given_lines` wrote."""
    for name, cell in arguments.items():
        for value in cell.split(AND):
            if len(value) <= _LONGEST:
                text = f"{tool}{SEPARATOR}{name}={value}"
                yield Candidate(FactKind.GIVEN, text, seq, f"given:{value}", Speaker.TOOL, weight=_WEIGHT)


def value_of(fact: Fact) -> str:
    """The value that a call was given."""
    return fact.text.partition("=")[2]


def given_lines(facts: Sequence[Fact], shown: str) -> Iterator[str]:
    """A line for each tool. What stands as a cell of a table in ``shown`` is not told again."""
    there = set(_CELL.split(shown))
    tools: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        tool, _, told = fact.text.partition(SEPARATOR)
        for name, value in fields_of(told).items():  # one, but for what is older than facts of one value
            if not there.issuperset(value.split(AND)):
                tools[tool][name].append(value)
    for tool, names in tools.items():
        yield f"{tool}{SEPARATOR}{as_text({name: AND.join(values) for name, values in names.items()})}"
