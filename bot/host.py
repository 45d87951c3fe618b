"""Hosts agents: takes the lease of an agent that has something to do, raises its epoch, and lets it live."""

from __future__ import annotations

import asyncio

import structlog

from bot.agent import SWEEP_SECONDS, Agent
from bot.bus import Lease
from bot.errors import BusUnavailable, StaleEpoch, StoreUnavailable
from bot.messages import AgentId
from bot.services import Services
from bot.store import agents, inbox, runs
from bot.tasks import stop

log = structlog.get_logger(__name__)

LEASE_SECONDS = 5.0
_INBOX = "inbox:"


class Host:
    """The agents of this process."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._running: dict[AgentId, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Wake agents until cancelled."""
        async with asyncio.TaskGroup() as tasks, self._services.bus.bell(_INBOX) as bell:
            while True:
                rung = await bell.wait(SWEEP_SECONDS)
                named = {AgentId(topic.removeprefix(_INBOX)) for topic in rung if topic}
                if not rung or None in rung:
                    named |= await self._with_work()
                for agent_id in named - self._running.keys():
                    task = tasks.create_task(self._live(agent_id))
                    self._running[agent_id] = task

    async def _with_work(self) -> set[AgentId]:
        try:
            async with self._services.database.read() as tx:
                return {*await inbox.agents_with_work(tx), *await runs.agents_with_unfinished_runs(tx)}
        except StoreUnavailable as error:
            log.warning("store_unavailable", reason=str(error))
            return set()

    async def _live(self, agent_id: AgentId) -> None:
        lease = self._services.bus.lease(f"agent:{agent_id}", LEASE_SECONDS)
        try:
            if await lease.take():
                try:
                    await self._with_lease(agent_id, lease)
                finally:
                    await lease.drop()
        except (BusUnavailable, StoreUnavailable) as error:
            log.warning("agent_waits", agent=agent_id, reason=str(error))
        finally:
            self._running.pop(agent_id, None)

    async def _with_lease(self, agent_id: AgentId, lease: Lease) -> None:
        async with self._services.database.write() as tx:
            row = await agents.claim(tx, agent_id)
        if row is None:
            return
        living = asyncio.create_task(Agent(self._services, row).run())
        keeping = asyncio.create_task(lease.keep())
        try:
            await asyncio.wait({living, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if not living.done():
                log.warning("lease_lost", agent=agent_id)
        finally:
            await stop(living, keeping)
        self._tell(agent_id, None if living.cancelled() else living.exception())

    def _tell(self, agent_id: AgentId, ended: BaseException | None) -> None:
        """An agent that ended otherwise than by itself is started again by the next sweep."""
        if ended is None:
            return
        causes = ended.exceptions if isinstance(ended, BaseExceptionGroup) else (ended,)
        if any(isinstance(cause, StaleEpoch) for cause in causes):
            log.warning("agent_moved", agent=agent_id)
        elif all(isinstance(cause, StoreUnavailable) for cause in causes):
            log.warning("store_unavailable", agent=agent_id, reason=str(causes[0]))
        else:
            log.error("agent_crashed", agent=agent_id, exc_info=ended)
