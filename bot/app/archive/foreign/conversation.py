"""What is read from the export of another program: conversations, each with its messages, in their order.

A reader yields a conversation with an iterator of its messages, and the next one when that has been read to its end: a
file is as long as it wants, and no more than one conversation of it is in memory. One of Telegram's is not even that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2s
from typing import Any, Literal, Protocol, TypeAlias

from bot.app.archive.foreign.files import Part
from bot.history import ELSEWHERE, EntryKind

_LONGEST_KEY = 200
_DIGEST = 20
_MOST_MILLISECONDS = 1e11
"""A larger number of seconds would be in the year 5138: it counts milliseconds."""
_LATEST = 1e14

FormatName: TypeAlias = Literal["chatgpt", "claude", "telegram", "openclaw", "hermes"]


@dataclass(frozen=True)
class Piece:
    """Something of a message that becomes an entry of its own: what was said, a file, what a tool returned."""

    kind: EntryKind
    text: str


@dataclass(frozen=True)
class ForeignMessage:
    """One message. ``at``: seconds since 1970; ``speaker``: named to the model, where several people talk; ``person``:
    who that is on its platform; ``answers``: the id of the message that it answers."""

    id: str
    at: float | None
    pieces: Sequence[Piece]
    speaker: str = ""
    person: str = ""
    answers: str = ""


@dataclass(frozen=True)
class ForeignConversation:
    """One conversation. ``at``: when it was touched last, in seconds since 1970, where that is known before it is
    read."""

    format: FormatName
    id: str
    title: str = ""
    at: float | None = None

    @property
    def key(self) -> str:
        """Names it for ever, in any conversation of ours."""
        return _key(f"{ELSEWHERE}{self.format}:", self.id)

    def key_of(self, message: ForeignMessage) -> str:
        """Names one of its messages for ever."""
        return _key(f"{ELSEWHERE}{self.format}:", f"{self.id}:{message.id}")


Read: TypeAlias = Iterator[tuple[ForeignConversation, Iterator[ForeignMessage]]]


class Reader(Protocol):
    """Knows one program's exports."""

    name: FormatName
    """As `--format` calls it."""
    program: str
    """As people call it."""

    def parts(self, found: Sequence[Part]) -> Sequence[Part]:
        """Those parts of an archive or a folder that may hold conversations, in the order in which they are read."""

    def read(self, parts: Sequence[Part]) -> Read:
        """The conversations in them. Raises BadExport."""


def _key(prefix: str, name: str) -> str:
    whole = prefix + name
    if len(whole) <= _LONGEST_KEY and name.isprintable():
        return whole
    return f"{prefix}#{blake2s(name.encode('utf-8', 'surrogatepass'), digest_size=_DIGEST).hexdigest()}"


def seconds(value: Any) -> float | None:
    """A time as any of these programs writes it (seconds, milliseconds, ISO 8601; UTC where no zone is named), in
    seconds since 1970; None for what is none."""
    if isinstance(value, str):
        if re.fullmatch(r"\d{1,15}(\.\d{1,9})?", value):
            return seconds(float(value))
        try:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LATEST:
        return None
    return value / 1_000 if value > _MOST_MILLISECONDS else float(value)


def text_of(value: Any) -> str:
    """A text; nothing for what is none."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """An object; an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """An array; an empty one for what is none."""
    return value if isinstance(value, list) else []


def called(tool: str, arguments: Any) -> str:
    """The call of a tool, as text: what it was given, each under its name and in full."""
    if isinstance(arguments, dict):
        given = "\n".join(f"{name}: {_plain(value)}" for name, value in arguments.items())
    else:
        given = _plain(arguments)
    return f"[Called the tool {tool or 'without a name'}:\n{given}]" if given else f"[Called the tool {tool}]"


def returned(tool: str, result: str) -> str:
    """What a tool returned, as text: each line of it marked, so that none reads as anybody's words."""
    marked = "\n".join(f"> {line}".rstrip() for line in result.splitlines())
    return f"[The tool {tool or 'without a name'} returned:]\n{marked}"


def attached(name: str, kind: str = "file") -> str:
    """A file that is named and is not there."""
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name}={_plain(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return "" if value is None else str(value)
