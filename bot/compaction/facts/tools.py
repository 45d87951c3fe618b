"""What a tool call established: an action that succeeded, a record of values, a failure, a place. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from bot.compaction.facts import places
from bot.compaction.facts.brief import has_exact
from bot.compaction.facts.dates import is_date_like
from bot.compaction.facts.fact import Candidate, Decision, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.records import (
    LONGEST_VALUE,
    MOST_ROWS,
    OWNER,
    Fields,
    Row,
    as_text,
    flattened,
    id_in,
    one_line,
    rows_of,
    words_of_name,
)
from bot.compaction.facts.speech import clipped
from bot.compaction.formats import LONGEST, parts_of
from bot.compaction.grammar import last_name
from bot.estimate.cuts import beginning, head_of
from bot.messages import Block, text_of

LONGEST_EXCERPT = 200
"""Characters of a result of plain text that is told whole."""

_MOST_LINES = 60
"""Lines of one result of plain text that become records."""
_LONGEST_KEY = 240
_MOST_NAMES = 60
_MOST_PATHS = 10
_SEARCHED_FOR_PATHS = 10_000
"""Characters of a result of plain text in which places are looked for."""
_LONGEST_ASKED = 40
"""Characters of an argument that is written into every row of the answer."""
_LONGEST_ABOUT = 80
"""Characters of the argument that lines of plain text are told by."""
_DEEPEST_NAME = 4
_FULL, _FEW = 9.0, 8
"""Weight of a row, and rows of one list that weigh as much as one by itself."""
_OF_LINES = 0.7
"""What a line of plain text weighs beside a row."""
_LONGEST_STATE = 10
"""Letters of a word that says how it went: true, success."""

_LOOKING = """
get list search find read look lookup fetch query show check view describe calculate compute think recall grep glob ls
cat open browse count inspect status web load retrieve test validate verify
"""
_READS = frozenset(_LOOKING.split())
"""First words of the names of tools that only look: what they were asked is told with what they found, and not as a
deed. In another language a look is told as a deed besides; nothing is lost by it."""

_COMMANDS = frozenset({"command", "cmd", "script"})
"""Arguments that hold a command."""
_ENDED = re.compile(r"\|\||&&|[;&()\n]")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_COMPLAINT = re.compile(r"(?:(?P<cmdlet>[A-Z][a-z]+-[A-Z]\w{1,40})|(?:\S{0,80}/)?(?P<program>[\w.+-]{1,40})) ?: \S")
_FOOTER = re.compile(r"\s*\[[^\]]*\]\s*")
"""What a tool says of the command behind what it wrote."""
_SHOWING = """
read fetch load open browse retrieve web view cat zcat head tail less more type grep egrep fgrep zgrep rg sed awk
get-content gc strings curl wget jq xargs
"""
_CONTENTS = frozenset(_SHOWING.split())
"""First words of the names of tools, and programs, that show what stands in files."""

_FAILURE = re.compile(
    r"\A\s*(?:\[?(?:error|exception|failure|fatal|panic)\b|traceback \(most recent"
    r"|[\w.]{0,80}(?:error|exception)\b\s*:|(?:command |request |operation )?failed\b|permission denied|no such file"
    r"|not found\b|interrupted, may have run|ошибка|错误)"
    r"|\bexit (?:code|status):? [1-9]|\A\s*(?:HTTP )?[45]\d\d\b [A-Z]",
    re.IGNORECASE,
)
_BAD_STATUS = frozenset({"error", "failed", "failure"})
_ERROR_LINE = re.compile(r"^[\w.]*(?:Error|Exception|error|fatal|panic)\b.*$", re.MULTILINE)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_GENERIC_ID = re.compile(r"\A(?:id|uuid|guid|key|ref|code|slug|reference)\Z", re.IGNORECASE)
_IS_NUMBER = re.compile(r"-?[\d.,]+\Z")


@dataclass(frozen=True)
class _Answer:
    """What a tool was asked, and what it returned."""

    tool: str
    arguments: Fields
    names: tuple[str, ...]
    """Of its arguments, wherever they stand in the input."""
    text: str
    parts: tuple[Any, ...]
    """The text as objects and lists, and as texts where it is neither."""
    seq: int

    @classmethod
    def of(cls, call: Block | None, result: Block, seq: int) -> _Answer:
        given = (call or {}).get("input")
        text = head_of(text_of(result.get("content") or ""), LONGEST)
        return cls(
            tool=str((call or {}).get("name") or "tool"),
            arguments=flattened(given) if isinstance(given, Mapping) else {},
            names=tuple(dict.fromkeys(_leaf_names(given)))[:_MOST_NAMES],
            text=text,
            parts=tuple(parts_of(text)),
            seq=seq,
        )

    @property
    def texts(self) -> list[str]:
        """What of it has no form."""
        return [part for part in self.parts if isinstance(part, str)]

    @property
    def value(self) -> Any:
        """What it returned, if that is one object or list; None for a text."""
        return self.parts[0] if len(self.parts) == 1 and not isinstance(self.parts[0], str) else None

    @property
    def looks(self) -> bool:
        """Whether the tool only looked, by its name."""
        words = words_of_name(self.tool.rsplit("__", 1)[-1])
        return bool(words) and words[0].casefold() in _READS

    @property
    def pipes(self) -> tuple[tuple[str, ...], ...]:
        """The programs of the command that it was given, if any: those of each pipe, by their first words."""
        commands = [text for name, text in self.arguments.items() if name.casefold() in _COMMANDS]
        pipes = ([_first_word(step) for step in pipe.split("|")] for text in commands for pipe in _ENDED.split(text))
        return tuple(programs for pipe in pipes if (programs := tuple(filter(None, pipe))))

    @property
    def is_empty(self) -> bool:
        blank = not any(char.isalnum() for char in self.text.replace("(empty)", ""))
        return self.value in ([], {}) or (self.value is None and blank)

    @property
    def noun(self) -> str:
        """What the tool is about, by its name."""
        return "_".join(words_of_name(self.tool)[1:]) or self.tool

    @property
    def call_key(self) -> str:
        return f"call:{self.tool}:{as_text(self.arguments)}"[:_LONGEST_KEY]

    def record(self, text: str, key: str, weight: float) -> Candidate:
        """Values that it returned."""
        return Candidate(FactKind.VALUE, text, self.seq, key, Speaker.TOOL, weight=weight, names=self.names)


def tool_candidates(call: Block | None, result: Block, seq: int) -> Iterator[Candidate]:
    """What this result of this call establishes. ``call``: None where it is not on the page."""
    answer = _Answer.of(call, result, seq)
    if result.get("is_error") or _only_complains(answer):
        yield _failure(answer)
        return
    if _failed(answer.text, answer.value):
        yield _failure(answer)
        if answer.value is None:  # what failed may be what was asked for: the tests, and where they do
            yield from _line_candidates(answer.texts, answer, only_places=True)
        return
    if answer.is_empty and answer.looks:
        nothing = answer.record(clipped(as_text({"tool": answer.tool, **answer.arguments})), "", 0.0)
        yield replace(nothing, decision=Decision.REJECTED, reason=Reason.LOW_VALUE)
        return
    records = list(_records(answer))
    if not answer.looks:
        yield _action(answer, records)
    yield from records
    if answer.texts and not _shows_contents(answer):
        yield from path_candidates(places.listed_places(head_of(answer.text, _SEARCHED_FOR_PATHS)), seq)


def _first_word(step: str) -> str:
    words = step.split(maxsplit=1)
    return last_name(words[0]).removesuffix(".exe") if words else ""


def _only_complains(answer: _Answer) -> bool:
    """Whether all that a command wrote are lines that begin with the name of a program of it, or of its shell, and a
    colon: so programs say that something went wrong, in whatever language, and whatever the last one's exit code is."""
    programs = {program for pipe in answer.pipes for program in pipe}
    lines = [line for line in answer.text.splitlines() if line.strip() and not _FOOTER.fullmatch(line)]
    return bool(programs and lines) and all(_complains(line, programs | _SHELLS) for line in lines)


