"""The words that travel: addresses and the names that people give to conversations, what comes in from a platform with
its files, what goes out to one, and what a model reads.

Pure: no I/O, no clock, no settings. Content blocks keep the shape of the Anthropic Messages API, so that a block that
this program does not know is stored and sent back as it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2s
from typing import Any, Literal, NewType, TypeAlias, TypedDict

Block: TypeAlias = Mapping[str, Any]
"""One content block of the Messages API: ``{"type": "text", "text": ...}``, ``tool_use``, ``tool_result``, ..."""

Role: TypeAlias = Literal["user", "assistant"]


class Message(TypedDict):
    """One message as the Messages API takes it."""

    role: Role
    content: str | list[Block]


AgentId = NewType("AgentId", str)
"""An address as a slug that is safe as a folder name, e.g. ``telegram-123``, ``terminal-me``."""

_UNSAFE = re.compile(r"[^a-z0-9_]+")
_LONGEST_SLUG = 80

_LONGEST_NAME = 60
_NAME = re.compile(rf"[a-z0-9_][a-z0-9_-]{{0,{_LONGEST_NAME - 1}}}")
NAMES = "a conversation's name has small letters, digits, _ and -, 60 at most, for example 'work'"
"""What whoever gave another one is told."""


@dataclass(frozen=True)
class Address:
    """Where a conversation is: the connector's name, the platform's chat and, where there is one, its thread."""

    connector: str
    chat: str
    thread: str = ""

    @property
    def agent_id(self) -> AgentId:
        """The slug of this address. Two addresses never share one: what had to be changed is told apart by a digest."""
        parts = [self.connector, self.chat, self.thread] if self.thread else [self.connector, self.chat]
        plain = "-".join(parts)
        slug = "-".join(_slug(part) for part in parts)
        if slug != plain or len(slug) > _LONGEST_SLUG:
            digest = blake2s("\x1f".join(parts).encode(), digest_size=5).hexdigest()
            slug = f"{slug[:_LONGEST_SLUG].rstrip('-')}.{digest}"
        return AgentId(slug)


def _slug(part: str) -> str:
    negative = part[1:].isdigit() and part.startswith("-")
    return part if negative else _UNSAFE.sub("-", part.lower()).strip("-") or "x"


def is_name(text: str) -> bool:
    """Whether a conversation can be called so."""
    return _NAME.fullmatch(text) is not None


def name_like(text: str) -> str:
    """The name that comes closest to what somebody wrote: in small letters, ``-`` for spaces and for what no name has,
    60 characters at most. Empty where nothing is left of it."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-")[:_LONGEST_NAME].rstrip("-")


@dataclass(frozen=True)
class Attachment:
    """A file that a person sent. ``ref`` is what its connector fetches it by; ``size`` is in bytes. ``person`` and
    ``key``: who sent it, and in which message, where somebody else asks about it by answering that message; it goes
    when that is taken back."""

    ref: str
    name: str
    media_type: str = ""
    size: int | None = None
    person: str = ""
    key: str = ""


@dataclass(frozen=True)
class Kept:
    """What became of an attachment: where it lies in the agent's folder, or why it does not. ``person`` and ``key``:
    of the message that it came in, if that is another one."""

    name: str
    path: str = ""
    media_type: str = ""
    size: int = 0
    problem: str = ""
    person: str = ""
    key: str = ""


@dataclass(frozen=True)
class Quote:
    """What a message answers, as a quotation that says whose words it holds. ``ref``: the platform's handle of that,
    where it is a message of the conversation: the newest one needs no quotation. ``key`` and ``person``: which message
    it is and who said it, as their :class:`Inbound` would have it, wherever that was said; empty for our own words, and
    where the platform does not tell. By these the words go when they are taken back."""

    text: str
    ref: str = ""
    key: str = ""
    person: str = ""


