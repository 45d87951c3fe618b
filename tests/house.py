"""The whole program inside the test's process, on real parts: SQL, Valkey, arq, the `anthropic` client.

A :class:`Room` is the platform: people say things in it and see what a chat would show.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from redis.exceptions import RedisError
from sqlalchemy import select

from bot.app.main import ROLES, Role, gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.gateway.gateway import Gateway
from bot.history import History
from bot.messages import Address, AgentId, Attachment, Edit, Outbound, Say
from bot.model import Link, Model
from bot.runtime.settings import Settings, load_settings
from bot.store import histories, runs, work
from bot.store.runs import Run
from bot.store.schema import compactions
from connectors.memory import MemoryConnector
from tests.leaks import lasting_keys, own_tasks
from tests.servers.chat.manners import GATEWAY
from tests.servers.messages.server import MessagesServer

PATIENCE = 60.0


class Room(MemoryConnector):
    """The platform of these tests. A message is said once there and then edited, and files may take long."""

    def __init__(self, patience: float = PATIENCE) -> None:
        super().__init__("room", patience=patience)
        self._files_may_go = asyncio.Event()
        self._files_may_go.set()

    async def deliver(self, outbound: Outbound) -> tuple[str, ...]:
        if isinstance(outbound, Say | Edit):
            ref = outbound.refs[0] if isinstance(outbound, Edit) else outbound.token
            is_there = ref in self.shown.get(outbound.address.chat, {})
            assert isinstance(outbound, Edit) == is_there, "a message is said once and then edited"
        return await super().deliver(outbound)

    async def fetch(self, attachment: Attachment, target: Path, *, most_bytes: int) -> None:
        await self._files_may_go.wait()
        await super().fetch(attachment, target, most_bytes=most_bytes)

    def hold_files(self) -> None:
        """What people attach from now on is on its way for long."""
        self._files_may_go.clear()

    def let_files_go(self) -> None:
        """It arrives."""
        self._files_may_go.set()


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

    async def trace(self, chat: str = "1") -> str:
        """The day's file, once all compactions stand in it: which is a little later than they are told in the chat."""
        await runs_at_rest(self, Address("room", chat).agent_id)
        (path,) = self.folder(chat).glob("compaction_*.md")
        return path.read_text(encoding="utf-8")

    async def end(self) -> None:
        """Stop everything at once, as a crash would, but for what the event loop has to clean up."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@asynccontextmanager
async def open_house(
    settings: Settings,
    room: Room,
    roles: Sequence[Role] = ROLES,
    *,
    model: Model | Link | None = None,
    fallback: Sequence[Link] = (),
) -> AsyncIterator[House]:
    """The program with these roles, until the end of the block. Raises what a role ended with. ``model``: in place of
    the server that the settings name; ``fallback``: those that are asked where it is away."""
    before = own_tasks()
    listen = (room.name,) if "gateway" in roles else ()
    async with open_resources(settings, listen=listen, model=model, fallback=fallback) as resources:
        work = inner_roles(resources, roles)
        gateways = [gateway_for(resources, room, "connector:room")] if "gateway" in roles else []
        work += [gateway.run() for gateway in gateways]
        house = House(room, resources, [asyncio.create_task(item) for item in work], gateways)
        await asyncio.sleep(0)  # each has begun: of what cannot be, a role has ended
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


Wire = Literal["messages", "chat"]
WIRES: tuple[Wire, ...] = ("messages", "chat")
MODEL = "claude-sonnet-5"


async def runs_at_rest(running: House, agent_id: AgentId) -> list[Run]:
    """Once nothing is left to do in a conversation: all of its compactions."""
    database = running.resources.database
    async with asyncio.timeout(PATIENCE):
        while True:
            async with database.read() as tx:
                if not await work.has_work(tx, agent_id, now=database.clock()):
                    own = select(compactions).where(compactions.c.agent_id == agent_id)
                    rows = await tx.execute(own.order_by(compactions.c.started_at))
                    return [runs.run_of(row) for row in rows.mappings()]
            await asyncio.sleep(0.01)


def settings_for(server: MessagesServer, data_dir: Path, wire: Wire = "messages", /, **changes: Any) -> Settings:
    """Settings of a program that talks to this model server over this wire; nothing comes from the environment. A model
    has the same name on both."""
    always = {"data_dir": data_dir, "access": "open", "model": MODEL, "model_patience": 0}
    values: dict[str, Any] = {**always, **changes}
    if wire == "chat":
        server.manner = GATEWAY
        server.listed |= {values["model"], *filter(None, [values.get("compaction_model")])}
        values |= {
            "model": f"openai/{values['model']}",
            "providers": {"openai": {"key": "test-key", "base_url": server.chat_url}},
        }
    else:
        import bot.model.anthropic_sdk  # noqa: F401  # takes a second the first time, which no test should wait for

        values = {"anthropic_api_key": "test-key", "anthropic_base_url": server.url, **values}
    return load_settings(_env_file=None, **values)
