"""What a tool call established: what it was given, an action that succeeded, values, a failure, places. Pure.

A value that a call was given is often given to a later one. In rows it would stand behind the same names again and
again; so it is a fact of its own, ``city=San Jose``, under the name under which it was given last, with its blanks and
line breaks, since a call takes it only so: code that an edit replaces, a command.
What a tool returned becomes rows: nested objects are flattened to the shortest names that tell them apart, and each
list of objects in an object is rows of their own, with the id of what they belong to, however deep: ``items@=W7``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from hashlib import blake2s
from itertools import chain, islice
from typing import Any

from bot.compaction.facts.fact import OF_A_CALL, PART, Candidate, Fact, FactKind, FactStatus, Reason, Speaker
from bot.compaction.facts.records import OWNER, Fields, as_text, fields_of, id_in, is_generic, words_of_name
from bot.compaction.formats import LONGEST, is_too_deep, parts_of
from bot.compaction.grammar import last_name
from bot.compaction.places import listed_places
from bot.compaction.sentences import sentences_in
from bot.estimate import cuts
from bot.messages import Block, text_of

RUN_AS = "[Run with what memory knows: "
"""What a result says below it where the memory gate changed the command; that is no news."""
_LONGEST, _LONGEST_GIVEN, _LONGEST_ASKED = 240, 100, 80
"""Characters of a value, of one in one line that may be given again as it is (a longer one is a text, and stands in
rows), and of one that is written into every row of the answer."""
_LONGEST_TOLD, _LONGEST_KEY, _LONGEST_SEARCHED = 200, 240, 10_000
"""Characters of a plain text that is told whole, of arguments that tell a call from others as they stand (longer ones
do by a digest), and of a plain text in which places are looked for."""
_MOST_ROWS, _MOST_LINES, _MOST_PATHS = 400, 60, 10
"""Of one result: the first of them."""
_MOST_GIVEN, _MOST_OF_A_LIST = 60, 20
"""Values of one call, and of one list: the first of them. Of a table that is handed over no cell is given again."""
_DEEPEST, _KEPT = 12, 4_096
_IN_A_LINE = r"[^\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]*"
_GOES_ON = r"\n(?: {4,}\S| {1,3}[^\s#]|(?:[^\W\d]|[)\]}])(?![^\n\t]{0,60}(?::(?:\s|\Z)|：)))"
_LETTER_BY_LETTER = re.compile(rf" *\S{_IN_A_LINE}(?:{_GOES_ON}{_IN_A_LINE})*")
"""No line of it but the first begins as a line of a checkpoint does, as a heading, or as somebody's words: behind a
name of up to 60 characters these have a colon. Any other value stands in one line."""
_READS = re.compile(
    "get|list|search|find|read|look|lookup|fetch|query|show|check|view|describe|calculate|compute|think|recall|grep|glob"
    "|ls|cat|open|browse|count|inspect|status|web|load|retrieve|test|validate|verify"
)
"""First words of the names of tools that only look: what they were asked is told with what they found, and not as a
deed. In another language a look is told as a deed besides; nothing is lost by it."""
_SHOWS = re.compile(
    "read|fetch|load|open|browse|retrieve|web|view|z?cat|head|tail|less|more|type|[efz]?grep|rg|sed|awk|get-content|gc"
    "|strings|curl|wget|jq|xargs"
)
"""First words of the names of tools, and programs, that show what stands in files."""
_PROGRAM = re.compile(r"(?:\A|\|\||[;&()\n]|(?=\bxargs\b))\s*([^\s;&()|]+)")
"""With what a command begins, or what `xargs` gives files to."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_COMPLAINT = re.compile(r"(?:(?P<cmdlet>[A-Z][a-z]+-[A-Z]\w{1,40})|(?:\S{0,80}/)?(?P<program>[\w.+-]{1,40})) ?: \S")
_FOOTER = re.compile(r"\s*\[[^\]]*\]\s*")
"""What a tool says of the command behind what it wrote."""
_FAILURE = re.compile(
    r"\s*(?:\[?(?:error|exception|failure|fatal|panic)\b|traceback \(most recent"
    r"|[\w.]{0,80}(?:error|exception)\b\s*:|(?:command |request |operation )?failed\b|permission denied|no such file"
    r"|not found\b|interrupted, may have run|ошибка|错误|(?:HTTP )?[45]\d\d\b [A-Z])",
    re.IGNORECASE,
)
_EXITED = re.compile(r"\b[eE](?i:xit (?:code|status)):? [1-9]")
"""What a failure begins with, and what it says of how it ended."""
_ERROR_LINE = re.compile(r"^[\w.]*(?:Error|Exception|error|fatal|panic)\b.*$", re.MULTILINE)
_EXACT = re.compile(
    r"(?<!\S)(?=\S*\d)\S*[^\W\d]|\d{3}|[@_/\\]|[a-zß-ÿа-я][A-ZÀ-ÞА-Я]|\b[A-ZА-Я]{3,}\b|\.\w{1,4}(?=\W*(?:\s|\Z))"
)
"""What nobody could guess: digits, points, lines or capitals within words."""
_IS_KEY = re.compile(r"(?![^\W\d]+_?\d\Z)(?:\W{0,3}\d+\Z|(?=.*\d)[\w.:@#-]{4,80}\Z)")
_NO_NAME = re.compile(r"[^\w@.-]+")
_PLACE = re.compile(r"[/\\]\S*\w|\w\.[a-z]\w{0,4}\b(?::\d+)?")