@dataclass(frozen=True)
class Inbound:
    """One event from a platform. ``key`` names it on its connector for ever: a redelivery has the same key.

    ``order`` is the platform's own order within a chat (a message id, an update id); ``kind`` is part of the key.
    """

    address: Address
    key: str
    kind: Literal["message", "edit", "press", "delete"]
    order: int
    person: str
    text: str
    person_name: str = ""
    sent_at: datetime | None = None
    ref: str = ""
    """The platform's handle of this event: what an answer answers, and what a reaction is put on."""
    speaker: str = ""
    """Who says it, where several people talk: named to the model. Empty in a private chat."""
    attachments: tuple[Attachment, ...] = ()
    quote: Quote | None = None
    """What it answers, if anything: shown to the model before the words, and never part of them."""
    expects: float = 0.0
    """Seconds in which more of the same may come: the platform has cut it, or it is one of several."""
    edits: str = ""
    """The key of the message whose later text this is, or which was deleted. An edit's own key begins with it and
    ``:edit:``."""
    is_unread: bool = False
    """What it says is in a form that the connector cannot read: nothing of it is stored, and who said it is told."""
    is_awaited: bool = False
    """The platform shows that an answer is on its way: it must come, even to somebody unknown."""

    @property
    def is_command(self) -> bool:
        """Whether this is control (answered at once), not something to say to the model."""
        return self.text.startswith("/")


COMPACTION, ANSWER = "compaction", "answer"
"""What `/abort` stops where it says so, as buttons do; without either it stops what people wait for."""
ABORT_COMPACTION, ABORT_ANSWER = f"/abort {COMPACTION}", f"/abort {ANSWER}"


@dataclass(frozen=True)
class Button:
    """A press on it comes back as an :class:`Inbound` of kind ``press`` with ``command`` as its text."""

    label: str
    command: str


@dataclass(frozen=True)
class OutFile:
    """A file on its way to people: where it lies on this machine, and what they see it called."""

    path: str
    name: str


@dataclass(frozen=True)
class Say:
    """A new message. ``token`` names it, in every installation: platforms with idempotency keys send it along."""

    address: Address
    text: str
    token: str
    buttons: tuple[Button, ...] = ()
    notice: bool = False
    """Said by the program, not by the model: plain text, no Markdown."""
    partial: bool = False
    """More is to come: the reply is still being written."""
    answers: str = ""
    """The ``ref`` of what a person said or pressed that this answers, if anything."""
    file: OutFile | None = None
    """Sent along; the text is what is said of it."""


@dataclass(frozen=True)
class Edit:
    """A message that was sent before gets this text. ``refs`` are the platform's ids of its parts."""

    address: Address
    refs: tuple[str, ...]
    text: str
    token: str
    buttons: tuple[Button, ...] = ()
    notice: bool = False
    partial: bool = False
    """More is to come: the reply is still being written."""
    answers: str = ""
    """As in :class:`Say`: parts that come new answer it too."""
    again: bool = False
    """Somebody else may have changed it meanwhile, so it is brought also where it seems to show this already."""


@dataclass(frozen=True)
class Withdraw:
    """Nothing is to be seen here after all: take these messages of ours away, if there are any, and what shows that an
    answer to ``answers`` is on its way."""

    address: Address
    refs: tuple[str, ...] = ()
    answers: str = ""


@dataclass(frozen=True)
class Typing:
    """Show that the other side is writing, for a few seconds (it is renewed), or stop showing it."""

    address: Address
    on: bool = True


@dataclass(frozen=True)
class Status:
    """A fact for connectors that show it apart from the talk, such as the terminal's bottom line."""

    address: Address
    facts: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class React:
    """A mark on a person's own message, e.g. that it waits. An empty ``emoji`` takes our mark away."""

    address: Address
    ref: str
    emoji: str


Outbound: TypeAlias = Say | Edit | Withdraw | Typing | Status | React


class Audience(StrEnum):
    """Who may see an entry."""

    EVERYONE = "everyone"
    MODEL = "model"
    PEOPLE = "people"


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNBRACKETED = str.maketrans("[]", "()")


def as_quoted(words: str) -> str:
    """Somebody's words with each of their lines marked, so that none can be taken for a line that stands beside
    them."""
    return "\n".join(f"> {line}".rstrip() for line in words.splitlines())


def in_brackets(words: str) -> str:
    """Somebody's words as they may stand within brackets of ours: one line that cannot close them."""
    shown = "".join(character if character.isprintable() else " " for character in words)
    return " ".join(shown.split()).translate(_UNBRACKETED)


def cleaned(text: str) -> str:
    """Text that every store and every provider takes: no control characters but newline and tab, no lone surrogates,
    and one kind of line end."""
    return _CONTROL.sub("", _LINE_ENDS.sub("\n", text)).encode("utf-8", "replace").decode()


def text_block(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def text_of(content: str | Sequence[Block]) -> str:
    """The text of a content, blocks joined by blank lines; what is not text is left out."""
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content if block.get("type") == "text")


def tool_calls(blocks: Sequence[Block]) -> list[Block]:
    """The tool_use blocks in order."""
    return [block for block in blocks if block.get("type") == "tool_use"]
