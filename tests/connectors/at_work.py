"""The whole program around one connector, in the test's process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import String, cast, update

from bot.app.main import ROLES, gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.bus import topics
from bot.connector import Connector
from bot.runtime.settings import Settings
from bot.runtime.tasks import stop
from bot.store.schema import outbox


@asynccontextmanager
async def at_work(settings: Settings, connector: Connector) -> AsyncIterator[Resources]:
    """All roles, until the end of the block. Raises what a role ended with."""
    async with open_resources(settings, listen=(connector.name,)) as resources:
        gateway = gateway_for(resources, connector, f"connector:{connector.name}")
        tasks = [asyncio.create_task(item) for item in (*inner_roles(resources, ROLES), gateway.run())]
        try:
            yield resources
        finally:
            ended = [task for task in tasks if task.done()]
            await stop(*tasks)
            await connector.close()
            for task in ended:
                task.result()


async def ends_before_it_is_written_down(resources: Resources, connector: str) -> None:
    """As if the gateway had ended while its messages went out, and the turns had then been stopped before a word."""
    are_shown = outbox.c.state == "ready", outbox.c.delivered == outbox.c.version, cast(outbox.c.refs, String) != "[]"
    cut_off = update(outbox).where(outbox.c.connector == connector, *are_shown)
    cut_off = cut_off.values(refs=[], sending=True, text="", version=outbox.c.version + 1)
    written_down = 0
    while not written_down:  # what people see already, as whole as it gets
        async with resources.database.write() as tx:
            written_down = (await tx.execute(cut_off)).rowcount
    resources.bus.ring(topics.outbox(connector))