class _Answer:
    """What a tool was asked, and what it returned. ``verb``: what the tool does, by its name; ``looks``: nothing but
    that; ``programs``: those of the command that it was given, if any, that do not read what another one wrote."""

    def __init__(self, call: Block, result: Block, seq: int) -> None:
        given = call.get("input")
        self.seq, self.tool = seq, str(call.get("name") or "tool")
        self.given = given if isinstance(given, dict) and not is_too_deep(given) else {}
        self.arguments = _record(list(_leaves(self.given)))
        self.text = cuts.head_of(text_of(result.get("content") or "").rsplit(f"\n{RUN_AS}", 1)[0], LONGEST)
        self.verb = "".join(words_of_name(self.tool.rsplit("__", 1)[-1])[:1]).casefold()
        self.looks = bool(_READS.fullmatch(self.verb))
        commands = (text for name, text in self.arguments.items() if name.casefold() in ("command", "cmd", "script"))
        programs = chain.from_iterable(map(_PROGRAM.findall, commands))
        self.programs = {last_name(program).removesuffix(".exe") for program in programs}

    @cached_property
    def parts(self) -> list[Any]:
        """The text as objects and lists, and as texts where it is neither."""
        return list(parts_of(self.text))

    @property
    def texts(self) -> list[str]:
        """What of it has no form."""
        return [part for part in self.parts if isinstance(part, str)]

    @cached_property
    def call(self) -> str:
        """What is the same for calls of this tool with the same arguments alone."""
        whole = json.dumps(self.given, default=str)
        is_short = len(whole) <= _LONGEST_KEY
        asked = as_text(self.arguments) if is_short else blake2s(whole.encode(), digest_size=16).hexdigest()
        return f"{self.tool}:{asked}"

    def record(self, fields: Fields, key: str = "", kind: FactKind = FactKind.VALUE) -> Candidate:
        """Values that it returned, or of another ``kind``. Without a ``key`` they are this call's."""
        return Candidate(kind, as_text(fields), self.seq, key or f"{OF_A_CALL}{self.call}", Speaker.TOOL)


