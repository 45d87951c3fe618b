"""The whole program around one connector, in the test's process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.app.main import ROLES, gateway_for, inner_roles
from bot.app.resources import Resources, open_resources
from bot.connector import Connector
from bot.runtime.settings import Settings
from bot.runtime.tasks import stop


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
