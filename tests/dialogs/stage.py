"""A stage is one platform as people have it: what somebody can do there, and what they see of the bot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from bot.app.resources import Resources
from bot.connector import Connector
from bot.runtime.settings import Settings


@dataclass(frozen=True)
class Who:
    """Somebody; ``number`` is their id where a platform has such a thing."""

    name: str
    number: int


class Place(Enum):
    """Where several people talk. The two topics belong to one forum (on Discord: the threads to one channel)."""

    GROUP = "the group"
    TEA = "the topic about tea"
    COFFEE = "the topic about coffee"


Where: TypeAlias = Who | Place
"""A place, or somebody's private chat with the bot."""


@dataclass(frozen=True)
class Post:
    """A message of the bot as people see it now; ``key`` stays the same when it is edited."""

    key: str
    text: str
    buttons: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    answers: str = ""
    """The text of what it visibly replies to."""
    pinged: tuple[str, ...] = ()
    """Whom it notified by a mention in its text."""
    live: bool = False
    """It is not fixed in its place yet (a terminal's status line), and will appear once more."""


class Stage(Protocol):
    """One platform, with the people in front of it."""

    name: str
    connector: str
    """As it is named in ALLOW and ADMINS."""
    lease: str
    """What the gateway's lease is called, as the program calls it."""
    chat: str | None
    """The only chat that the gateway delivers to, as in the program."""

    async def open(self, folder: Path) -> Mapping[str, Any]:
        """Raise the curtain; returns the settings that the program needs. ``folder`` is the people's own disk."""

    def connectors(self, settings: Settings) -> Sequence[Connector]:
        """The connectors, as the program makes them."""

    async def admit(self, resources: Resources) -> None:
        """Let the program on; returns when it can be talked to."""

    async def close(self) -> None:
        """End all that was opened."""

    async def says(self, who: Who, text: str, where: Where, *, addressed: bool, answers: str) -> None:
        """Say something. ``addressed``: to the bot, by a mention; ``answers``: a pattern of the message of the bot
        that it is a reply to, or empty."""

    async def orders(self, who: Who, text: str, where: Where) -> None:
        """Give a command in the platform's own way."""

    async def sends(self, who: Who, text: str, where: Where, files: Mapping[str, bytes], *, as_photo: bool) -> None:
        """Send files, the words with the first of them."""

    async def edits(self, who: Who, text: str, new: str, where: Where) -> None:
        """Change what one has said."""

    async def presses(self, who: Who, label: str, where: Where, *, earliest: bool) -> None:
        """Press the button with this label, under the newest message that has it or the earliest."""

    async def stops(self, who: Who, where: Where) -> None:
        """Stop the bot in the shortest way that the platform has."""

    def posts(self, where: Where) -> Sequence[Post]:
        """What the bot has said there, in order, as it reads now."""

    def growing(self, where: Where) -> str:
        """What is seen there of a reply that is being written; empty where there is none."""

    def typed(self, where: Where, since: float) -> bool:
        """Whether the bot has shown since then (``time.monotonic()``) that it writes."""

    def is_typing(self, where: Where) -> bool:
        """Whether that shows still: nothing that it wrote since has ended it."""

    def marks(self, who: Who, text: str, where: Where) -> Sequence[str]:
        """The emoji that the bot has put on what somebody said."""

    def complaints(self) -> Sequence[str]:
        """What the platform refused, and what it still waits for."""

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once it is so; whoever waits sets the time limit."""
