"""What a tool call established: an action that succeeded, a record of values, a failure, a place. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from bot.compaction.facts import places
from bot.compaction.facts.dates import is_date_like
from bot.compaction.facts.fact import Candidate, Decision, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.records import (
    ID_NAMES,
    MOST_ROWS,
    Fields,
    as_text,
    flattened,
    parsed,
    plain_pairs,
    rows_of,
    words_of_name,
    wrapped_rows,
)
from bot.compaction.facts.speech import clipped
from bot.compaction.grammar import last_name
from bot.estimate.cuts import head_of
from bot.messages import Block, text_of

LONGEST_EXCERPT = 200
"""Characters that are kept of a result that is plain text."""

_LONGEST_RESULT = 400_000
_LONGEST_KEY = 240
_MOST_NAMES = 60
_MOST_PATHS = 10
_SEARCHED_FOR_PATHS = 10_000
"""Characters of a result of plain text in which places are looked for."""
_LONGEST_ASKED = 40
"""Characters of an argument that is written into every row of the answer."""
_LONGEST_ID = 80
_DEEPEST_NAME = 4

_LOOKING = """
get list search find read look lookup fetch query show check view describe calculate compute think recall grep glob ls
cat open browse count inspect status web load retrieve test validate verify
"""
_READS = frozenset(_LOOKING.split())
"""First words of the names of tools that only look."""

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
_ID_NAME = re.compile(rf"(?:^|[_.])(?:{ID_NAMES})\Z", re.IGNORECASE)
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
    value: Any
    """The text as JSON; None if it is none."""
    seq: int

    @classmethod
    def of(cls, call: Block | None, result: Block, seq: int) -> _Answer:
        given = (call or {}).get("input")
        text = head_of(text_of(result.get("content") or ""), _LONGEST_RESULT)
        return cls(
            tool=str((call or {}).get("name") or "tool"),
            arguments=flattened(given) if isinstance(given, Mapping) else {},
            names=tuple(dict.fromkeys(_leaf_names(given)))[:_MOST_NAMES],
            text=text,
            value=parsed(text),
            seq=seq,
        )

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
    if result.get("is_error") or _failed(answer.text, answer.value) or _only_complains(answer):
        yield _failure(answer)
        return
    if answer.is_empty and answer.looks:
        nothing = answer.record(clipped(as_text({"tool": answer.tool, **answer.arguments})), "", 0.0)
        yield replace(nothing, decision=Decision.REJECTED, reason=Reason.LOW_VALUE)
        return
    records = list(_records(answer))
    if not answer.looks:
        yield _action(answer, records)
    yield from records
    if answer.value is None and not _shows_contents(answer):
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
    has_id = isinstance(answer.value, Mapping) and any(_ID_NAME.search(str(name)) for name in answer.value)
    wrapped = wrapped_rows(answer.value) if isinstance(answer.value, Mapping) and not has_id else None
    rows = wrapped[1] if wrapped else rows_of(answer.value)
    if rows:
        yield from _row_candidates(rows, answer)
    elif isinstance(answer.value, Mapping):
        yield from _entity_candidates(answer.value, answer)
    elif answer.looks:
        pairs = plain_pairs(answer.text)
        plain = answer.text if answer.value is None else _listed(answer.value)
        short = len(answer.text) <= LONGEST_EXCERPT
        excerpt = clipped(plain, LONGEST_EXCERPT if short else LONGEST_EXCERPT // 4)
        fields = {"tool": answer.tool, **answer.arguments, **(pairs or {"result": excerpt})}
        weight = 7.0 if pairs else 6.5 if short else 4.0
        yield answer.record(as_text(fields), answer.call_key, weight)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _entity_candidates(value: Mapping[str, Any], answer: _Answer) -> Iterator[Candidate]:
    """An object, and the rows of the lists in it if it has an id that they can be told by."""
    lists: dict[str, list[Mapping[str, Any]]] = {}
    fields = flattened(value, lists)
    identity = _id_in(fields) or (_id_in(answer.arguments) if answer.looks else None)
    if identity is None:
        fields = flattened(value)
    asked = {key: cell for key, cell in answer.arguments.items() if answer.looks and key not in fields}
    named = identity is not None and identity[0] in fields
    key = _entity_key(*identity, answer.noun) if identity and named else answer.call_key
    yield answer.record(as_text({**asked, **fields}), key, 9.0)
    if identity:
        for title, parts in lists.items():
            yield from _part_candidates(parts, title, identity[1], answer)


def _row_candidates(rows: Sequence[Mapping[str, Any]], answer: _Answer) -> Iterator[Candidate]:
    """Each row of a list, with what was asked for where the row itself does not say it."""
    flat = [flattened(row) for row in rows[:MOST_ROWS]]
    id_name = next((key for key in flat[0] if _ID_NAME.search(key)), "")
    unique = bool(id_name) and len({row.get(id_name, "") for row in flat}) == len(flat)
    for row in flat:
        if not row:
            continue
        asked = answer.arguments.items()
        whole = {**row, **{key: cell for key, cell in asked if key not in row and len(cell) <= _LONGEST_ASKED}}
        key = _entity_key(id_name, row[id_name], answer.noun) if unique and id_name in row else _row_key(whole)
        yield answer.record(as_text(whole), key, 7.5)


def _part_candidates(rows: Sequence[Mapping[str, Any]], title: str, owner: str, answer: _Answer) -> Iterator[Candidate]:
    """The rows of a list within a record, each with the id of what it belongs to: ``flights@=7``."""
    for row in rows[:MOST_ROWS]:
        text = as_text({f"{title}@": owner, **flattened(row)})
        yield answer.record(text, f"part:{title}@={owner}", 8.0)


def _id_in(fields: Fields) -> tuple[str, str] | None:
    return next(
        ((name, cell) for name, cell in fields.items() if _ID_NAME.search(name) and len(cell) <= _LONGEST_ID), None
    )


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
