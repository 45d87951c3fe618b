"""A conversation in this terminal, or over its pipes, with everything it needs in this process.

People can write before the rest is there: the terminal runs first, and what is said waits until the gateway is.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.app.folder_locks import only_terminal_of
from bot.app.loading import load_what_is_heavy
from bot.app.main import gateway_for, inner_roles
from bot.app.platforms import terminal
from bot.bus import topics
from bot.messages import Address
from bot.runtime.settings import Settings
from bot.runtime.shutdown import until_signal
from bot.runtime.tasks import run_together, stop

if TYPE_CHECKING:
    from bot.connector import Connector


async def chat(settings: Settings, address: Address, notes: Sequence[str] = ()) -> None:
    """Talk until the input ends, or a signal comes. ``notes`` are said before it begins.

    Raises a PalimpsestError with a sentence that says what to do.
    """
    with only_terminal_of(settings, address):
        async with until_signal(signal.SIGTERM, signal.SIGHUP):
            await _chat(settings, address, notes)


async def _chat(settings: Settings, address: Address, notes: Sequence[str]) -> None:
    from bot.app.deferred_connector import DeferredConnector

    deferred = DeferredConnector(terminal(settings, address, notes))
    serving = asyncio.create_task(_serve_chat(settings, address, deferred))
    try:
        await asyncio.wait({deferred.running, serving}, return_when=asyncio.FIRST_COMPLETED)
        if not deferred.running.done():
            await serving
    finally:
        await deferred.close()
        await stop(deferred.running, serving)
    for task in (deferred.running, serving):
        if not task.cancelled():
            task.result()


async def _serve_chat(settings: Settings, address: Address, connector: Connector) -> None:
    await load_what_is_heavy()
    from bot.app.resources import open_resources
    from bot.bus.leases import CONNECTOR

    async with open_resources(settings, listen=(connector.name,)) as resources:
        inner = inner_roles(resources, ("agents", "worker"))
        gateway = gateway_for(resources, connector, CONNECTOR.of(address.agent_id), chat=address.chat)
        resources.bus.ring(topics.inbox(address.agent_id))  # its agent shows how full it is
        await run_together([gateway.run(), *inner], until_first=True)