def tool_candidates(call: Block, result: Block, seq: int, *, is_old: bool = False) -> Iterator[Candidate]:
    """What this result of this call establishes. ``call``: empty where it is not on the page. ``is_old``: there is more
    than can be kept of what was only looked at since."""
    answer = _Answer(call, result, seq)
    yield from given_candidates(answer.given, seq)  # also where it failed: the next try is given the rest again
    if is_old and answer.looks:
        return
    is_error = bool(result.get("is_error")) or _only_complains(answer)
    if is_error or _failed(answer):
        yield _failure(answer)
        if not is_error:  # what failed may be what was asked for: the tests, and where they do
            yield from _line_candidates(answer, only_places=True)
        return
    records = list(_records(answer))
    if not answer.looks:
        yield _action(answer, records)
    yield from records
    shows = any(map(_SHOWS.fullmatch, (answer.verb, *answer.programs)))
    if answer.texts and not shows:  # what stands in a file or on a page is nobody's word
        yield from path_candidates(listed_places(cuts.head_of(answer.text, _LONGEST_SEARCHED)), seq)


def path_candidates(
    named: Iterable[str], seq: int, speaker: Speaker = Speaker.TOOL, reason: Reason = Reason.NEW
) -> Iterator[Candidate]:
    """These places, at most ten; with another ``reason`` each is rejected, so that one can read why it is no place."""
    for path in islice(dict.fromkeys(named), _MOST_PATHS):
        yield Candidate(FactKind.PATH, path, seq, f"path:{path}", speaker, reason=reason)


def _only_complains(answer: _Answer) -> bool:
    """Whether all that a command wrote are lines that begin with the name of a program of it, or of its shell, and a
    colon: so programs say that something went wrong, in whatever language, and whatever the last one's exit code is."""
    programs = answer.programs | _SHELLS
    lines = (line for line in answer.text.splitlines() if line.strip() and not _FOOTER.fullmatch(line))
    hits = [_COMPLAINT.match(line) for line in lines] if answer.programs else []
    return any(hits) and all(hit and (hit["cmdlet"] or hit["program"].casefold() in programs) for hit in hits)


def _failed(answer: _Answer) -> bool:
    match answer.parts:
        case [Mapping() as value]:
            is_refused = value.get("success", value.get("ok")) is False
            is_bad = str(value.get("status")).casefold() in ("error", "failed", "failure")
            return is_refused or is_bad or bool(value.get("error") or value.get("errors"))
        case [list()]:
            return False
    return bool(_FAILURE.match(answer.text) or _EXITED.search(answer.text[:2_000]))


def _failure(answer: _Answer) -> Candidate:
    """The last line of an error that says something, in place of a whole stack trace."""
    first = answer.text.strip().partition("\n")[0] or "failed"
    error = [first, *_ERROR_LINE.findall(answer.text[-4_000:])][-1]
    fields = {"tool": answer.tool, **answer.arguments, "error": cuts.one_line(error, _LONGEST_TOLD)}
    return replace(answer.record(fields, f"failed:{answer.tool}", FactKind.ACTION), status=FactStatus.FAILED)


