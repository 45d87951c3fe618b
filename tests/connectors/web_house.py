"""The whole program in the test's process, with a chat page that is really served, on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.agent.commands.table import offered
from bot.app.http import HttpServer
from bot.app.main import ROLES, Role, gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.messages import Address
from bot.page.routes import page_app
from bot.runtime.settings import Settings
from connectors.web import Web
from tests.leaks import lasting_keys, own_tasks


@dataclass(frozen=True)
class WebHouse:
    """A running program, and where its page is."""

    resources: Resources
    url: str

    def folder(self, name: str) -> Path:
        """A conversation's folder."""
        return self.resources.settings.data_dir / "agents" / Address("web", name).agent_id


@asynccontextmanager
async def open_web_house(settings: Settings, roles: Sequence[Role] = ROLES) -> AsyncIterator[WebHouse]:
    """The program with these roles, until the end of the block. Raises what a part of it ended with."""
    before = own_tasks()
    async with open_resources(settings, listen=("web",)) as resources:
        gateway = gateway_for(resources, Web(settings.data_dir / "agents"), "connector:web")
        page = page_app(
            settings, resources.database, resources.bus, resources.jobs, gateway.intake.store, commands=offered()
        )
        work = [gateway.run(), HttpServer(settings.http_bind, {}, page=page).run(), *inner_roles(resources, roles)]
        tasks = [asyncio.create_task(item) for item in work]
        try:
            await _listens(settings.http_bind)
            yield WebHouse(resources, f"http://{settings.http_bind}")
        finally:
            ended = [task for task in tasks if task.done() and not task.cancelled()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for task in ended:
                task.result()
        assert not await lasting_keys(resources.bus.redis), "keys are left in Redis"
    assert not (own_tasks() - before), "tasks are left"


async def _listens(bind: str) -> None:
    host, _, port = bind.rpartition(":")
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection(host, int(port))
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                await writer.wait_closed()
                return
