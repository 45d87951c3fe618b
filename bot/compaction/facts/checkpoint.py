"""The checkpoint: facts as the text that a model reads, and that text as facts again. Pure.

What was said is one list in the order in which it was said, each line word for word behind the number of its message
and who said it; ``- `` goes on with the same message. Records with the same names are a table: a line
``> name<tab>name``, then a row for each; an empty cell repeats the one above it. What a later compaction reads back it
merges like anything else that was found (FEATURES A7).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bot.compaction.facts.fact import PROSE, Candidate, Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.labels import label_of
from bot.compaction.facts.quotes import QUOTED, SENT
from bot.compaction.facts.records import ID_HUMP, ID_NAMES, SEPARATOR, Fields, as_text, fields_of
from bot.compaction.facts.speech import told_by_form

HEADING = "# Memory checkpoint"
OPENING = "From hidden messages."
OF_WORDS = (
    "What was said stands word for word behind the number of its message, in its order: of lines about one thing the "
    "last one holds."
)
OF_THE_PAST = "What is done or cancelled is history: do not do it again."
OF_TABLES = "An empty cell repeats the one above."

SAID = "## Said"
_SECTIONS: tuple[tuple[str, FactKind, FactStatus], ...] = (
    ("## Done", FactKind.ACTION, FactStatus.ACTIVE),
    ("## Failed", FactKind.ACTION, FactStatus.FAILED),
    ("## Records", FactKind.VALUE, FactStatus.ACTIVE),
    ("## Places", FactKind.PATH, FactStatus.ACTIVE),
)
_FORMER: dict[str, tuple[FactKind, Speaker]] = {
    "## Goals": (FactKind.GOAL, Speaker.PERSON),
    "## Rules and decisions": (FactKind.CONSTRAINT, Speaker.PERSON),
    "## The person said": (FactKind.STATEMENT, Speaker.PERSON),
    "## The assistant said": (FactKind.STATEMENT, Speaker.MODEL),
}
"""Sections of a checkpoint as versions up to 0.19 wrote it: it may stand in a book."""
_FORMER_ASSISTANT = "(assistant) "
SUBSTITUTED = re.compile(r"\[now [^\[\]\n]{1,200}\]")
"""What those versions wrote into somebody's sentence: that is in nobody's words."""

_MARKS = {FactStatus.DONE: "[done] ", FactStatus.CANCELLED: "[cancelled] ", FactStatus.REPLACED: "[earlier] "}
_NOTES = (QUOTED, SENT)
_BULLET, _COLUMNS, _SECTION = "- ", "> ", "## "
_PERSON, _ASSISTANT = "person", "assistant"
_LINE = re.compile(
    r"#(?P<number>\d{1,12}|-) (?P<who>[^:\[\]\n]{1,60}?)(?P<marks>(?: \[[^\[\]\n]{1,300}\]){0,4}): (?P<text>\S.*)"
)
_MARK = re.compile(r" (\[[^\[\]]+\])")
NAMED = re.compile(r"(?P<who>[^:\[\]\n]{1,60}): (?=\S)")
"""How a message begins where several people write: with who it is."""
_NEARLY_ALL = 0.7
_SPECIFIC_ID = re.compile(rf"[a-z0-9]_(?:{ID_NAMES})\Z|{ID_HUMP}\Z|[a-z]Code\Z")
_WEIGHTS = {FactKind.ACTION: 8.5, FactKind.VALUE: 8.5, FactKind.PATH: 3.0}
_OF_THE_MODEL = 0.6
"""What the model said weighs less than what a person said."""
_OVER = 3.0
"""Weight of what was cancelled or done."""
_MOST = 10.0


def is_checkpoint(text: str) -> bool:
    """Whether a text is one that :func:`rendered` wrote."""
    return text.startswith(HEADING)


def is_substituted(fact: Fact) -> bool:
    """Whether an earlier version wrote something into a person's sentence."""
    return "[now " in fact.text and fact.kind in PROSE and bool(SUBSTITUTED.search(fact.text))


