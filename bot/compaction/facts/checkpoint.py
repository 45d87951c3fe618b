"""The checkpoint: facts as the text that a model reads, and that text as facts again. Pure.

What was said is one list in the order in which it was said, each line word for word behind the number of its message
and whose it is, a person's or the assistant's; ``- `` goes on with the same message. Where several people talk, a name
stands before the words, as in the message. Records are tables: a line ``> name<tab>name``, then a row for each; one
that has only the first of these names ends there, and an empty cell repeats the one above it. What calls were given,
and no row tells, is one line a name, whatever tool it was given to: ``- city=San Jose<tab>Fremont``; a value of several
lines goes on below. What a later compaction reads back it merges like anything else that was found (FEATURES A7).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from bot.compaction.coverage import tells
from bot.compaction.facts.fact import PART, Candidate, Fact, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.records import OWNER, SEPARATOR, Fields, as_text, fields_of, is_generic, is_id_name
from bot.compaction.facts.speech import LEAST
from bot.compaction.facts.tools import as_given, given_candidates
from bot.compaction.quotes import note_and_words
from bot.compaction.sentences import asks

HEADING = "# Memory checkpoint"
"""What begins so in an entry that a layer inserted is one."""
OPENING = "From hidden messages"
SECTION = "## "
END = f"{SECTION}End"

_SAID, _DONE, _GIVEN = "Said", "Done", "Given"
_SECTIONS = {
    _DONE: (FactKind.ACTION, FactStatus.ACTIVE),
    "Failed": (FactKind.ACTION, FactStatus.FAILED),
    "Records": (FactKind.VALUE, FactStatus.ACTIVE),
    "Places": (FactKind.PATH, FactStatus.ACTIVE),
    _GIVEN: (FactKind.GIVEN, FactStatus.ACTIVE),
}
"""What stands in each but the first."""
_TITLES = {what: title for title, what in _SECTIONS.items()}
_PERSON, _ASSISTANT = "person", "assistant"
_MARKS = {FactStatus.DONE: "[done] ", FactStatus.CANCELLED: "[cancelled] ", FactStatus.REPLACED: "[earlier] "}
_STATUS = {mark.strip(): status for status, mark in _MARKS.items()}
_BULLET, _COLUMNS = "- ", "> "
_HEAD = (
    r"#(?:(?P<number>\d{1,12})|-) (?P<who>[^:\[\]\n]{1,60}?)(?: (?P<mark>\[(?:done|cancelled|earlier)\]))?"
    r"(?: (?P<note>\[[^\[\]\n]{1,300}\]))?:"
)
_MESSAGE = re.compile(rf"^{_HEAD} (?P<text>\S.*(?:\n- .*)*)", re.MULTILINE)
_BEGINS = re.compile(r"(?:\A|\n)##+ ")
"""A section does so, also below a summary, where headings are one deeper."""
_NO_ROW = re.compile(rf"[->] |##+ |{_HEAD}")
"""How no row begins: as another line of a checkpoint does."""
_ENDS = re.compile(rf"(?<=\n{END})\n|\n\n|\n(?=\[The rest of this was left out\.\])")
"""Behind a checkpoint. Those of earlier versions have no last line; but none has an empty one."""
_CELL = re.compile(r"[\t\n=]")


def apart(text: str) -> tuple[str, str]:
    """A text that begins with a checkpoint as the checkpoint and what follows it."""
    checkpoint, *words = _ENDS.split(text, maxsplit=1)
    return checkpoint, "".join(words).strip()


def rendered(facts: Iterable[Fact]) -> str:
    """The checkpoint of these facts, each with its ``text``; without any, only its frame."""
    sections: dict[str, list[Fact]] = {title: [] for title in (_SAID, *_SECTIONS)}
    for fact in facts:  # also one of a status that its kind does not know
        title = _TITLES.get((fact.kind, fact.status)) or _TITLES.get((fact.kind, FactStatus.ACTIVE), _SAID)
        sections[title].append(fact)
    said, given = sections.pop(_SAID), sections.pop(_GIVEN)
    lines = [f"{SECTION}{_SAID}: the last line about a thing holds", *_said(said)] if said else []
    for title, own in sections.items():
        lines += [f"{SECTION}{title}", *_tables(own)] if own else []
    values, told = defaultdict[str, list[str]](list), set(_CELL.split("\n".join(lines)))
    for fact in given:
        name, _, value = fact.text.partition("=")
        if value not in told:
            values[_clean(name)].append(as_given(value))
    calls = [f"{_BULLET}{name}={SEPARATOR.join(own)}" for name, own in values.items()]
    lines += [f"{SECTION}{_GIVEN}", *calls] if calls else []
    is_over = sections[_DONE] or any(fact.status in (FactStatus.DONE, FactStatus.CANCELLED) for fact in said)
    opening = f"{OPENING}, word for word."
    opening += " Do not repeat what is done or cancelled." if is_over else ""
    opening += " An empty cell repeats the one above." if any(line.startswith(_COLUMNS) for line in lines) else ""
    return "\n".join((HEADING, opening, *lines, END))


def line_of(fact: Fact) -> str:
    """A fact of which a section has a line, by itself."""
    return next(_said([fact])) if fact.kind.is_prose else f"{_BULLET}{_clean(fact.text)}"


def facts_in(text: str, seq: int) -> Iterator[Candidate]:
    """The facts of a checkpoint, or of the sections of one below a summary, as candidates of the entry that holds it;
    what was said, of the entries in which it was. A section ends with an empty line at last."""
    for section in _BEGINS.split(text)[1:]:
        heading, _, body = _ENDS.split(section, maxsplit=1)[0].partition("\n")
        title = heading.partition(":")[0]
        if title == _SAID:
            yield from _said_in(body, seq)
        elif title == _GIVEN:  # no line of a value begins as the line of another name does
            for line in body.removeprefix(_BULLET).split(f"\n{_BULLET}"):
                name, _, values = line.partition("=")
                for value in values.split(SEPARATOR):
                    yield from given_candidates({name: value}, seq)
        elif title in _SECTIONS:
            yield from (_candidate(record, *_SECTIONS[title], seq) for record in _records_in(body.split("\n")))


def _said(facts: Iterable[Fact]) -> Iterator[str]:
    before = ""
    for fact in facts:
        mark, number = _MARKS.get(fact.status, ""), fact.last
        note, words = note_and_words(_clean(fact.text).removeprefix(mark))
        who = _ASSISTANT if fact.speaker is Speaker.MODEL else _PERSON
        head = f"#{number or '-'} {who} {mark}{note}".rstrip()
        yield f"{_BULLET}{words}" if number and head == before else f"{head}: {words}"
        before = head


def _said_in(section: str, seq: int) -> Iterator[Candidate]:
    """Numbers that are none of this history (it was renumbered since) are dropped."""
    messages, asked = list(_MESSAGE.finditer(section)), False
    is_ours = all(int(found["number"] or 0) < seq for found in messages)
    for found in messages:
        who, before = found["who"], f"{found['note']} " if found["note"] else ""
        if who not in (_PERSON, _ASSISTANT):  # earlier versions wrote names here, and no longer before the words
            before += f"{who}: "
        speaker = Speaker.MODEL if who == _ASSISTANT else Speaker.PERSON
        number, status = int(found["number"] or 0) if is_ours else 0, _STATUS.get(found["mark"], FactStatus.ACTIVE)
        for words in found["text"].split(f"\n{_BULLET}"):
            is_remark = number and who == _PERSON and not before and not asked and tells(words) < LEAST
            reason = Reason.LOW_VALUE if is_remark else Reason.NEW
            yield Candidate(FactKind.STATEMENT, before + words, number, speaker=speaker, status=status, reason=reason)
            asked = asks(words)


def _tables(facts: Iterable[Fact]) -> Iterator[str]:
    """Records of one shape together, also those that have only its first names; in the order of their oldest one. What
    fits in no table has no shape. A cell like the one above it is empty."""
    rows = [fields_of(_clean(fact.text)) if fact.kind.is_record else {"": _clean(fact.text)} for fact in facts]
    fit = (all(row) and all(row.values()) and not _NO_ROW.match(next(iter(row.values()))) for row in rows)
    shapes = [tuple(row) if fits else () for row, fits in zip(rows, fit, strict=True)]
    wider = {names[:count]: names for names in sorted(shapes, key=len) for count in range(1, len(names) + 1)}
    tables: dict[tuple[str, ...], list[Fields]] = defaultdict(list)
    for at, (row, names) in enumerate(zip(rows, shapes, strict=True)):
        tables[wider.get(names, ("", str(at)))].append(row)
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


def _records_in(lines: Iterable[str]) -> Iterator[str]:
    """Each as a line of its own."""
    above: dict[str, str] = {}
    for line in lines:
        if line.startswith(_COLUMNS):
            above = dict.fromkeys(line.removeprefix(_COLUMNS).split(SEPARATOR), "")
        elif line.startswith(_BULLET):
            yield line.removeprefix(_BULLET)
        elif above:
            row = dict(zip(above, line.split(SEPARATOR), strict=False))
            above |= {name: cell for name, cell in row.items() if cell}
            yield as_text({name: above[name] for name in row})


def _candidate(line: str, kind: FactKind, status: FactStatus, seq: int) -> Candidate:
    name, cell = next(iter(fields_of(line).items()))
    key = ""
    if status is FactStatus.FAILED:
        key = f"failed:{cell}"
    elif kind is FactKind.PATH:
        key = f"path:{line}"
    elif OWNER in name:
        key = f"{PART}{name}={cell}"
    elif kind is FactKind.VALUE and is_id_name(name) and not is_generic(name):
        key = f"entity:{name}={cell}"
    return Candidate(kind, line, seq, key, Speaker.TOOL, status)


def _clean(text: str) -> str:
    """In one line, whatever it came from: nothing in a fact may look like another line of the checkpoint."""
    return SEPARATOR.join(" ".join(part.split()) for part in text.split(SEPARATOR))
