"""The whole program in the test's process, with the connectors of one stage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import select, text

from bot.app.http import HttpServer
from bot.app.main import gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.bus import topics
from bot.connector import Connector
from bot.runtime.settings import Settings
from bot.runtime.tasks import stop
from bot.store.schema import inbox

_UNDER_WAY = text(
    "SELECT (SELECT count(*) FROM inbox WHERE state <> 'done') + (SELECT count(*) FROM turns WHERE state = 'running')"
    " + (SELECT count(*) FROM compactions WHERE state IN ('planned', 'running'))"
    " + (SELECT count(*) FROM outbox WHERE state = 'ready' AND delivered < version)"
)


@asynccontextmanager
async def running(
    settings: Settings, connectors: Sequence[Connector], *, lease: str, chat: str | None = None
) -> AsyncIterator[Resources]:
    """All roles, and the HTTP server where a platform calls us, until the end of the block. ``lease``: of the first
    connector; others have their own."""
    async with open_resources(settings, listen=tuple(connector.name for connector in connectors)) as resources:
        names = {connector: lease if connector is connectors[0] else connector.name for connector in connectors}
        gateways = [gateway_for(resources, one, f"connector:{name}", chat=chat) for one, name in names.items()]
        work: list[Any] = [*inner_roles(resources, ("agents", "worker")), *(gateway.run() for gateway in gateways)]
        if hooks := {gateway.hook_path: gateway.receive for gateway in gateways if gateway.hook_path}:
            work.append(HttpServer(settings.http_bind, {}, hooks).run())
        tasks = [asyncio.create_task(item) for item in work]
        try:
            yield resources
        finally:
            ended = [task for task in tasks if task.done() and not task.cancelled()]
            await stop(*tasks)
            for connector in connectors:
                await connector.close()
            for task in ended:
                task.result()


async def at_rest(resources: Resources) -> None:
    """Return when all that was said is answered and delivered, and nothing runs."""
    async with resources.bus.bell(topics.SETTLED, topics.DELIVERED) as bell:
        while True:
            async with resources.database.read() as tx:
                if not (await tx.execute(_UNDER_WAY)).scalar_one():
                    return
            await bell.wait(0.2)


async def in_the_book(resources: Resources, said: str) -> None:
    """Return when the inbox has a message that reads so now."""
    async with resources.bus.bell(topics.INBOXES) as bell:
        while True:
            async with resources.database.read() as tx:
                if (await tx.execute(select(inbox.c.id).where(inbox.c.text == said))).first():
                    return
            await bell.wait(0.1)
