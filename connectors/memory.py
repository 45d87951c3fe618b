"""Both sides of the seam between a platform and the program, in memory: for tests.

:class:`MemoryConnector` is a platform whose people are a test: put a gateway around it, say something, and look at what
was delivered. :class:`MemoryIntake` is where the connector that you write stores what it received, without a gateway.
Both can be told to fail.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.connector import Intake
from bot.errors import DeliveryError, DeliveryRefused, StoreUnavailable
from bot.messages import Address, Attachment, Edit, Inbound, Outbound, OutFile, React, Say, Status, Typing, Withdraw


class _Watched:
    """Something that can be waited for."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._changed = asyncio.Condition()

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when this is so. Raises AssertionError, with what there is, when it does not come to that."""
        try:
            async with asyncio.timeout(self._patience), self._changed:
                await self._changed.wait_for(condition)
        except TimeoutError:
            raise AssertionError(f"it never came to that; there is: {self.describe()}") from None

    def describe(self) -> str:
        """What there is."""
        raise NotImplementedError

    async def _tell(self) -> None:
        """Let everybody who waits look again."""
        async with self._changed:
            self._changed.notify_all()


@dataclass
class Shown:
    """One message as people see it now, and every text that it had."""

    text: str
    notice: bool
    partial: bool
    texts: list[str] = field(default_factory=list)
    commands: tuple[str, ...] = ()
    answers: str = ""
    file: OutFile | None = None


class MemoryConnector(_Watched):
    """A platform in memory. Its chats are told apart by name, and a message's id is the token that it was sent with."""

    def __init__(
        self, name: str = "memory", *, pace: float = 0.05, drafts: bool = False, patience: float = 60.0
    ) -> None:
        """``pace`` and ``drafts``: see the Protocol; ``patience``: seconds for which something is waited for."""
        super().__init__(patience)
        self.name = name
        self.delivered: list[Outbound] = []
        """All that reached the platform, in its order."""
        self.shown: dict[str, dict[str, Shown]] = {}
        """What people see now, by chat and by the message's id."""
        self.typing: dict[str, list[bool]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        """The last status, by chat."""
        self.reactions: dict[str, list[str]] = {}
        """By what they were put on."""
        self.files: dict[str, bytes] = {}
        """What people attached, by ref."""
        self._pace = pace
        self._drafts = drafts
        self._failures: deque[tuple[DeliveryError, bool]] = deque()
        self._intake: Intake | None = None
        self._order = 0

    async def says(
        self,
        text: str,
        *,
        chat: str = "1",
        person: str = "ada",
        key: str | None = None,
        files: Mapping[str, bytes] | None = None,
        **more: Any,
    ) -> int:
        """A person says something, with ``files`` by name and ``more`` fields of an Inbound; returns when it is stored,
        and how many rows were new.

        While no gateway works, it waits for the next one. Raises what the intake raises.
        """
        self._order += 1
        attachments = tuple(Attachment(f"{self._order}/{name}", name, size=len(b)) for name, b in (files or {}).items())
        self.files |= {f"{self._order}/{name}": content for name, content in (files or {}).items()}
        inbound = Inbound(
            Address(self.name, chat),
            key or f"message:{chat}:{self._order}",
            "message",
            self._order,
            person,
            text,
            **{"ref": str(self._order), "attachments": attachments, **more},
        )
        async with self._changed:
            await self._changed.wait_for(lambda: self._intake)
            intake = self._intake
        assert intake
        return await intake.store([inbound])

    async def asks(self, text: str, *, chat: str = "1") -> str:
        """Say something, and wait for the reply."""
        before = len(self.replies(chat))
        await self.says(text, chat=chat)
        await self.until(lambda: len(self.replies(chat)) > before)
        return self.replies(chat)[-1]

    async def commands(self, text: str, *, chat: str = "1") -> str:
        """Give a command, and wait for the program's answer."""
        before = len(self.notices(chat))
        await self.says(text, chat=chat)
        await self.until(lambda: len(self.notices(chat)) > before)
        return self.notices(chat)[before]

    def replies(self, chat: str = "1") -> list[str]:
        """The model's finished replies."""
        return [m.text for m in self.shown.get(chat, {}).values() if not m.notice and not m.partial]

    def notices(self, chat: str = "1") -> list[str]:
        """What the program says, as it reads now."""
        return [m.text for m in self.shown.get(chat, {}).values() if m.notice]

    def is_typing(self, chat: str = "1") -> bool:
        """Whether the last word on typing was yes."""
        return bool(self.typing.get(chat)) and self.typing[chat][-1]

    def fails(self, *errors: DeliveryError, arrives: bool = False) -> None:
        """The next messages fail, each with the next of these; ``arrives``: people see them all the same."""
        self._failures += [(error, arrives) for error in errors]

    def describe(self) -> str:
        """What is shown."""
        return str(self.shown)

    async def run(self, intake: Intake) -> None:
        """See the Protocol."""
        async with self._changed:
            self._intake = intake
            self._changed.notify_all()
        try:
            await asyncio.Event().wait()
        finally:
            if self._intake is intake:  # whoever speaks now waits for the next gateway
                self._intake = None

    def pace(self, address: Address) -> float:  # noqa: ARG002 - the same everywhere
        """See the Protocol."""
        return self._pace

    def drafts(self, address: Address) -> bool:  # noqa: ARG002 - the same everywhere
        """See the Protocol."""
        return self._drafts

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        """See the Protocol."""
        async with self._changed:
            is_message = isinstance(outbound, Say | Edit | Withdraw)
            error, arrives = self._failures.popleft() if is_message and self._failures else (None, True)
            refs = self._show(outbound) if arrives else ()
            self._changed.notify_all()
        if error:
            raise error
        return refs

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        """See the Protocol."""
        content = self.files.get(attachment.ref)
        if content is None:
            raise DeliveryRefused("it is gone")
        if len(content) > most_bytes:
            raise DeliveryRefused(f"it is larger than {most_bytes:,} bytes")
        await asyncio.to_thread(target.write_bytes, content)

    async def find(
        self,
        outbound: Outbound,
        after: str | None,  # noqa: ARG002 - a token is enough to look it up
        known: frozenset[str],  # noqa: ARG002 - likewise
    ) -> tuple[str, ...] | None:
        """See the Protocol."""
        assert isinstance(outbound, Say)
        return (outbound.token,) if outbound.token in self.shown.get(outbound.address.chat, {}) else None

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _show(self, outbound: Outbound) -> tuple[str, ...]:
        chat = outbound.address.chat
        match outbound:
            case Typing():
                self.typing.setdefault(chat, []).append(outbound.on)
            case React():
                self.reactions.setdefault(outbound.ref, []).append(outbound.emoji)
            case Status():
                self.facts[chat] = dict(outbound.facts)
            case Withdraw():
                for ref in outbound.refs:
                    self.shown.get(chat, {}).pop(ref, None)
            case Say() | Edit():
                refs = self._show_message(outbound)
                self.delivered.append(outbound)
                return refs
        self.delivered.append(outbound)
        return ()

    def _show_message(self, said: Say | Edit) -> tuple[str, ...]:
        messages = self.shown.setdefault(said.address.chat, {})
        if isinstance(said, Edit):
            ref = said.refs[0]
            if ref not in messages:
                raise DeliveryRefused("there is no such message")
            message = messages[ref]
        elif said.partial and self._drafts:
            return ()
        else:
            ref = said.token
            while ref in messages:  # who sends a message twice is seen to do so
                ref += " again"
            message = messages[ref] = Shown("", said.notice, said.partial, answers=said.answers, file=said.file)
        message.text, message.partial = said.text, said.partial
        message.texts.append(said.text)
        message.commands = tuple(button.command for button in said.buttons)
        return (ref,)


class MemoryIntake(_Watched):
    """What a connector received: each event once, whatever it is, for nobody is asked who may talk."""

    def __init__(
        self,
        *,
        cursor: str | None = None,
        refusals: int = 0,
        answer: Callable[[Inbound], Awaitable[object]] | None = None,
        patience: float = 10.0,
    ) -> None:
        """``cursor``: what was stored before; ``answer`` runs to settle a message; ``patience``: seconds for which
        something is waited for."""
        super().__init__(patience)
        self.inbounds: list[Inbound] = []
        """What was stored."""
        self.again: list[Inbound] = []
        """What was brought again after that."""
        self.refused: list[Inbound] = []
        """What was brought while the database was away."""
        self.refusals = refusals
        """For so many calls yet it is: nothing is stored, and no chats are told."""
        self.saved_cursor = cursor
        self.known_chats: list[Address] = []
        """Conversations of before, the last active first."""
        self.news: list[tuple[str, ...]] = []
        """Of chats: ``(chat, "open")``, ``(chat, "closed")``, ``(chat, "moved", moved_to)``."""
        self.waits: list[float] = []
        """For how long the database was waited for, at most."""
        self.settled_for = 0
        """How often somebody waited until all was settled."""
        self._answer = answer

    @property
    def texts(self) -> list[str]:
        """What was said, in the order of storing."""
        return [inbound.text for inbound in self.inbounds]

    @property
    def keys(self) -> list[str]:
        """Likewise."""
        return [inbound.key for inbound in self.inbounds]

    @property
    def last(self) -> Inbound:
        """What was stored last."""
        return self.inbounds[-1]

    def describe(self) -> str:
        """What is stored."""
        return f"{self.texts}, cursor {self.saved_cursor}"

    async def store(self, inbounds: Sequence[Inbound], *, cursor: str | None = None) -> int:
        """See the Protocol."""
        await self._refuse(inbounds)
        new = 0
        for inbound in inbounds:
            is_known = inbound.key in self.keys
            (self.again if is_known else self.inbounds).append(inbound)
            new += not is_known
        if cursor is not None:
            self.saved_cursor = cursor
        await self._tell()
        return new

    async def until_back(self, most: float) -> None:
        """It is back at once."""
        self.waits.append(most)
        await asyncio.sleep(0)

    async def cursor(self) -> str | None:
        """See the Protocol."""
        return self.saved_cursor

    async def chats(self, limit: int) -> list[Address]:
        """See the Protocol."""
        await self._refuse()
        active = (inbound.address for inbound in reversed(self.inbounds))
        return list(dict.fromkeys([*active, *self.known_chats]))[:limit]

    async def heard(self, address: Address, since: int) -> Mapping[str, int]:
        """See the Protocol."""
        said = [one for one in self.inbounds if one.kind == "message" and one.address == address]
        return {one.key: one.order for one in said if one.order >= since}

    async def reachable(self, chat: str, *, yes: bool) -> None:
        """See the Protocol."""
        await self._refuse()
        self.news.append((chat, "open" if yes else "closed"))
        await self._tell()

    async def moved(self, chat: str, moved_to: str) -> None:
        """See the Protocol."""
        await self._refuse()
        self.news.append((chat, "moved", moved_to))
        await self._tell()

    async def settled(self, address: Address) -> None:  # noqa: ARG002 - whatever was said last
        """See the Protocol."""
        self.settled_for += 1
        if self._answer and self.inbounds:
            await self._answer(self.inbounds[-1])

    async def _refuse(self, inbounds: Sequence[Inbound] = ()) -> None:
        if self.refusals:
            self.refusals -= 1
            self.refused += inbounds
            await self._tell()
            raise StoreUnavailable("the database is locked")
