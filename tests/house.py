"""The whole program inside the test's process, on real parts: SQL, Valkey, arq, the `anthropic` client.

A :class:`Room` is the platform: people say things in it and see what a chat would show.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis.exceptions import RedisError

from bot.app.main import ROLES, Role, gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.connector import Intake
from bot.errors import DeliveryRefused
from bot.gateway.gateway import Gateway
from bot.history import History
from bot.messages import Address, Attachment, Edit, Inbound, Outbound, OutFile, React, Say, Status, Typing, Withdraw
from bot.runtime.settings import Settings
from bot.store import histories
from tests.leaks import lasting_keys, own_tasks
from tests.servers.messages import MessagesServer

PATIENCE = 60.0


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


class Room:
    """A connector whose platform is memory. Chats are told apart by name."""

    name = "room"

    def __init__(self) -> None:
        self.shown: dict[str, dict[str, Shown]] = {}
        self.typing: dict[str, list[bool]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.reactions: dict[str, list[str]] = {}
        self.files: dict[str, bytes] = {}
        self._files_may_go = asyncio.Event()
        self._files_may_go.set()
        self._intake: asyncio.Future[Intake] | None = None
        self._changed = asyncio.Condition()
        self._order = 0

    async def run(self, intake: Intake) -> None:
        self._future().set_result(intake)
        try:
            await asyncio.Event().wait()
        finally:
            self.forget_intake()

    def pace(self, address: Address) -> float:
        return 0.05

    def drafts(self, address: Address) -> bool:
        return False

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        await self._files_may_go.wait()
        if attachment.ref not in self.files:
            raise DeliveryRefused("it is gone")
        target.write_bytes(self.files[attachment.ref])

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        async with self._changed:
            refs = self._show(outbound)
            self._changed.notify_all()
        return refs

    async def find(self, outbound: Outbound, after: str | None, known: frozenset[str]) -> tuple[str, ...] | None:
        assert isinstance(outbound, Say)
        return (outbound.token,) if outbound.token in self.shown.get(outbound.address.chat, {}) else None

    async def close(self) -> None:
        """Nothing to let go of."""

    def hold_files(self) -> None:
        """What people attach from now on is on its way for long."""
        self._files_may_go.clear()

    def let_files_go(self) -> None:
        """It arrives."""
        self._files_may_go.set()

    async def says(
        self,
        text: str,
        *,
        chat: str = "1",
        person: str = "ada",
        key: str | None = None,
        files: Mapping[str, bytes] | None = None,
        **more: Any,
    ) -> None:
        """A person says something, with ``files`` by name; returns when it is stored."""
        self._order += 1
        attachments = tuple(Attachment(f"{self._order}/{name}", name, size=len(b)) for name, b in (files or {}).items())
        self.files |= {f"{self._order}/{name}": content for name, content in (files or {}).items()}
        key = key or f"message:{chat}:{self._order}"
        inbound = Inbound(
            Address(self.name, chat),
            key,
            "message",
            self._order,
            person,
            text,
            **{"ref": str(self._order), "attachments": attachments, **more},
        )
        await (await asyncio.shield(self._future())).store([inbound])

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

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until what is shown is so."""
        try:
            async with asyncio.timeout(PATIENCE), self._changed:
                await self._changed.wait_for(condition)
        except TimeoutError:
            raise AssertionError(f"it never came to that; shown: {self.shown}") from None

    def _show(self, outbound: Outbound) -> tuple[str, ...]:
        chat = outbound.address.chat
        if isinstance(outbound, Typing):
            self.typing.setdefault(chat, []).append(outbound.on)
        elif isinstance(outbound, React):
            self.reactions.setdefault(outbound.ref, []).append(outbound.emoji)
        elif isinstance(outbound, Status):
            self.facts[chat] = dict(outbound.facts)
        elif isinstance(outbound, Withdraw):
            for ref in outbound.refs:
                del self.shown[chat][ref]
        elif isinstance(outbound, Say | Edit):
            messages = self.shown.setdefault(chat, {})
            key = outbound.refs[0] if isinstance(outbound, Edit) else outbound.token
            assert isinstance(outbound, Edit) == (key in messages), "a message is said once and then edited"
            message = messages.setdefault(key, Shown("", notice=outbound.notice, partial=True))
            if isinstance(outbound, Say):
                message.answers, message.file = outbound.answers, outbound.file
            message.text, message.partial = outbound.text, outbound.partial
            message.texts.append(outbound.text)
            message.commands = tuple(button.command for button in outbound.buttons)
            return (key,)
        return ()

    def _future(self) -> asyncio.Future[Intake]:
        if self._intake is None or (self._intake.done() and self._intake.cancelled()):
            self._intake = asyncio.get_running_loop().create_future()
        return self._intake

    def forget_intake(self) -> None:
        """The program is gone; who speaks now waits for the next one."""
        self._intake = None


@dataclass
class House:
    """A running program."""

    room: Room
    resources: Resources
    tasks: list[asyncio.Task[None]]
    gateways: Sequence[Gateway] = ()

    async def history(self, chat: str = "1") -> History:
        """What is in the book."""
        async with self.resources.database.read() as tx:
            return await histories.load(tx, Address("room", chat).agent_id)

    def folder(self, chat: str = "1") -> Path:
        """The agent's folder."""
        return self.resources.settings.data_dir / "agents" / Address("room", chat).agent_id

    async def end(self) -> None:
        """Stop everything at once, as a crash would, but for what the event loop has to clean up."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.room.forget_intake()


@asynccontextmanager
async def open_house(settings: Settings, room: Room, roles: Sequence[Role] = ROLES) -> AsyncIterator[House]:
    """The program with these roles, until the end of the block. Raises what a role ended with."""
    before = own_tasks()
    async with open_resources(settings, listen=(room.name,) if "gateway" in roles else ()) as resources:
        work = inner_roles(resources, roles)
        gateways = [gateway_for(resources, room, "connector:room")] if "gateway" in roles else []
        work += [gateway.run() for gateway in gateways]
        house = House(room, resources, [asyncio.create_task(item) for item in work], gateways)
        try:
            yield house
        finally:
            ended = [task for task in house.tasks if task.done() and not task.cancelled()]
            await house.end()
            for task in ended:
                task.result()
        with suppress(RedisError):  # it may be that the test has taken Redis away
            assert not await lasting_keys(resources.bus.redis), "keys are left in Redis"
    assert not (own_tasks() - before), "tasks are left"


def settings_for(server: MessagesServer, data_dir: Path, **changes: Any) -> Settings:
    """Settings of a program that talks to this model server; nothing comes from the environment."""
    values: dict[str, Any] = {
        "data_dir": data_dir,
        "anthropic_api_key": "test-key",
        "anthropic_base_url": server.url,
        "model": "claude-sonnet-5",
        "access": "open",
        **changes,
    }
    return Settings(_env_file=None, **values)
