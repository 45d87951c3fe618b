"""The connector of the chat page. Its platform is the book itself: what is committed there, every page shows.

So there is nothing to send. Pages read rows from the book and signals from the bell, in whichever process a browser
has reached, and what a person enters there is stored by that process; this connector says that a message is there as
soon as it is asked to bring it, and carries files from where they were uploaded into their conversation.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from bot.connector import Intake
from bot.errors import DeliveryRefused
from bot.messages import Address, Attachment, Edit, Outbound, Say


class Web:
    """The web. ``agents``: the folder that holds the folders of conversations; a file that was uploaded is named by
    its path in there."""

    name = "web"

    def __init__(self, agents: Path) -> None:
        self._agents = agents
        self._closed = asyncio.Event()

    async def run(self, intake: Intake) -> None:  # noqa: ARG002 - the Protocol's
        """Wait: pages store by themselves what people say there."""
        await self._closed.wait()

    def pace(self, address: Address) -> float:  # noqa: ARG002 - the Protocol's
        """See :class:`bot.connector.Connector`; pages hear by themselves how a reply grows."""
        return 1.0

    def drafts(self, address: Address) -> bool:  # noqa: ARG002 - the Protocol's
        """A growing reply is no message yet."""
        return True

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """Whatever is committed can be seen; a message has one part, named by its token."""
        if isinstance(outbound, Say | Edit) and not outbound.partial:
            return (outbound.token,)
        return ()

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """Give an uploaded file its place in the conversation. Raises DeliveryRefused, OSError."""
        await asyncio.to_thread(self._place, attachment, target, most_bytes)

    async def find(
        self,
        outbound: Outbound,
        after: str | None,  # noqa: ARG002 - the Protocol's
        known: frozenset[str],  # noqa: ARG002 - likewise
    ) -> tuple[str, ...] | None:
        """What is in the book has arrived."""
        return (outbound.token,) if isinstance(outbound, Say | Edit) else None

    async def close(self) -> None:
        """End :meth:`run`."""
        self._closed.set()

    def _place(self, attachment: Attachment, target: Path, most_bytes: int) -> None:
        uploaded = (self._agents / attachment.ref).resolve()
        if self._agents.resolve() not in uploaded.parents or not uploaded.is_file():
            raise DeliveryRefused("it did not reach this machine; send it again")
        if uploaded.stat().st_size > most_bytes:
            raise DeliveryRefused(f"it is too large; at most {most_bytes / 1e6:,.0f} MB")
        beside = target.with_name(f".{uuid4().hex}~")
        try:
            # A second name, not a move: who dies before this is written down finds the upload again.
            os.link(uploaded, beside)
        except OSError:  # a disk without hard links
            with suppress(FileNotFoundError):
                shutil.copyfile(uploaded, beside)
        beside.replace(target)
        beside.unlink(missing_ok=True)  # it stays where both were names of the same file
