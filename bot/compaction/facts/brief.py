"""Shorter forms of facts, for when room is short: of a record, the fields that a later call may need. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.compaction.facts.fact import RECORDS, Candidate, Fact, Speaker
from bot.compaction.facts.records import ID_NAMES, Fields, as_text, fields_of

_TOKEN = re.compile(r"[^\s,;:()\[\]\"'“”«»$€£₽¥*/=|!?]+")
_EXACT = re.compile(r"[\d_@]|\A[A-Z]{2,}\Z|\A[A-Z]")
_ID = re.compile(r"(?=.*\d)(?=.*[A-Za-z_@-])[\w@.+:/-]{4,80}\Z|[\w.+-]+@[\w.-]+\Z|[A-Z]{5,10}\Z")
_ID_NAME = re.compile(rf"(?:^|[_.])(?:{ID_NAMES}|name|number|email|path|url|file)\Z", re.IGNORECASE)
_NAME = re.compile(r"(?:^|[_.])(?:first|last|full|given|family|middle|sur)?_?name\Z", re.IGNORECASE)
_LONGEST_NAME = 40
_CLOCK = re.compile(r"\d\d?:\d\d(?::\d\d)?\S{0,3}\Z|\d{4}-\d\d-\d\dT\S+\Z")


_TELLING = 3
"""Characters of a value that is not said by chance."""

_SHORT_VALUE = 12
"""Characters of a value of a thing that is cheap to keep: a state, a count, one word of a few."""

_SHORT_RESULT = 40
"""Characters of a result that is all that a tool answered: the sum, the name."""

_TALKED_OF = 0.15
"""A column is needed when this share of its cells was talked of."""

NOT_NEEDED = 4
"""Rank of a field that no later call is known to need."""


@dataclass
class Vocabulary:
    """What the conversation uses: names of arguments, values in records, exact words in what was said."""

    arguments: set[str] = field(default_factory=set)
    recorded: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    def note(self, candidate: Candidate) -> None:
        """Take the words of a candidate in, whatever became of it."""
        self.arguments.update(candidate.names)
        exact = (token.rstrip(".") for token in _TOKEN.findall(candidate.text) if _EXACT.search(token))
        (self.recorded if candidate.speaker is Speaker.TOOL else self.said).update(exact)

    def rank(self, name: str, value: str, *, first: bool, entity: bool) -> int:
        """How much later calls need this field, by its name, by its form, or because it was talked of: 0 is most.

        ``entity``: it is a field of a thing with an id.
        """
        if name in ("tool", "error") or "@" in name or (name == "result" and len(value) <= _SHORT_RESULT):
            return 0
        last = name.rpartition(".")[2]
        asked = last in self.arguments or name in self.arguments
        table = value.startswith("[")
        if not table and not _CLOCK.match(value) and (is_exact(value) or _ID_NAME.search(name)):
            return 0 if first else 1
        if not table and (asked or name == "result" or self._was_said(value)):
            return 2
        if entity and len(value) <= _SHORT_VALUE and not _CLOCK.match(value):
            return 2
        return 3 if table or asked else NOT_NEEDED

    def _was_said(self, value: str) -> bool:
        return len(value) >= _TELLING and value in self.said and not _CLOCK.match(value)


def is_exact(value: str) -> bool:
    """Whether a value looks like an id, an address or a list of them: what nobody could guess."""
    return bool(_ID.match(value.split(", ", maxsplit=1)[0])) and not _CLOCK.match(value)


def is_name(name: str, value: str) -> bool:
    """Whether a field holds what somebody or something is called."""
    return bool(_NAME.search(name)) and len(value) <= _LONGEST_NAME


def _is_entity(shape: Sequence[str]) -> bool:
    """Whether records with these names are each about one thing with an id, and no rows of a list."""
    return "@" not in shape[0] and bool(_ID_NAME.search(shape[0]))


def briefly(facts: Sequence[Fact], vocabulary: Vocabulary) -> list[Fact]:
    """The facts with their short forms, where there are any.

    The fields of records are put in the order of need, which is the same for all records of one shape, so that they
    can stand in one table.
    """
    columns: dict[tuple[str, ...], list[Fields]] = defaultdict(list)
    records = {id(fact): fields_of(fact.text) for fact in facts if fact.kind in RECORDS}
    for fields in records.values():
        columns[tuple(fields)].append(fields)
    needs = {shape: _needs(shape, rows, vocabulary) for shape, rows in columns.items()}
    return [_short(fact, records.get(id(fact)), needs) for fact in facts]


def _needs(shape: tuple[str, ...], rows: Sequence[Fields], vocabulary: Vocabulary) -> dict[str, int]:
    """The ranks of the columns of a shape: the best that enough of the cells have."""
    ranks: dict[str, int] = {}
    entity = _is_entity(shape)
    for at, name in enumerate(shape):
        cells = sorted(vocabulary.rank(name, row[name], first=at == 0, entity=entity) for row in rows)
        ranks[name] = cells[int(_TALKED_OF * (len(cells) - 1))]
    return ranks


def _short(fact: Fact, fields: Fields | None, needs: Mapping[tuple[str, ...], Mapping[str, int]]) -> Fact:
    if fields is None:
        return fact
    ranks = needs[tuple(fields)]
    ordered = {name: fields[name] for name in sorted(fields, key=ranks.__getitem__)}
    needed = {name: value for name, value in ordered.items() if ranks[name] < NOT_NEEDED}
    return replace(fact, text=as_text(ordered), brief=as_text(needed) if len(needed) < len(ordered) else "")


def forms_of(fact: Fact, vocabulary: Vocabulary) -> list[str]:  # noqa: ARG001  # what is needed is in its short form
    """A record's texts from the shortest to the full one: what is exact, what is needed, everything."""
    forms = [fact.brief, fact.text] if fact.brief else [fact.text]
    fields = fields_of(forms[0])
    first = 1 + int(next(iter(fields)) == "tool" or "@" in next(iter(fields)))
    core = {
        name: cell
        for at, (name, cell) in enumerate(fields.items())
        if at < first or is_exact(cell) or is_name(name, cell)
    }
    return [as_text(core), *forms] if len(core) < len(fields) else forms
