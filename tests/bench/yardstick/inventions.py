"""Lines that a compaction shows as what was said or returned, and that are in nobody's words. Pure.

Compared are words, so that bold print and line breaks do not matter: those of a line have to stand somewhere in the
conversation in this order, without a gap, within one message or result. Of a row of records that holds for each cell.
Who said it and when stands before a line, what became of it in brackets at its end; both are the program's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bot.compaction.facts.checkpoint import HEADING
from bot.compaction.summary.frames import EXACT_DETAILS
from bot.messages import Message, text_of
from tests.bench.yardstick.reading import blocks_of, leaves

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_HEADING = re.compile(r"#{1,6} |> ")
_BULLET = re.compile(r"\A\s*[-*•]\s+")
_BEFORE = re.compile(r"\[[^\]]{1,60}\]\s*|\([^)]{1,60}\)\s*|#?\d+[.:)]?\s+|[^:：]{1,60}[:：]\s*")
"""One thing that may stand before what was said: a mark, a number, a name."""
_HEAD = re.compile(r"#(?:\d+|-) (?P<who>[^:\[\]\n]{1,60}?)(?: \[[^\[\]\n]{1,300}\])*: ")
"""Before a line of memory: the number of its message, who said it, what became of it."""
_AFTER = re.compile(r"\s*(?:\[[^\]]{1,80}\]|…|\.\.\.)\s*\Z")
_OWN = frozenset({"person", "assistant", "tool", "user", "said", "earlier", "done", "cancelled", "corrected"})
_LONGEST_WORD = 40
_RECORDS = " / "
"""Between the records of a list."""
_LIST = re.compile(r"\[[^\[\]\n]+\]")
_FIELD = re.compile(r"[^=\s][^=\t]{0,60}?=")


@dataclass(frozen=True)
class Invented:
    """The lines that nobody said, of so many."""

    lines: Sequence[str]
    of: int


def invented(before: Sequence[Message], request: Sequence[Message]) -> Invented:
    """Of the lines that a compaction of these messages wrote as what was said."""
    known = _Known(before)
    lines = list(shown(before, request))
    return Invented([line for line in lines if not known.has_line(line)], len(lines))


def shown(before: Sequence[Message], request: Sequence[Message]) -> Iterator[str]:
    """The lines of memory and of details in a request, without headings and names of columns."""
    given = {text for message in before for text in _texts(message)}
    for text in (text for message in request for text in _texts(message) if text not in given):
        if text.startswith(HEADING):
            lines = text.split("\n")[2:]
        elif EXACT_DETAILS in text:
            lines = text.split(EXACT_DETAILS, 1)[1].strip("\n").split("\n\n")[0].split("\n")
        else:
            continue
        for line in lines:
            if not line.strip():
                break
            if not _HEADING.match(line):
                yield line


class _Known:
    def __init__(self, messages: Iterable[Message]) -> None:
        said = [text for message in messages for text in _everything(message)]
        self._text = "\n".join(f" {_words(text)} " for text in said)

    def has_line(self, line: str) -> bool:
        if head := _HEAD.match(line):
            return self._is_label(head["who"]) and self._has_said(line[head.end() :])
        bare = _BULLET.sub("", line, count=1)
        if "\t" in bare or _FIELD.match(bare) or _LIST.fullmatch(bare):
            return all(map(self._has_cell, bare.split("\t")))
        return self._has_said(bare)

    def _has_cell(self, cell: str) -> bool:
        """A value, behind its name or without; a list of values; in brackets a list of records, value by value. What is
        left out of a long one is marked, and its parts stand.
        """
        found = _FIELD.match(cell)
        return self._has_value(cell) or (found is not None and self._has_value(cell[found.end() :]))

    def _has_value(self, value: str) -> bool:
        parts = value.split() if value.startswith("[") or _RECORDS in value else value.split(", ")
        *begun, last = value.split("…")
        return (all(map(self._has_beginning, begun)) and self.has(last)) or all(map(self.has, parts))

    def _has_beginning(self, text: str) -> bool:
        """What is cut ends with a whole word, but for words as long as codes are."""
        is_code = len(text.rsplit(maxsplit=1)[-1]) > _LONGEST_WORD if text.strip() else False
        return self.has(text) or (is_code and f" {_words(text)}" in self._text)

    def _has_said(self, text: str) -> bool:
        if self.has(text):
            return True
        shorter = _AFTER.sub("", text)
        if shorter != text and self._has_said(shorter):
            return True
        found = _BEFORE.match(text)
        return found is not None and self._is_label(found[0]) and self._has_said(text[found.end() :])

    def _is_label(self, text: str) -> bool:
        """Only numbers, names that occur and the program's few words stand before what was said."""
        words = _words(text).split()
        return all(word.isdigit() or word in _OWN or f" {word} " in self._text for word in words)

    def has(self, text: str) -> bool:
        words = _words(text)
        return not words or f" {words} " in self._text


def _texts(message: Message) -> Iterator[str]:
    return (str(block["text"]) for block in blocks_of(message) if block.get("type") == "text")


def _everything(message: Message) -> Iterator[str]:
    for block in blocks_of(message):
        match block.get("type"):
            case "text":
                yield str(block["text"])
            case "tool_use":
                yield str(block.get("name", ""))
                yield from (f"{value}" for _, value in leaves(block.get("input") or {}))
                yield json.dumps(block.get("input"), ensure_ascii=False)
            case "tool_result":
                content = text_of(block.get("content") or "")
                yield content
                yield from _values(content)


def _values(text: str) -> Iterator[str]:
    """Values of a result in JSON: an escaped quote in them is none for people."""
    try:
        found = json.loads(text)
    except ValueError:
        return
    yield from (str(value) for _, value in leaves(found))


def _words(text: str) -> str:
    return " ".join(word.casefold() for word in _WORD.findall(text))
