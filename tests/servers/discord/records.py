"""What Discord keeps, as values that tests can look at."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any

from tests.servers.discord.wire import Json


class ChannelKind(IntEnum):
    """The kinds of channels that there are here."""

    TEXT = 0
    DM = 1
    THREAD = 11


class Flags(IntFlag):
    """The flags of a message that are honoured here."""

    NONE = 0
    SUPPRESS_EMBEDS = 1 << 2
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SUPPRESS_NOTIFICATIONS = 1 << 12


class Ack(IntEnum):
    """How an interaction is answered: https://docs.discord.com/developers/interactions/receiving-and-responding"""

    MESSAGE = 4
    DEFERRED_MESSAGE = 5
    DEFERRED_UPDATE = 6
    UPDATE = 7


@dataclass(frozen=True)
class User:
    """A person, or the bot."""

    id: int
    name: str
    bot: bool = False


@dataclass
class Channel:
    """A place for messages: a direct one (of `recipient`), one of the guild, or a thread in such a one.

    `denied` is what the bot lacks there: `access` (it does not see it) or `permissions` (it may only look).
    """

    id: int
    kind: ChannelKind
    name: str = ""
    parent_id: int | None = None
    recipient: User | None = None
    owner_id: int | None = None
    last_message_id: int | None = None
    denied: str | None = None

    @property
    def direct(self) -> bool:
        """Whether it belongs to no guild."""
        return self.kind is ChannelKind.DM


@dataclass(frozen=True)
class Attachment:
    """A file of a message."""

    id: int
    filename: str
    content: bytes = field(repr=False)
    content_type: str = "application/octet-stream"
    description: str | None = None


@dataclass
class Interaction:
    """A slash command or a press, and what became of it.

    `acked` is the type of the first answer (`None` while there is none), `acked_after` the seconds it took.
    `original_id` is the message that `@original` stands for. `at` is `time.monotonic()`.
    """

    id: int
    token: str
    kind: str
    name: str
    options: Mapping[str, Any]
    user: User
    channel_id: int
    message_id: int | None = None
    at: float = field(default_factory=time.monotonic)
    acked: Ack | None = None
    acked_after: float | None = None
    original_id: int | None = None
    followups: list[int] = field(default_factory=list)
    expired: bool = False


@dataclass
class Message:
    """A message of anyone, with what it said before each edit.

    `text` is what people read now; `edits` has the text after each edit, `edited_at` its `time.monotonic()`.
    `pinged` has those whom it notified, as they are written in a text: `@everyone`, `<@1001>`, `<@&55>`.
    """

    id: int
    channel_id: int
    author: User
    text: str
    files: tuple[Attachment, ...] = ()
    components: tuple[Json, ...] = ()
    embeds: tuple[Json, ...] = ()
    reply_to: int | None = None
    nonce: str | None = None
    pinged: frozenset[str] = frozenset()
    flags: Flags = Flags.NONE
    interaction: Interaction | None = None
    at: float = field(default_factory=time.monotonic)
    edits: list[str] = field(default_factory=list)
    edited_at: list[float] = field(default_factory=list)
    edited_on: float | None = None
    reactions: list[str] = field(default_factory=list)
    deleted: bool = False

    @property
    def buttons(self) -> list[Json]:
        """The buttons, row after row."""
        return [button for row in self.components for button in row["components"]]

    @property
    def labels(self) -> list[str]:
        """What is written on the buttons."""
        return [str(button.get("label", "")) for button in self.buttons]

    @property
    def ephemeral(self) -> bool:
        """Whether only the person who asked sees it."""
        return Flags.EPHEMERAL in self.flags

    @property
    def loading(self) -> bool:
        """Whether it still says that the bot is thinking."""
        return Flags.LOADING in self.flags
