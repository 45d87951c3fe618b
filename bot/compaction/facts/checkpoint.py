"""The checkpoint: facts as the text that a model reads, and that text as facts again. Pure.

A section a kind, a line a fact. Records with the same names are a table: a line ``> name<tab>name``, then a row for
each; an empty cell repeats the one above it. What a later compaction reads back it merges like anything else that was
found (FEATURES A7).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from bot.compaction.facts.fact import Candidate, Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.records import ID_HUMP, ID_NAMES, SEPARATOR, Fields, as_text, fields_of

HEADING = "# Memory checkpoint"
OPENING = "From hidden messages."
OF_THE_PAST = "What is done or cancelled is history: do not do it again."
OF_TABLES = "An empty cell repeats the one above."

_OF_WORDS = (FactStatus.ACTIVE, FactStatus.CANCELLED, FactStatus.REPLACED)
_OF_GOALS = (*_OF_WORDS, FactStatus.DONE)
_SECTIONS: tuple[tuple[str, FactKind, Speaker | None, tuple[FactStatus, ...]], ...] = (
    ("## Goals", FactKind.GOAL, None, _OF_GOALS),
    ("## Rules and decisions", FactKind.CONSTRAINT, None, _OF_WORDS),
    ("## The person said", FactKind.STATEMENT, Speaker.PERSON, _OF_WORDS),
    ("## The assistant said", FactKind.STATEMENT, Speaker.MODEL, _OF_WORDS),
    ("## Done", FactKind.ACTION, None, (FactStatus.ACTIVE,)),
    ("## Failed", FactKind.ACTION, None, (FactStatus.FAILED,)),
    ("## Records", FactKind.VALUE, None, (FactStatus.ACTIVE,)),
    ("## Places", FactKind.PATH, None, (FactStatus.ACTIVE,)),
)
EARLIER = "[earlier] "
_MARKS = {FactStatus.DONE: "[done] ", FactStatus.CANCELLED: "[cancelled] ", FactStatus.REPLACED: EARLIER}
_ASSISTANT = "(assistant) "
_BULLET, _COLUMNS, _SECTION = "- ", "> ", "## "
_SPECIFIC_ID = re.compile(rf"[a-z0-9]_(?:{ID_NAMES})\Z|{ID_HUMP}\Z|[a-z]Code\Z")
_WEIGHTS = {
    FactKind.GOAL: 8.0,
    FactKind.CONSTRAINT: 9.0,
    FactKind.STATEMENT: 6.0,
    FactKind.ACTION: 8.5,
    FactKind.VALUE: 8.5,
    FactKind.PATH: 3.0,
}
_OF_THE_MODEL = 0.7
"""What the model said weighs less than what a person said."""
_OVER = 3.0
"""Weight of what was cancelled or done."""


def is_checkpoint(text: str) -> bool:
    """Whether a text is one that :func:`rendered` wrote."""
    return text.startswith(HEADING)


def apart(text: str) -> tuple[str, str]:
    """A text that begins with a checkpoint as the checkpoint and what follows it: from a blank line on, or from a line
    that is none of a checkpoint.
    """
    lines = text.split("\n")
    columns = 0
    for at, line in enumerate(lines[2:], start=2):
        if line.startswith(_COLUMNS):
            columns = line.count(SEPARATOR) + 1
        elif line.startswith((_SECTION, _BULLET)):
            columns = 0
        elif not line or line.count(SEPARATOR) + 1 != columns:
            return "\n".join(lines[:at]), "\n".join(lines[at:]).strip()
    return text, ""


def rendered(facts: Sequence[Fact]) -> str:
    """The checkpoint of these facts, each with its ``text``; without any, only the heading."""
    parts: list[str] = []
    for title, kind, speaker, statuses in _SECTIONS:
        chosen = [fact for fact in facts if _belongs(fact, kind, speaker, statuses)]
        if not chosen:
            continue
        tabular = kind in (FactKind.VALUE, FactKind.ACTION)
        lines = _tables(chosen) if tabular else (line_of(fact) for fact in chosen)
        parts.append("\n".join((title, *lines)))
    opening = [OPENING]
    if any(fact.kind is FactKind.ACTION or fact.status in _MARKS for fact in facts):
        opening.append(OF_THE_PAST)
    if any(f"\n{_COLUMNS}" in part for part in parts):
        opening.append(OF_TABLES)
    return "\n".join((HEADING, " ".join(opening), *parts))


def line_of(fact: Fact) -> str:
    """A fact as a line of its own."""
    said = _ASSISTANT if fact.speaker is Speaker.MODEL and fact.kind in (FactKind.GOAL, FactKind.CONSTRAINT) else ""
    mark = _MARKS.get(fact.status, "")
    return f"{_BULLET}{mark}{said}{_clean(fact.text).removeprefix(mark)}"


def facts_in(text: str, seq: int) -> Iterator[Candidate]:
    """The facts of a checkpoint, as candidates of the entry that holds it."""
    section: tuple[str, FactKind, Speaker | None, tuple[FactStatus, ...]] | None = None
    columns: list[str] = []
    above: list[str] = []
    titles = {entry[0]: entry for entry in _SECTIONS}
    for line in text.split("\n"):
        if line.startswith(_SECTION):
            section, columns = titles.get(line), []
        elif section is None:
            continue
        elif line.startswith(_COLUMNS):
            columns, above = line.removeprefix(_COLUMNS).split(SEPARATOR), []
        elif line.startswith(_BULLET):
            columns = []
            yield _candidate(line.removeprefix(_BULLET), section, seq)
        elif columns:
            cells = line.split(SEPARATOR)
            above = [cell or up for cell, up in zip(cells, above or cells, strict=False)]
            yield _candidate(as_text(dict(zip(columns, above, strict=False))), section, seq)


def _belongs(fact: Fact, kind: FactKind, speaker: Speaker | None, statuses: tuple[FactStatus, ...]) -> bool:
    if fact.kind is not kind or fact.status not in statuses:
        # A status that its kind does not know must not make a fact invisible.
        return fact.kind is kind and statuses[0] is FactStatus.ACTIVE and not _has_section(fact)
    return speaker is None or (fact.speaker is Speaker.MODEL) is (speaker is Speaker.MODEL)


def _has_section(fact: Fact) -> bool:
    return any(fact.kind is kind and fact.status in statuses for _, kind, _, statuses in _SECTIONS)


def _candidate(line: str, section: tuple[str, FactKind, Speaker | None, tuple[FactStatus, ...]], seq: int) -> Candidate:
    _, kind, speaker, statuses = section
    status = statuses[0]
    while marked := next((name for name, mark in _MARKS.items() if line.startswith(mark)), None):
        status, line = marked, line.removeprefix(_MARKS[marked])
    who = speaker or (Speaker.TOOL if kind in (FactKind.ACTION, FactKind.VALUE, FactKind.PATH) else Speaker.PERSON)
    if line.startswith(_ASSISTANT):
        who, line = Speaker.MODEL, line.removeprefix(_ASSISTANT)
    weight = _WEIGHTS[kind] * (_OF_THE_MODEL if who is Speaker.MODEL else 1.0)
    if status in _MARKS:
        weight = _OVER
    fields = fields_of(line)
    key = f"failed:{fields.get('tool', '')}" if status is FactStatus.FAILED else ""
    if kind is FactKind.VALUE:
        key = record_key(fields)
    return Candidate(kind, line, seq, key, who, status, weight, names=_argument_names(kind, fields))


def record_key(fields: Fields) -> str:
    """The key of a record that was written down: that of the list it belongs to, or of the thing that it names."""
    name, cell = next(iter(fields.items()), ("", ""))
    if "@" in name:
        return f"part:{name}={cell}"
    return f"entity:{name}={cell}" if _SPECIFIC_ID.search(name) else ""


def _argument_names(kind: FactKind, fields: Fields) -> tuple[str, ...]:
    return tuple(name for name in fields if name not in ("tool", "result", "error")) if kind is FactKind.ACTION else ()


def _tables(facts: Iterable[Fact]) -> Iterator[str]:
    """Records of one shape together; in the order of their oldest one."""
    groups: dict[tuple[str, ...], list[Fields]] = defaultdict(list)
    for fact in facts:
        fields = fields_of(_clean(fact.text))
        groups[tuple(fields)].append(fields)
    for names, rows in groups.items():
        if len(rows) == 1 or not all(_fits_a_table(row) for row in rows):
            yield from (f"{_BULLET}{as_text(fields)}" for fields in rows)
            continue
        yield _COLUMNS + SEPARATOR.join(names)
        above: tuple[str, ...] = ()
        for fields in rows:
            cells = tuple(fields.values())
            pairs = zip(cells, above or ("",) * len(cells), strict=True)
            yield SEPARATOR.join("" if cell == up else cell for cell, up in pairs)
            above = cells


def _fits_a_table(fields: Fields) -> bool:
    first = next(iter(fields.values()))
    return all(fields) and all(fields.values()) and not first.startswith((_BULLET, _COLUMNS, _SECTION))


def _clean(text: str) -> str:
    """In one line, whatever it came from: nothing in a fact may look like another line of the checkpoint."""
    return SEPARATOR.join(" ".join(part.split()) for part in text.split(SEPARATOR))
