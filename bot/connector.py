"""The seam between the gateway and a platform.

A connector turns what happens on its platform into :class:`~bot.messages.Inbound` and hands it to ``Intake.store``;
only when that returned is it in the database, and only then may the platform be told that it arrived. The other way
the gateway calls ``deliver``. A connector keeps nothing that must last.

Both sides are there in memory too, for tests: :mod:`connectors.memory`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from bot.messages import Address, Attachment, Inbound, Outbound


@dataclass(frozen=True)
class CommandField:
    """A text that may stand behind a command, for platforms that have fields for that.

    ``prefix`` stands before it where it is written; ``is_words``: it is what a person says, and nothing in it is an
    option.
    """

    name: str
    about: str
    prefix: str = ""
    is_words: bool = False

    def written(self, value: str) -> str:
        """The value as it would be written behind the command."""
        words = f"-- {value}" if self.is_words and "=" in value else value
        return f"{self.prefix}{words}"


@dataclass(frozen=True)
class OfferedCommand:
    """What a platform shows after a slash: a name, a line about it, and its fields in the order in which they are
    written."""

    name: str
    about: str
    fields: tuple[CommandField, ...] = ()


class Intake(Protocol):
    """Where a connector stores what it received. On the book it is :mod:`bot.gateway.intake`."""

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """Store a batch, and the platform's cursor with it, in one transaction; returns how many rows were new.

        What access does not allow is dropped here, so that unknown people reach no model. A message with attachments
        waits until :meth:`Connector.fetch` brought them. Raises
        :class:`~bot.errors.StoreUnavailable`: then it has to come again, and nothing may be acknowledged.
        """

    async def until_back(self, most: float) -> None:
        """After StoreUnavailable: return when the database may take it, and after so many seconds at most."""

    async def cursor(self) -> str | None:
        """The cursor that was stored last, or None."""

    async def chats(self, limit: int) -> list[Address]:
        """The conversations of this connector, the last active first: where messages may have been missed."""

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        """The messages of this conversation that are stored, from this ``order`` on: key to order. Those that the
        platform does not have any more were deleted meanwhile."""

    async def reachable(self, chat: str, *, yes: bool) -> None:
        """The platform says that a chat takes our messages (again), or does not any more."""

    async def moved(self, chat: str, moved_to: str) -> None:
        """The platform gave a chat another id; its conversations go on."""

    async def settled(self, address: Address) -> None:
        """Return when all that was said here is answered and delivered, and no compaction is under way."""


class Connector(Protocol):
    """One platform."""

    name: str

    def pace(self, address: Address) -> float:
        """Seconds between two edits of one message here, while a reply streams."""

    def drafts(self, address: Address) -> bool:
        """Whether a growing reply is shown here without becoming a message: a partial Say then returns no ids."""

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises only what waiting cannot heal (:class:`~bot.errors.ConfigurationError`)."""

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Bring one outbound to the platform; returns the platform's ids of the message's parts (none for signals).

        Raises a :class:`~bot.errors.DeliveryError`.
        """

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """Write what a person attached to ``target``, a new file.

        Raises DeliveryRefused, with a sentence for people, where it cannot be had or is larger than ``most_bytes``;
        DeliveryDelayed or DeliveryUncertain where another try may help.
        """

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """The ids of a message whose sending was cut off by a crash, or None where it never arrived.

        ``after`` is the newest id that this chat is known to have had before it, ``known`` ids around it that other
        messages have: our own ones of this chat, and all that we know of in chats that it :class:`counts with
        <Counting>`.
        """

    async def close(self) -> None:
        """Let go of connections."""


STARTING = "it is not connected yet"


@runtime_checkable
class Receiving(Protocol):
    """A connector that can tell whether it hears its platform."""

    @property
    def problem(self) -> str:
        """Why it hears nothing just now, without secrets; empty while it does."""


@runtime_checkable
class Recognizing(Protocol):
    """A connector whose platform knows a message again by its token for a while: sent once more, it is still one."""

    recognizes: Literal[True]


@runtime_checkable
class Hooked(Protocol):
    """A connector that its platform calls over HTTP, beside or in place of what :meth:`Connector.run` does."""

    hook_path: str | None
    """The path that it is called on; None where it is not."""

    async def receive(self, intake: Intake, headers: Mapping[str, str], body: bytes) -> int:
        """Store what a call brings; returns the HTTP status. ``headers`` have small letters."""


Guard: TypeAlias = Callable[[], Awaitable[None]]


async def unguarded() -> None:
    """Whoever delivers has nobody to look out for."""


@runtime_checkable
class Guarded(Protocol):
    """A connector that makes several messages of one outbound: between two of them another gateway may take over."""

    guard: Guard
    """To be awaited before each new message. Raises :class:`~bot.errors.DeliverySuperseded`: then it is not sent."""


@runtime_checkable
class Counting(Protocol):
    """A connector some of whose chats have one counter for the ids of their messages."""

    def counts_with(self, chat: str, other: str) -> bool:
        """Whether a message of one of them never has an id that a message of the other one has."""
