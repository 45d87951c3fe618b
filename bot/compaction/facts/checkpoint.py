"""The checkpoint: facts as the text that a model reads, and that text as facts again. Pure.

What was said is one list in the order in which it was said, each line word for word behind the number of its message
and who said it; ``- `` goes on with the same message. Records are tables: a line ``> name<tab>name``, then a row for
each; one that has only the first of these names ends there, and an empty cell repeats the one above it. What calls
were given, and no row tells, is one line a name (:mod:`bot.compaction.facts.given`). What a later compaction reads back
it merges like anything else that was found (FEATURES A7).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bot.compaction.facts.fact import PART, PROSE, RECORDS, Candidate, Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.given import given_in, given_lines, lines_of
from bot.compaction.facts.records import SEPARATOR, Fields, as_text, fields_of, is_generic, is_id_name, list_of
from bot.compaction.facts.speech import label_of
from bot.compaction.quotes import is_note, note_and_words

Names = Mapping[int | Fact, str]
"""Who wrote a message, by its number; a line that has none, by itself."""

HEADING = "# Memory checkpoint"
OPENING = "From hidden messages"
_OF_WORDS = ", word for word: the last line about a thing holds"
_OF_THE_PAST = " Do not repeat what is done or cancelled."
_OF_TABLES = " An empty cell repeats the one above."

SAID, DONE, GIVEN = "## Said", "## Done", "## Given"
_SECTIONS = {
    DONE: (FactKind.ACTION, FactStatus.ACTIVE),
    "## Failed": (FactKind.ACTION, FactStatus.FAILED),
    "## Records": (FactKind.VALUE, FactStatus.ACTIVE),
    GIVEN: (FactKind.GIVEN, FactStatus.ACTIVE),
    "## Places": (FactKind.PATH, FactStatus.ACTIVE),
}
"""What stands in each."""
_TITLES = {kind: title for title, (kind, _) in _SECTIONS.items()}
_PERSON, _ASSISTANT = "person", "assistant"
_MARKS = {FactStatus.DONE: "[done] ", FactStatus.CANCELLED: "[cancelled] ", FactStatus.REPLACED: "[earlier] "}
_STATUS = {mark.strip(): status for status, mark in _MARKS.items()}
_BULLET, _COLUMNS, _SECTION = "- ", "> ", "## "
_HEAD = r"#(?P<number>\d{1,12}|-) (?P<who>[^:\[\]\n]{1,60}?)(?P<marks>(?: \[[^\[\]\n]{1,300}\]){0,4}):"
_LINE = re.compile(rf"{_HEAD} (?P<text>\S.*)")
_NO_ROW = re.compile(rf"[->] |##+ |{_HEAD}")
"""How no row begins: as another line of a checkpoint does, also below a summary, where headings are one deeper."""
_MARK = re.compile(r" (\[[^\[\]]+\])")
_NAMED = re.compile(r"(?P<who>[^:\[\]\n]{1,60}): (?=\S)")
"""How a message begins where several people write: with who it is."""
_NEARLY_ALL = 0.7


def is_checkpoint(text: str) -> bool:
    """Whether a text is one that :func:`rendered` wrote."""
    return text.startswith(HEADING)


def apart(text: str) -> tuple[str, str]:
    """A text that begins with a checkpoint as the checkpoint and what follows it: from a blank line on, or from a line
    that is none of a checkpoint. A row that ends early is one if a whole one follows it."""
    lines = lines_of(text)
    end, columns, title = 2, 0, ""
    for at, line in enumerate(lines[end:], start=end):
        cells = line.count(SEPARATOR) + 1
        if line.startswith(_COLUMNS):
            columns = cells
        elif line.startswith(_SECTION):
            columns, title = 0, line
        elif line.startswith(_BULLET) or (title == SAID and _LINE.fullmatch(line)):
            columns = 0
        elif not line or cells > columns:
            break
        elif cells < columns:
            continue
        end = at + 1
    length = len("\n".join(lines[:end]))
    return text[:length], text[length:].strip()


def rendered(facts: Sequence[Fact], names: Names | None = None) -> str:
    """The checkpoint of these facts, each with its ``text``; without any, only the heading. ``names``: who wrote a
    message, where there are several people."""
    sections: dict[str, list[Fact]] = {title: [] for title in (SAID, *_SECTIONS)}
    for fact in facts:
        sections[_section_of(fact)].append(fact)
    said, given = sections.pop(SAID), sections.pop(GIVEN)
    lines = [SAID, *_said(said, names_in(said) if names is None else names)] if said else []
    for title, own in sections.items():
        lines += [title, *_tables(own)] if own else []
    calls = [f"{_BULLET}{line}" for line in given_lines(given, "\n".join(lines))]
    is_over = sections[DONE] or any(fact.status in (FactStatus.DONE, FactStatus.CANCELLED) for fact in facts)
    has_tables = any(line.startswith(_COLUMNS) for line in lines)
    opening = f"{OPENING}{_OF_WORDS * bool(said)}.{_OF_THE_PAST * bool(is_over)}{_OF_TABLES * has_tables}"
    return "\n".join((HEADING, opening, *lines, *([GIVEN, *calls] if calls else ())))


def line_of(fact: Fact, names: Names) -> str:
    """A fact as a line of its own."""
    return ": ".join(_head_and_text(fact, names)) if fact.kind in PROSE else f"{_BULLET}{_clean(fact.text)}"


def _head_and_text(fact: Fact, names: Names) -> tuple[str, str]:
    mark = _MARKS.get(fact.status, "")
    note, words = note_and_words(_clean(fact.text).removeprefix(mark))
    who = _ASSISTANT if fact.speaker is Speaker.MODEL else _PERSON
    if names and fact.speaker is Speaker.PERSON and (name := names.get(_number(fact) or fact, "")):
        who, words = _PERSON if name == _ASSISTANT else name, words.removeprefix(f"{name}: ")
    return f"#{_number(fact) or '-'} {who} {mark}{note}".rstrip(), words


def names_in(facts: Iterable[Fact]) -> Names:
    """By message, who wrote it, where several people talk: nearly all messages of people begin with one of several
    names then, behind what they quote, which may begin with another's. Elsewhere nobody is named. Of a message without
    a number each line is one."""
    first: dict[int | Fact, str] = {}
    for fact in facts:
        if fact.kind in PROSE and fact.speaker is Speaker.PERSON and not is_note(fact.text):
            first.setdefault(_number(fact) or fact, _name_in(fact))
    named = {message: name for message, name in first.items() if name}
    is_group = len(set(named.values())) > 1 and len(named) >= _NEARLY_ALL * len(first)
    return named if is_group else {}


def _number(fact: Fact) -> int:
    """Of the message that it was said in; 0 where that is not known."""
    return max(fact.seqs[-1], 0) if fact.seqs else 0


def _name_in(fact: Fact) -> str:
    found = _NAMED.match(fact.text)
    return found["who"] if found else ""


def facts_in(text: str, seq: int) -> Iterator[Candidate]:
    """The facts of a checkpoint, as candidates of the entry that holds it; what was said, of the entries in which it
    was. Numbers that are none of this history (it was renumbered since) are dropped."""
    title, columns, above = "", list[str](), list[str]()
    said = text.partition(f"\n{SAID}\n")[2].partition(f"\n{_SECTION}")[0]
    numbers = [int(number) for number in re.findall(r"^#(\d{1,12}) ", said, re.MULTILINE)]
    is_ours = all(number < seq for number in numbers)
    last: re.Match[str] | None = None
    for line in lines_of(text):
        if line.startswith(_SECTION):
            title, columns, last = line, [], None
        elif title == SAID:
            found = _LINE.fullmatch(line)
            last = found or last
            if last is not None and (found or line.startswith(_BULLET)):
                yield _said_again(last, found["text"] if found else line.removeprefix(_BULLET), is_ours=is_ours)
        elif title not in _SECTIONS:
            continue
        elif line.startswith(_COLUMNS):
            columns = line.removeprefix(_COLUMNS).split(SEPARATOR)
            above = [""] * len(columns)
        elif line.startswith(_BULLET):
            columns = []
            yield from _candidates(line.removeprefix(_BULLET), title, seq)
        elif columns:
            cells = [cell or up for cell, up in zip(line.split(SEPARATOR), above, strict=False)]
            above[: len(cells)] = cells
            yield from _candidates(as_text(dict(zip(columns, cells, strict=False))), title, seq)


def _said(facts: Sequence[Fact], names: Names) -> Iterator[str]:
    before = ""
    for fact in facts:
        head, text = _head_and_text(fact, names)
        goes_on = head == before and not head.startswith("#-")
        yield f"{_BULLET}{text}" if goes_on else f"{head}: {text}"
        before = head


def _said_again(found: re.Match[str], text: str, *, is_ours: bool) -> Candidate:
    who = found["who"]
    number = int(found["number"]) if is_ours and found["number"] != "-" else 0
    status, note = FactStatus.ACTIVE, ""
    for mark in _MARK.findall(found["marks"]):
        status, note = _STATUS.get(mark, status), note if mark in _STATUS else f"{mark} "
    told = f"{note}{text}" if who in (_ASSISTANT, _PERSON) else f"{note}{who}: {text}"
    speaker = Speaker.MODEL if who == _ASSISTANT else Speaker.PERSON
    kind = label_of(text) if speaker is Speaker.PERSON and not note else FactKind.STATEMENT
    return Candidate(kind, told, number, speaker=speaker, status=status)


def _section_of(fact: Fact) -> str:
    """A status that its kind does not know must not make a fact invisible."""
    is_deed = fact.kind is FactKind.ACTION and fact.status is not FactStatus.FAILED
    return DONE if is_deed else _TITLES.get(fact.kind, SAID)


def _candidates(line: str, title: str, seq: int) -> Iterator[Candidate]:
    if title == GIVEN:
        yield from given_in(line, seq)
        return
    kind, status = _SECTIONS[title]
    fields = fields_of(line)
    name, cell = next(iter(fields.items()))
    key = ""
    if status is FactStatus.FAILED:
        key = f"failed:{cell}"
    elif kind is FactKind.PATH:
        key = f"path:{line}"
    elif listed := list_of(fields):
        key = f"{PART}{listed}"
    elif kind is FactKind.VALUE and is_id_name(name) and not is_generic(name):
        key = f"entity:{name}={cell}"
    yield Candidate(kind, line, seq, key, Speaker.TOOL, status)


def _tables(facts: Iterable[Fact]) -> Iterator[str]:
    """Records of one shape together, also those that have only its first names; in the order of their oldest one. A
    cell like the one above it is empty."""
    rows = [fields_of(_clean(fact.text)) if fact.kind in RECORDS else {"": _clean(fact.text)} for fact in facts]
    shapes = sorted(dict.fromkeys(tuple(row) for row in rows if _fits_a_table(row)), key=len)
    wider = {names[:count]: names for names in shapes for count in range(1, len(names) + 1)}
    tables: dict[tuple[str, ...], list[Fields]] = defaultdict(list)
    for at, row in enumerate(rows):
        tables[wider[tuple(row)] if _fits_a_table(row) else ("", str(at))].append(row)
    for names, own in tables.items():
        if len(own) == 1:
            yield f"{_BULLET}{as_text(own[0])}"
            continue
        yield _COLUMNS + SEPARATOR.join(names)
        above: Fields = {}
        for row in sorted(own, key=len):
            if not row.items() <= above.items():
                yield SEPARATOR.join("" if above.get(name) == cell else cell for name, cell in row.items())
            above = row


def _fits_a_table(fields: Fields) -> bool:
    first = next(iter(fields.values()))
    return all(fields) and all(fields.values()) and not _NO_ROW.match(first)


def _clean(text: str) -> str:
    """In one line, whatever it came from: nothing in a fact may look like another line of the checkpoint."""
    return SEPARATOR.join(" ".join(part.split()) for part in text.split(SEPARATOR))