def _action(answer: _Answer, records: Sequence[Candidate]) -> Candidate:
    """What was done and to what, with those arguments that what it returned does not repeat. If it repeats all, it
    weighs nothing, but a failure is made good by it."""
    returned = [fields_of(record.text) for record in records]
    known = {cell for fields in returned for cell in fields.values()}
    made = id_in(returned[0]) if records and records[0].key.startswith("entity:") else None
    told = dict([made] if made else ())
    told |= {name: cell for name, cell in answer.arguments.items() if cell not in known}
    if not records and answer.text.strip():
        told["result"] = cuts.one_line(answer.text, _LONGEST_TOLD // 2)
    deed = answer.record({"tool": answer.tool, **told}, f"done:{answer.call}", FactKind.ACTION)
    return replace(deed, weight=0.0) if answer.arguments and not told else deed


def _records(answer: _Answer) -> Iterator[Candidate]:
    """What it returned: each row with the id of what it belongs to, or with what was asked for where it can be told by
    no id. Ids are compared by their names; where the name says nothing, by what the tool is about. A short text of a
    look is one row with all that was asked for: it says the rest of it."""
    objects = (rows_of(part) for part in answer.parts if not isinstance(part, str))
    rows, is_short = list(islice(chain.from_iterable(objects), _MOST_ROWS)), len(answer.text) <= _LONGEST_TOLD
    if answer.looks and is_short and all([*row] == ["result"] for row in rows):
        result = cuts.one_line(answer.text, _LONGEST_TOLD) if answer.texts else ", ".join(row["result"] for row in rows)
        if any(map(str.isalnum, result)):
            yield answer.record({"tool": answer.tool, **answer.arguments, "result": result})
        return
    ids = list(map(id_in, rows))
    times = Counter(ids)
    noun = "_".join(words_of_name(answer.tool)[1:]) or answer.tool
    asked = {name: told for name, told in answer.arguments.items() if answer.looks and len(told) <= _LONGEST_ASKED}
    for row, own in zip(rows, ids, strict=True):
        name, cell = next(iter(row.items()))
        if OWNER in name:
            yield answer.record(row, f"{PART}{name}={cell}")
        elif own and times[own] == 1:
            known_as = f"{noun}/{own[0]}" if is_generic(own[0]) else own[0]
            yield answer.record(row, f"entity:{known_as}={own[1]}")
        else:
            yield answer.record({**row, **asked, **row})
    if answer.looks or not is_short:
        yield from _line_candidates(answer)


def _line_candidates(answer: _Answer, *, only_places: bool = False) -> Iterator[Candidate]:
    """The lines of a plain text that hold what nobody could guess, and the first one, each with what was asked for; a
    long line by its sentences."""
    lines = (
        cuts.one_line(part, _LONGEST)
        for line in "\n".join(answer.texts).splitlines()
        for part in (sentences_in(line) if len(line) > _LONGEST else (line,))
        if any(map(str.isalnum, part))
    )
    pattern = _PLACE if only_places else _EXACT
    exact = (line for at, line in enumerate(lines) if not (at or only_places) or pattern.search(line))
    about = cuts.beginning(next(iter(answer.arguments.values()), answer.tool), _LONGEST_ASKED)
    for line in islice(exact, _MOST_LINES):
        yield answer.record({f"result{OWNER}": about, "line": line})


def as_given(value: Any) -> str:
    """A value as a call was given it, where it can stand so; else in one line."""
    is_short = isinstance(value, str) and len(value) <= _LONGEST
    return value if is_short and _LETTER_BY_LETTER.fullmatch(value) else one_line(value)


def given_candidates(given: Any, seq: int) -> Iterator[Candidate]:
    """The values that a call was given and that may be given again, each by itself, also those in lists and objects."""
    for name, value in islice(_values(given), _MOST_GIVEN):
        if value and len(value) <= (_LONGEST if "\n" in value else _LONGEST_GIVEN):
            yield Candidate(FactKind.GIVEN, f"{name}={value}", seq, f"given:{value}", Speaker.TOOL)


def value_of(fact: Fact) -> str:
    """The value that a call was given."""
    return fact.text.partition("=")[2]


def _values(given: Any, name: str = "_", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST or not isinstance(given, Mapping | list):
        yield name, as_given(given)
    elif isinstance(given, list):
        yield from islice(chain.from_iterable(_values(item, name, depth + 1) for item in given), _MOST_OF_A_LIST)
    else:
        for key, item in given.items():
            yield from _values(item, as_name(str(key)), depth + 1)


def rows_of(value: Any, title: str = "key", owner: str = "") -> Iterator[Fields]:
    """The objects in what a tool returned, each as a record, and behind it those of the lists in it. ``title``: the
    name of the list that it stands in; ``owner``: the id of what that belongs to, which then comes first."""
    about = {f"{title}{OWNER}": owner} if owner else {}
    if (listed := _objects(value, title)) is not None:
        for item in listed:
            yield from rows_of(item, title, owner)
    elif isinstance(value, dict):
        leaves = list(_leaves(value, split=True))
        fields = _record([leaf for leaf in leaves if isinstance(leaf[1], str)])
        own = id_in(fields)
        if fields:
            yield {**about, **fields}
        for path, inner in leaves:
            if not isinstance(inner, str):
                yield from rows_of(inner, path[-1], own[1] if own else owner)
    elif text := one_line(value):
        yield {**about, "result": text}


def one_line(value: Any) -> str:
    """A value as a cell: in one line, and not too long; nothing for what is empty."""
    if isinstance(value, str):
        return cuts.one_line(value, _LONGEST)
    if isinstance(value, dict):
        value = [f"{as_name(str(name))} {text}" for name, item in value.items() if (text := one_line(item))]
    if isinstance(value, list | tuple):
        cells = (text for item in value[:_MOST_ROWS] if (text := one_line(item)))
        return cuts.beginning(", ".join(cells), 4 * _LONGEST)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@lru_cache(maxsize=_KEPT)
def as_name(name: str) -> str:
    """A name as it stands in a record."""
    return _NO_NAME.sub("_", name)[:60].strip("_") or "_"


def _leaves(value: Mapping[Any, Any], path: tuple[str, ...] = (), *, split: bool = False) -> Iterator[tuple[Any, Any]]:
    """The names that lead to what an object holds, and a cell; ``split``: or the objects of a list."""
    for key, item in value.items():
        inner = (*path, as_name(str(key)))
        if split and (listed := _objects(item, inner[-1])) is not None:
            yield inner, listed
        elif isinstance(item, dict) and len(path) < _DEEPEST:
            yield from _leaves(item, inner, split=split)
        elif text := one_line(item):
            yield inner, text


def _record(leaves: Sequence[tuple[tuple[str, ...], Any]]) -> Fields:
    """Cells under names that are as short as they can be told apart."""
    if all(len(path) == 1 for path, _ in leaves):  # as most are
        return {path[0]: text for path, text in leaves}
    tails = [[path[at:] for at in reversed(range(len(path)))] for path, _ in leaves]
    times = Counter(chain.from_iterable(tails))
    names = (next((tail for tail in own if times[tail] == 1), own[-1]) for own in tails)
    return {".".join(name): text for name, (_, text) in zip(names, leaves, strict=True)}


def _objects(value: Any, title: str) -> list[Any] | None:
    """The objects that a value lists, if it does: in a list, in lists of them, by their ids, or in rows of cells."""
    if isinstance(value, dict):
        return _by_keys(value, title)
    if not isinstance(value, list | tuple) or not value:
        return None
    if all(isinstance(item, list | tuple) for item in value) and (rows := _by_head(value)):
        return rows
    inner = [[item] if isinstance(item, dict) else _objects(item, title) for item in value]
    return None if None in inner else [item for listed in inner for item in listed or ()]


def _by_head(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Rows of cells, the first of which may be a head; without one the cells have numbers."""
    head, count = lists[0], len(lists[0])
    if count <= 1 or any(len(row) != count or any(isinstance(cell, dict | list) for cell in row) for row in lists):
        return []
    is_named = all(isinstance(cell, str) and not re.search(r"\d", cell) for cell in head) and len(set(head)) == count
    names = head if is_named else range(1, count + 1)
    return [dict(zip(names, row, strict=True)) for row in lists[is_named:]]


def _by_keys(value: Mapping[Any, Any], name: str) -> list[Any] | None:
    """Objects by their ids, or plain values by what they are of. An id that is told twice is told once."""
    items = [(str(key), item) for key, item in value.items()]
    are_keys, are_several = all(_IS_KEY.match(key) for key, _ in items), len(items) > 1
    if items and all(isinstance(item, dict) and item for _, item in items):
        if are_keys or (are_several and len({tuple(item) for _, item in items}) == 1):
            return [item if key in map(str, item.values()) else {name: key, **item} for key, item in items]
    elif are_several and are_keys and not any(isinstance(item, dict | list) for _, item in items):
        return [{name: key, "value": item} for key, item in items]
    return None
