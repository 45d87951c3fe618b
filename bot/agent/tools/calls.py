"""How tool calls look to people, in one short line each; and calls that lead nowhere. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bot.messages import Block, text_block
from bot.runtime.redact import redact

_SIGN = "🔧"
_LONGEST_LINE = 80
_MOST_LINES = 3
_TELLING = ("path", "command", "query", "url", "name")
"""Arguments that say most, the first of them that a call has."""

_SEEN = frozenset({"send_file"})
"""What people see of itself; a line before it would hold the reply's place above it."""

SAME_AGAIN = 3
"""Times in a row that a call gives the same result, before it is told so."""
MOST_SAME = 6
"""... before the answer has to do without tools."""
MOST_FAILURES = 3
"""Of one call in one answer, without anything new between them; then it has to do without tools."""
_LONGEST_NAME = 60


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
    """Notices calls that lead nowhere: one that fails again and again, also in turns with others, and one that gives
    the same result again and again. A result that was not there before says that it goes on after all."""

    def __init__(self, before: Iterable[Sequence[tuple[Block, Block]]] = ()) -> None:
        """``before``: the calls of each reply so far, with their results."""
        self._failures: Counter[str] = Counter()
        self._in_reply: set[str] = set()
        """What has failed in this reply: calls that were made together could not learn from each other."""
        self._seen: set[str] = set()
        self._last = ""
        self._times = 0
        self.stuck = ""
        """What leads nowhere, in a sentence for people; empty while it goes on."""
        for calls in before:
            self.next_reply()
            for call, result in calls:
                self.noted(call, result)

    def next_reply(self) -> None:
        """What is called from here on was called knowing what came before."""
        self._in_reply.clear()

    def forget(self) -> None:
        """Somebody said something: what failed may now be meant in another way."""
        self._failures.clear()
        self._last, self._times, self.stuck = "", 0, ""

    def noted(self, call: Block, result: Block, *, is_known: bool = True) -> Block:
        """The result; with a note where the call leads nowhere. ``is_known``: there is such a tool; of one that there
        is not, no arguments make a difference."""
        if result.get("is_error"):
            return self._failed(call, result, _key(call.get("name"), call.get("input") if is_known else None))
        return self._returned(call, result)

    def _failed(self, call: Block, result: Block, key: str) -> Block:
        self._last, self._times = "", 0
        if key not in self._in_reply:
            self._in_reply.add(key)
            self._failures[key] += 1
        times = self._failures[key]
        if times >= MOST_FAILURES:
            self.stuck = f"I stopped using tools: {_named(call)} failed {times} times in the same way."
        if times != MOST_FAILURES - 1:
            return result
        return with_note(result, f"[This call has failed {times} times. Once more ends the use of tools here.]")

    def _returned(self, call: Block, result: Block) -> Block:
        seen = _key(call.get("name"), call.get("input"), result.get("content"))
        if seen not in self._seen:
            self._failures.clear()
        self._seen.add(seen)
        self._times = self._times + 1 if seen == self._last else 1
        self._last = seen
        if self._times >= MOST_SAME:
            self.stuck = f"I stopped using tools: {_named(call)} gave the same result {self._times} times."
        if self._times < SAME_AGAIN:
            return result
        note = (
            f"[The same call gave the same result {self._times} times in a row: calling it again changes nothing. "
            "Do something else, or answer.]"
        )
        return with_note(result, note)


def _key(*parts: object) -> str:
    return json.dumps(parts, sort_keys=True, default=str)


def _named(call: Block) -> str:
    """A model may call a tool whatever it likes."""
    name = "".join(letter for letter in str(call.get("name")) if letter.isprintable() and letter != "`")
    return f"`{name[:_LONGEST_NAME]}`"


def with_note(result: Block, note: str) -> Block:
    """A result with a line of the program's own below it."""
    content = result.get("content")
    if isinstance(content, str):
        return {**result, "content": f"{content}\n{note}"}
    return {**result, "content": [*(content or ()), text_block(note)]}
