"""What a compaction made of a transcript, message by message, in lines that people read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from bot.compaction.manual.given import Shown
from bot.compaction.summary.transcript import render
from bot.estimate import chat_form

Sign = Literal["-", "+", "~", "="]
"""Gone, new, changed, as it was."""

MOST_LINES = 60
_RUN = (6, 2)
"""Of many messages in a row with the same fate, the first and the last so many are listed."""
_WORDS = 72
"""Characters of a message that are shown."""


def lines_of(messages: Sequence[Mapping[str, Any]], page: Sequence[Shown]) -> list[tuple[Sign, str]]:
    """At most ``MOST_LINES`` and one that says how many there are more. Messages are named by their index among the
    given ones; those that stayed as they were are only counted."""
    lines: list[tuple[Sign, str]] = []
    first, last = _RUN
    for sign, group in groupby(_changes(messages, page), key=lambda change: change[0]):
        run = list(group)
        between = len(run) - first - last
        if sign == "=":
            lines.append(("=", f"{len(run)} unchanged"))
        elif between > 1:
            lines += [*run[:first], (sign, f"{'…':>9}  {between} more"), *run[-last:]]
        else:
            lines += run
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], ("=", f"and {more} lines more")] if more > 1 else lines


def _changes(messages: Sequence[Mapping[str, Any]], page: Sequence[Shown]) -> Iterator[tuple[Sign, str]]:
    """In reading order: what is gone stands before what comes after it."""
    used = {index for shown in page for index in shown.sources}
    gone = deque(index for index in range(len(messages)) if index not in used)
    for shown, before in zip(page, _befores(page, len(messages)), strict=True):
        while gone and gone[0] < before:
            yield _dropped(messages, gone.popleft())
        if not shown.sources:
            yield "+", f"{_place(())}  {_words(shown.message)}"
        elif shown.changed:
            yield "~", f"{_place(shown.sources)}  {_words(shown.message)}"
        else:
            yield "=", ""
    for index in gone:
        yield _dropped(messages, index)


def _befores(page: Sequence[Shown], end: int) -> list[int]:
    """Of each message, before which given one it stands; of a new one, where the next one that is not new does."""
    befores: list[int] = []
    for shown in reversed(page):
        end = shown.sources[-1] if shown.sources else end
        befores.append(end)
    return befores[::-1]


def _dropped(messages: Sequence[Mapping[str, Any]], index: int) -> tuple[Sign, str]:
    return "-", f"{_place((index,))}  {_words(messages[index])}"


def _place(sources: Sequence[int]) -> str:
    span = f"{sources[0]}–{sources[-1]}" if len(sources) > 1 else "".join(map(str, sources)) or "new"
    return f"{span:>9}"


def _words(message: Mapping[str, Any]) -> str:
    """Who says it, and how it begins, without what a terminal would obey."""
    text = (
        render([read for _, read in chat_form.read([message])] or [message])[: 4 * _WORDS]
        or str(message["role"]).capitalize()
    )
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}…"