def _complains(line: str, programs: Collection[str]) -> bool:
    hit = _COMPLAINT.match(line)
    return hit is not None and (bool(hit["cmdlet"]) or hit["program"].casefold() in programs)


def _shows_contents(answer: _Answer) -> bool:
    """Whether the answer is what stands in a file or on a page: a place named there is nobody's word."""
    words = words_of_name(answer.tool.rsplit("__", 1)[-1])
    shown = {pipe[0] for pipe in answer.pipes} | {"xargs" for pipe in answer.pipes if "xargs" in pipe}
    return bool(words and words[0].casefold() in _CONTENTS) or not shown.isdisjoint(_CONTENTS)


def _action(answer: _Answer, records: Sequence[Candidate]) -> Candidate:
    """What was done, with those arguments that what it returned does not repeat."""
    known = {cell for record in records for cell in _cells_of(record)}
    fresh = {key: cell for key, cell in answer.arguments.items() if cell not in known}
    fields = {"tool": answer.tool, **_identity(records), **fresh}
    if answer.text.strip() and (answer.value is None or not records):
        fields["result"] = clipped(answer.text, LONGEST_EXCERPT // 2)
    key = f"done:{answer.tool}:{as_text(answer.arguments)}"[:_LONGEST_KEY]
    return Candidate(FactKind.ACTION, as_text(fields), answer.seq, key, Speaker.TOOL, weight=9.5, names=answer.names)


def path_candidates(named: Iterable[str], seq: int, speaker: Speaker = Speaker.TOOL) -> Iterator[Candidate]:
    """These places, at most ten; dates are none."""
    for path in islice(dict.fromkeys(named), _MOST_PATHS):
        if not is_date_like(path):
            yield Candidate(FactKind.PATH, path, seq, f"path:{path}", speaker, weight=3.0)


def is_place(text: str) -> bool:
    """Whether a text is a path or URL, and no date that looks like one."""
    return places.is_place(text) and not is_date_like(text)


def _records(answer: _Answer) -> Iterator[Candidate]:
    rows: list[Row] = []
    lines: list[str] = []
    for part in answer.parts:
        if not isinstance(part, str):
            found = (row for row in rows_of(part) if answer.looks or _says_more_than_done(row))
            rows.extend(islice(found, MOST_ROWS - len(rows)))
        elif answer.looks or len(answer.text) > LONGEST_EXCERPT:
            lines.append(part)
    if len(rows) == 1 and list(rows[0].fields) == ["result"]:
        yield answer.record(as_text({"tool": answer.tool, **answer.arguments, **rows[0].fields}), answer.call_key, 6.5)
        return
    yield from _row_candidates(rows, answer)
    if lines and len(answer.text) <= LONGEST_EXCERPT and not rows:
        fields = {"tool": answer.tool, **answer.arguments, "result": clipped(answer.text, LONGEST_EXCERPT)}
        yield answer.record(as_text(fields), answer.call_key, 6.5)
    elif lines:
        yield from _line_candidates(lines, answer)


def _says_more_than_done(row: Row) -> bool:
    """Whether what an action returned holds a value, and not only that it went well."""
    return any(len(cell) > _LONGEST_STATE or not cell.isalpha() for cell in row.fields.values())


def _row_candidates(rows: Sequence[Row], answer: _Answer) -> Iterator[Candidate]:
    """Each row, with what was asked for where it does not say it itself, or with the id of what it belongs to."""
    groups: dict[tuple[str, tuple[str, ...]], list[Fields]] = {}
    for row in rows:
        groups.setdefault((row.title, tuple(row.fields)), []).append(row.fields)
    names = {key: _telling_name(fields) for key, fields in groups.items()}
    asked = answer.arguments if answer.looks else {}
    for row in rows:
        shape = row.title, tuple(row.fields)
        cell = row.fields.get(names[shape], "")
        key = _entity_key(names[shape], cell, answer.noun) if cell else ""
        short = {name: told for name, told in asked.items() if name not in row.fields and len(told) <= _LONGEST_ASKED}
        if row.owner:
            about = f"{row.title}{OWNER}"
            yield answer.record(
                as_text({about: row.owner, **row.fields}), f"part:{about}={row.owner}", _weight(row.count)
            )
        elif row.title or row.count > 1 or len(groups[shape]) > 1:
            whole = row.fields | short
            yield answer.record(as_text(whole), key or _row_key(whole), _weight(max(row.count, len(groups[shape]))))
        else:
            whole = row.fields | short if cell else short | row.fields
            yield answer.record(as_text(whole), key or answer.call_key, _FULL)


def _weight(count: int) -> float:
    """What a row among so many weighs: of a long list later calls need a few, of a thing by itself that one."""
    return _FULL * float((_FEW / max(_FEW, count)) ** 0.5)


def _telling_name(rows: Sequence[Fields]) -> str:
    """The name by which rows of one shape can be told apart; empty if there is none."""
    own = id_in(rows[0])
    return own[0] if own and len({row.get(own[0], "") for row in rows}) == len(rows) else ""


def _line_candidates(texts: Sequence[str], answer: _Answer, *, only_places: bool = False) -> Iterator[Candidate]:
    """The lines of a plain text that hold what nobody could guess, and the first one; of very many those that are
    indented least. Each is told with what was asked for."""
    lines = [line for text in texts for line in _lines_of(text)]
    told = [
        line for at, line in enumerate(lines) if not (at or only_places) or has_exact(line, only_places=only_places)
    ]
    if len(told) > _MOST_LINES:
        indents = sorted(len(line) - len(line.lstrip()) for line in told)
        most = indents[_MOST_LINES]
        told = [line for line in told if len(line) - len(line.lstrip()) <= most][:_MOST_LINES]
    about = next((one_line(cell) for cell in answer.arguments.values() if cell), answer.tool)
    for line in told:
        fields = {f"result{OWNER}": beginning(about, _LONGEST_ABOUT), "line": " ".join(line.split())}
        yield answer.record(as_text(fields), "", _weight(len(told)) * _OF_LINES)


def _lines_of(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) <= LONGEST_VALUE:
            if any(map(str.isalnum, line)):
                yield line.rstrip()
            continue
        for sentence in islice(_SENTENCE_ENDS.split(line), MOST_ROWS):
            yield beginning(sentence, LONGEST_VALUE)


def _failure(answer: _Answer) -> Candidate:
    """The last line of an error that says something, in place of a whole stack trace."""
    lines = _ERROR_LINE.findall(answer.text[-4_000:]) or answer.text.strip().splitlines()[:1]
    error = clipped(lines[-1] if lines else "failed", LONGEST_EXCERPT)
    return Candidate(
        FactKind.ACTION,
        as_text({"tool": answer.tool, **answer.arguments, "error": error}),
        answer.seq,
        f"failed:{answer.tool}",
        Speaker.TOOL,
        FactStatus.FAILED,
        weight=6.0,
        names=answer.names,
    )


def _failed(text: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        said = value.get("error") or value.get("errors")
        stated = value.get("success", value.get("ok", True))
        return bool(said) or stated is False or str(value.get("status", "")).casefold() in _BAD_STATUS
    return value is None and bool(_FAILURE.search(text[:2_000]))


def _identity(records: Sequence[Candidate]) -> Fields:
    """The id of the thing that an action made or changed."""
    for record in records[:1]:
        if record.key.startswith("entity:"):
            name, _, cell = record.key.removeprefix("entity:").partition("=")
            return {name.rsplit("/", 1)[-1]: cell}
    return {}


def _entity_key(name: str, cell: str, noun: str) -> str:
    """Ids are compared by their names; where the name says nothing, by what the tool is about."""
    return f"entity:{noun}/{name}={cell}" if _GENERIC_ID.match(name) else f"entity:{name}={cell}"


def _row_key(fields: Fields) -> str:
    """Rows that differ in numbers alone are one row at two times."""
    return "row:" + as_text({name: cell for name, cell in fields.items() if not _IS_NUMBER.match(cell)})[:_LONGEST_KEY]


def _cells_of(record: Candidate) -> set[str]:
    return {part.partition("=")[2] for part in record.text.split("\t")}


def _leaf_names(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, Mapping | list) and depth < _DEEPEST_NAME:
                yield from _leaf_names(item, depth + 1)
            else:
                yield str(name)
    elif isinstance(value, list):
        for item in value[:3]:
            yield from _leaf_names(item, depth + 1)
