"""A conversation is taken from whoever has it, while a command works on it.

Whoever takes it is a host for a moment: its epoch is raised, so that whoever had it in memory can write no more, and
while its lease is held nobody else sets the agent up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum

from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.leases import AGENT_UNRENEWED, Lease
from bot.bus.topics import Topic
from bot.errors import BusUnavailable
from bot.messages import AgentId
from bot.runtime.tasks import stop
from bot.store import Database, agents, work

_PATIENCE_SECONDS = 10.0


class Hold(StrEnum):
    """How far a conversation is ours."""

    OURS = "ours"
    """Its lease is held."""
    HELD = "held"
    """A process does not let go of it."""
    UNREACHED = "unreached"
    """Redis cannot be reached, so no process could be told."""


@asynccontextmanager
async def taken(database: Database, bus: Bus, agent_id: AgentId) -> AsyncIterator[Hold]:
    """Nobody else has it until the end of the block, as far as they can be told."""
    async with database.write() as tx:
        await agents.raise_epoch(tx, agent_id)
    lease = bus.lease(AGENT_UNRENEWED.of(agent_id), AGENT_UNRENEWED.seconds)
    try:
        hold = Hold.OURS if await _take(bus, lease, topics.epoch(agent_id)) else Hold.HELD
    except BusUnavailable:
        hold = Hold.UNREACHED
    keeping = asyncio.create_task(lease.keep()) if hold is Hold.OURS else None
    try:
        yield hold
    finally:
        if keeping:
            await stop(keeping)
            await lease.drop()


async def wake(database: Database, bus: Bus, agent_id: AgentId) -> None:
    """Whoever wrote meanwhile need not wait for a sweep."""
    async with database.read() as tx:
        waits = await work.has_work(tx, agent_id, now=database.clock())
    if waits:
        bus.ring(topics.inbox(agent_id))


async def _take(bus: Bus, lease: Lease, topic: Topic) -> bool:
    patience = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    while not await lease.take():
        if asyncio.get_running_loop().time() > patience:
            return False
        bus.ring(topic)
        await asyncio.sleep(AGENT_UNRENEWED.retry_seconds)
    return True
