"""How tool calls look to people, in one short line each; and calls that lead nowhere. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from bot.messages import Block, text_block
from bot.redact import redact

_SIGN = "🔧"
_LONGEST_LINE = 80
_MOST_LINES = 3
_TELLING = ("path", "command", "query", "url", "name")
"""Arguments that say most, the first of them that a call has."""

_SEEN = frozenset({"send_file"})
"""What people see of itself; a line before it would hold the reply's place above it."""

SAME_AGAIN = 3


class Progress:
    """The calls of a turn as people see them while it runs: the last few."""

    def __init__(self, secrets: Collection[str]) -> None:
        self._secrets = secrets
        self._lines: list[str] = []

    def add(self, call: Block) -> bool:
        """One more; returns whether there is a line about it."""
        if call.get("name") in _SEEN:
            return False
        self._lines.append(line_of(call, self._secrets))
        return True

    def note(self, line: str) -> None:
        """Something about the last call."""
        self._lines.append(line)

    def below(self, text: str) -> str:
        """What is written so far, and these. One paragraph: it is replaced when the reply goes on."""
        return "\n".join([*([text.strip()] if text.strip() else []), *self._lines[-_MOST_LINES:]])


def line_of(call: Block, secrets: Collection[str]) -> str:
    """A call in one line, without secrets and without marks of formatting."""
    given = call.get("input")
    words = f"{call.get('name')} {_argument(given if isinstance(given, Mapping) else {})}"
    line = " ".join(redact(words, secrets).replace("`", "'").split())
    line = "".join(letter for letter in line if letter.isprintable())
    shortened = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
    name, _, argument = shortened.partition(" ")
    return f"{_SIGN} {name} `{argument}`" if argument else f"{_SIGN} {name}"


def _argument(given: Mapping[str, Any]) -> str:
    for name in _TELLING:
        if isinstance(given.get(name), str) and given[name].strip():
            return str(given[name])
    plain = [f"{name}={value}" for name, value in given.items() if isinstance(value, str | int | float)]
    return " ".join(plain)


class Repeats:
    """Notices the same call with the same result, again and again."""

    def __init__(self) -> None:
        self._last = ""
        self._times = 0

    def noted(self, call: Block, result: Block) -> Block:
        """The result; with a note where it was the same that often in a row."""
        seen = json.dumps([call.get("name"), call.get("input"), result.get("content")], sort_keys=True, default=str)
        self._times = self._times + 1 if seen == self._last else 1
        self._last = seen
        if self._times < SAME_AGAIN:
            return result
        note = (
            f"[The same call gave the same result {self._times} times in a row: calling it again changes nothing. "
            "Do something else, or answer.]"
        )
        return with_note(result, note)


def with_note(result: Block, note: str) -> Block:
    """A result with a line of the program's own below it."""
    content = result.get("content")
    if isinstance(content, str):
        return {**result, "content": f"{content}\n{note}"}
    return {**result, "content": [*(content or ()), text_block(note)]}
