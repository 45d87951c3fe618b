"""The seam between the gateway and a platform.

A connector turns what happens on its platform into :class:`~bot.messages.Inbound` and hands it to ``Intake.store``;
only when that returned is it in the database, and only then may the platform be told that it arrived. The other way
the gateway calls ``deliver``. A connector keeps nothing that must last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.messages import Address, Inbound, Outbound


class Intake(Protocol):
    """Where a connector stores what it received. Implemented by the gateway."""

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """Store a batch, and the platform's cursor with it, in one transaction; returns how many rows were new.

        What access does not allow is dropped here, so that unknown people reach no model. Raises
        :class:`~bot.errors.StoreUnavailable`: then nothing was stored, and nothing may be acknowledged.
        """

    async def cursor(self) -> str | None:
        """The cursor that was stored last, or None."""

    async def settled(self, address: Address) -> None:
        """Return when all that was said here is answered and delivered, and no compaction that was asked for runs."""


class Connector(Protocol):
    """One platform."""

    name: str
    edit_every: float
    """Seconds between two edits of one message while a reply streams."""

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises only what waiting cannot heal (:class:`~bot.errors.ConfigurationError`)."""

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Bring one outbound to the platform; returns the platform's ids of the message's parts (none for signals).

        Raises a :class:`~bot.errors.DeliveryError`.
        """

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        """The ids of a message whose sending was cut off by a crash, or None where it never arrived.

        ``after`` is the newest id that this chat is known to have had before it, ``known`` the ids of our other
        messages around it.
        """

    async def close(self) -> None:
        """Let go of connections."""


class People(Protocol):
    """Who may talk to the bot."""

    def may_talk(self, address: Address, person: str) -> bool:
        """Whether what this person says reaches an agent."""