def apart(text: str) -> tuple[str, str]:
    """A text that begins with a checkpoint as the checkpoint and what follows it: from a blank line on, or from a line
    that is none of a checkpoint."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith(_SECTION) or not line), len(lines))
    columns = 0
    for at, line in enumerate(lines[first:], start=first):
        if line.startswith(_COLUMNS):
            columns = line.count(SEPARATOR) + 1
        elif line.startswith((_SECTION, _BULLET)) or _LINE.fullmatch(line):
            columns = 0
        elif not line or line.count(SEPARATOR) + 1 != columns:
            return "\n".join(lines[:at]), "\n".join(lines[at:]).strip()
    return text, ""


def rendered(facts: Sequence[Fact], names: Names | None = None) -> str:
    """The checkpoint of these facts, each with its ``text``; without any, only the heading. ``names``: who wrote a
    message, where there are several people."""
    parts: list[str] = []
    said = [fact for fact in facts if fact.kind in PROSE]
    if said:
        parts.append("\n".join((SAID, *_said(said, Names.of(said) if names is None else names))))
    for title, kind, status in _SECTIONS:
        chosen = [fact for fact in facts if fact.kind is kind and _belongs(fact, status)]
        if chosen:
            lines = (line_of(fact) for fact in chosen) if kind is FactKind.PATH else _tables(chosen)
            parts.append("\n".join((title, *lines)))
    opening = [OPENING]
    if said:
        opening.append(OF_WORDS)
    if any(fact.kind is FactKind.ACTION or fact.status in _MARKS for fact in facts):
        opening.append(OF_THE_PAST)
    if any(f"\n{_COLUMNS}" in part for part in parts):
        opening.append(OF_TABLES)
    return "\n".join((HEADING, " ".join(opening), *parts))


def line_of(fact: Fact, name: str = "") -> str:
    """A fact as a line of its own. ``name``: of the person who said it, where there are several."""
    if fact.kind not in PROSE:
        return f"{_BULLET}{_clean(fact.text)}"
    return ": ".join(_head_and_text(fact, name))


def _head_and_text(fact: Fact, name: str) -> tuple[str, str]:
    marks, text = _marks_of(fact, _clean(fact.text))
    number = _number(fact) or "-"
    who = _ASSISTANT if fact.speaker is Speaker.MODEL else _PERSON if name in ("", _ASSISTANT) else name
    return f"#{number} {who}{marks}", text.removeprefix(f"{name}: ") if name else text


def with_name(text: str, name: str) -> str:
    """A line of somebody with the name before the words, as a message of several people has it."""
    note = text[: text.index("] ") + 2] if text.startswith(_NOTES) and "] " in text else ""
    return f"{note}{name}: {text.removeprefix(note)}"


@dataclass(frozen=True)
class Names:
    """Who wrote which message, where several people talk."""

    by_message: Mapping[int, str] = field(default_factory=dict)
    people: frozenset[str] = frozenset()

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Names:
        """Nearly all messages of people begin with a name then. Elsewhere nobody is named."""
        first: dict[int, str] = {}
        for at, fact in enumerate(facts):
            if fact.kind in PROSE and fact.speaker is Speaker.PERSON:
                first.setdefault(_number(fact) or -at - 1, _name_in(fact))
        named = {message: name for message, name in first.items() if name}
        is_group = len(named) > 1 and len(named) >= _NEARLY_ALL * len(first)
        return cls(named, frozenset(named.values())) if is_group else cls()

    def who(self, fact: Fact) -> str:
        """Who said it: as the line itself says, else the beginning of its message."""
        if fact.speaker is not Speaker.PERSON or not self.people:
            return ""
        own = _name_in(fact)
        return own if own in self.people else self.by_message.get(_number(fact), "")


def _number(fact: Fact) -> int:
    """Of the message that it was said in; 0 where that is not known."""
    return max(fact.seqs[-1], 0) if fact.seqs else 0


def _name_in(fact: Fact) -> str:
    found = NAMED.match(_marks_of(fact, fact.text)[1])
    return found["who"] if found else ""


def facts_in(text: str, seq: int) -> Iterator[Candidate]:
    """The facts of a checkpoint, as candidates of the entry that holds it; what was said, of the entries in which it
    was. Numbers that are none of this history (it was renumbered since) are dropped."""
    title, columns, above = "", list[str](), list[str]()
    numbers = [int(number) for number in re.findall(r"^#(\d{1,12}) ", text, re.MULTILINE)]
    is_ours = all(number < seq for number in numbers)
    last: re.Match[str] | None = None
    sections = {name: (kind, status) for name, kind, status in _SECTIONS}
    for line in text.split("\n"):
        if line.startswith(_SECTION):
            title, columns, last = line, [], None
        elif title == SAID:
            if found := _LINE.fullmatch(line):
                last = found
                yield _said_again(found, found["text"], is_ours=is_ours)
            elif last is not None and line.startswith(_BULLET):
                yield _said_again(last, line.removeprefix(_BULLET), is_ours=is_ours)
        elif title in _FORMER and line.startswith(_BULLET):
            if not SUBSTITUTED.search(line):
                yield _of_former(line.removeprefix(_BULLET), *_FORMER[title])
        elif title not in sections:
            continue
        elif line.startswith(_COLUMNS):
            columns, above = line.removeprefix(_COLUMNS).split(SEPARATOR), []
        elif line.startswith(_BULLET):
            columns = []
            yield _candidate(line.removeprefix(_BULLET), *sections[title], seq)
        elif columns:
            cells = line.split(SEPARATOR)
            above = [cell or up for cell, up in zip(cells, above or cells, strict=False)]
            yield _candidate(as_text(dict(zip(columns, above, strict=False))), *sections[title], seq)


def _said(facts: Sequence[Fact], names: Names) -> Iterator[str]:
    before = ""
    for fact in facts:
        head, text = _head_and_text(fact, names.who(fact))
        goes_on = head == before and not head.startswith("#-")
        yield f"{_BULLET}{text}" if goes_on else f"{head}: {text}"
        before = head


def _marks_of(fact: Fact, text: str) -> tuple[str, str]:
    """What is said of a line in brackets, and the line without it."""
    mark = _MARKS.get(fact.status, "")
    marks, text = mark, text.removeprefix(mark)
    if text.startswith(_NOTES) and "] " in text:
        note, _, text = text.partition("] ")
        marks += f"{note}] "
    return f" {marks.rstrip()}" if marks else "", text


def _said_again(found: re.Match[str], text: str, *, is_ours: bool) -> Candidate:
    who = found["who"]
    number = int(found["number"]) if is_ours and found["number"] != "-" else 0
    speaker = Speaker.MODEL if who == _ASSISTANT else Speaker.PERSON
    status, note = FactStatus.ACTIVE, ""
    for mark in _MARK.findall(found["marks"]):
        known = next((status for status, written in _MARKS.items() if written == f"{mark} "), None)
        status, note = known or status, note if known else f"{mark} "
    named = f"{who}: {text}" if who not in (_ASSISTANT, _PERSON) else text
    kind = label_of(text) if speaker is Speaker.PERSON and not note else FactKind.STATEMENT
    return _prose(kind, f"{note}{named}", number, speaker, status)


def _prose(kind: FactKind, text: str, seq: int, speaker: Speaker, status: FactStatus) -> Candidate:
    weight = max(1.6, told_by_form(text) * (_OF_THE_MODEL if speaker is Speaker.MODEL else 1.0))
    return Candidate(
        kind,
        text,
        seq,
        speaker=speaker,
        status=status,
        weight=min(_OVER if status in _MARKS else _MOST, weight),
    )


def _of_former(line: str, kind: FactKind, speaker: Speaker) -> Candidate:
    status = FactStatus.ACTIVE
    while marked := next((name for name, mark in _MARKS.items() if line.startswith(mark)), None):
        status, line = marked, line.removeprefix(_MARKS[marked])
    if line.startswith(_FORMER_ASSISTANT):
        kind, speaker, line = FactKind.STATEMENT, Speaker.MODEL, line.removeprefix(_FORMER_ASSISTANT)
    return _prose(kind, line, 0, speaker, status)


def _belongs(fact: Fact, status: FactStatus) -> bool:
    """A status that its kind does not know must not make a fact invisible."""
    known = (
        FactStatus.FAILED if fact.kind is FactKind.ACTION and fact.status is FactStatus.FAILED else FactStatus.ACTIVE
    )
    return known is status


def _candidate(line: str, kind: FactKind, status: FactStatus, seq: int) -> Candidate:
    fields = fields_of(line)
    key = f"failed:{fields.get('tool', '')}" if status is FactStatus.FAILED else ""
    if kind is FactKind.VALUE:
        key = record_key(fields)
    return Candidate(kind, line, seq, key, Speaker.TOOL, status, _WEIGHTS[kind])


def record_key(fields: Fields) -> str:
    """The key of a record that was written down: that of the list it belongs to, or of the thing that it names."""
    name, cell = next(iter(fields.items()), ("", ""))
    if "@" in name:
        return f"part:{name}={cell}"
    return f"entity:{name}={cell}" if _SPECIFIC_ID.search(name) else ""


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
