"""Hosts agents: takes the lease of an agent that has something to do, raises its epoch, and lets it live.

A process keeps so many agents awake and no more. What it has no place for waits in the book, where whoever has waited
longest is taken first, by this host or by another one. An agent that another host has is *watched*: its lease is tried
again when it must have run out, so that a host that died is noticed by whoever has a place for its agents.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import structlog

from bot.agent.agent import Agent
from bot.agent.services import Services
from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS, Bell
from bot.bus.bus import Bus
from bot.bus.leases import AGENT, Lease
from bot.bus.topics import Topic
from bot.errors import BusUnavailable, StaleEpoch, StoreUnavailable
from bot.messages import AgentId
from bot.runtime.shutdown import Shutdown
from bot.runtime.tasks import stop
from bot.runtime.telemetry import telemetry
from bot.store import Database, Tx, agents, appointments, turns, work
from bot.store.agents import AgentRow

log = structlog.get_logger(__name__)

_SURELY_SECONDS = 0.01
"""After an instant it is surely past, however clocks round."""
_MOST_SEEN = 10_000
"""Agents that a look into the book finds at once, and that are watched."""


class Host:
    """The agents of this process."""

    def __init__(self, services: Services, shutdown: Shutdown | None = None) -> None:
        self._services = services
        self._shutdown = shutdown or Shutdown()

    async def run(self) -> None:
        """Wake agents until cancelled, or until the end of the process: then let them come to their ends."""
        services, shutdown = self._services, self._shutdown
        async with asyncio.TaskGroup() as tasks, services.bus.bell(topics.INBOXES, topics.APPOINTMENTS) as bell:
            hosting = _Hosting(
                partial(Agent, services),
                database=services.database,
                bus=services.bus,
                most=services.settings.agents.at_once,
                shutdown=shutdown,
                bell=bell,
                tasks=tasks,
            )
            ending = tasks.create_task(self._strike_at_the_end(bell))
            try:
                await hosting.run()
            finally:
                ending.cancel()
                shutdown.agents_are_gone()

    async def _strike_at_the_end(self, bell: Bell) -> None:
        await self._shutdown.wait()
        bell.strike(None)


class _Hosting:
    """What a host does while it runs, in ``tasks``. ``agent``: makes one of its row; ``most``: awake at once."""

    def __init__(
        self,
        agent: Callable[[AgentRow], Agent],
        *,
        database: Database,
        bus: Bus,
        most: int,
        shutdown: Shutdown,
        bell: Bell,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._agent = agent
        self._database = database
        self._bus = bus
        self._most = most
        self._shutdown = shutdown
        self._bell = bell
        self._tasks = tasks
        self._running: dict[AgentId, asyncio.Task[None]] = {}
        self._awake: dict[AgentId, Agent] = {}
        self._watched: dict[AgentId, float] = {}
        """Agents that others have, and when their leases are to be tried again."""
        self._line: deque[AgentId] = deque()
        """Who found no place when the book was looked at last, and has waited longest first. While anybody stands here,
        nobody who comes later gets a place."""
        self._more = False
        """Somebody came later and found no place: there is more in the book than stands in the line."""
        self._next_sweep = 0.0
        self._next_due = math.inf
        """When the next appointment is due, or the next prompt cache about to expire, whoever's it is, on the loop's
        clock."""

    async def run(self) -> None:
        """Wake agents until the end of the process, then let them come to their ends."""
        while not self._shutdown.begun:
            await self._wake(await self._bell.wait(self._patience()))
        await self._hand_over()

    def _patience(self) -> float:
        due = min(self._watched.values(), default=self._next_sweep)
        return max(0.0, min(due, self._next_sweep, self._next_due) - _now())

    async def _wake(self, rung: set[Topic | None]) -> None:
        if self._shutdown.begun:
            return
        named = [AgentId(topics.whose(topic)) for topic in rung if topic and topics.is_inbox(topic)]
        is_short = self._more and not self._line and len(self._running) < self._most
        if None in rung or is_short or _now() >= min(self._next_sweep, self._next_due):
            await self._sweep()
        elif len(named) < len(rung):
            await self._look_at_appointments()
        due = [agent_id for agent_id, when in self._watched.items() if when <= _now()]
        for agent_id in due:
            del self._watched[agent_id]
        self._line.extend(due)
        self._start_from_line()
        self._start(named)

    def _start_from_line(self) -> None:
        while self._line and len(self._running) < self._most:
            agent_id = self._line.popleft()
            if agent_id not in self._running:
                self._running[agent_id] = self._tasks.create_task(self._live(agent_id, surely=False))
        if self._line:
            self._give_up_idle()

    def _start(self, named: Sequence[AgentId]) -> None:
        """Who was rung for. Whoever finds no place is found again by a look into the book, in fair order."""
        for agent_id in named:
            if agent_id in self._running:
                continue
            if self._line or self._more or len(self._running) >= self._most:
                self._more = True
                self._give_up_idle()
                return
            self._running[agent_id] = self._tasks.create_task(self._live(agent_id))

    async def _sweep(self) -> None:
        """Look for what a lost bell left, and for what found no place."""
        self._next_sweep = _now() + SWEEP_SECONDS
        now = self._database.clock()
        try:
            async with self._database.read() as tx:
                waiting = await work.waiting_agents(tx, _MOST_SEEN, now=now)
                self._wait_until(await _next_instant(tx, now), now)
            for agent_id in waiting:
                if agent_id in self._awake:
                    self._awake[agent_id].take_due()
                if agent_id in self._running:
                    self._bus.wake(topics.inbox(agent_id))  # the bell for it may have been lost
            others = [agent_id for agent_id in waiting if agent_id not in self._running]
            left = await self._bus.leases.left([AGENT.of(agent_id) for agent_id in others])
        except (StoreUnavailable, BusUnavailable) as error:
            log.warning("host_waits", reason=str(error))
            return
        self._more = False
        self._watched.clear()
        for agent_id in others:
            if seconds := left.get(AGENT.of(agent_id)):
                self._watch(agent_id, seconds)
        self._line = deque(agent_id for agent_id in others if agent_id not in self._watched)

    async def _look_at_appointments(self) -> None:
        """One was made: it may be the next one. A sweep finds what is not seen here."""
        now = self._database.clock()
        with suppress(StoreUnavailable):
            async with self._database.glance() as tx:
                self._wait_until(await _next_instant(tx, now), now)

    def _wait_until(self, instant: float | None, now: float) -> None:
        self._next_due = math.inf if instant is None else _now() + instant - now + _SURELY_SECONDS

    def _give_up_idle(self) -> None:
        """Whoever has something to do comes before whoever has not."""
        for agent in self._awake.values():
            if agent.is_idle:
                agent.leave()

    def _watch(self, agent_id: AgentId, seconds: float) -> None:
        if len(self._watched) < _MOST_SEEN:
            self._watched[agent_id] = _now() + seconds + random.uniform(0, AGENT.retry_seconds)

    async def _live(self, agent_id: AgentId, *, surely: bool = True) -> None:
        """``surely``: there is something to do for it; else that is looked up once it is ours."""
        lease = self._bus.lease(AGENT.of(agent_id), AGENT.seconds)
        lease.on_again = partial(self._bus.wake, topics.epoch(agent_id))  # is it still ours in the book?
        try:
            if await lease.take():
                await self._with_lease(agent_id, lease, surely=surely)
            else:
                self._watch(agent_id, await lease.left())
        except (BusUnavailable, StoreUnavailable) as error:
            log.warning("agent_waits", agent=agent_id, reason=str(error))
        except Exception:  # a defect around one agent must not end the others; a sweep comes back to it
            log.exception("agent_crashed", agent=agent_id)
        finally:
            self._running.pop(agent_id, None)
            self._bell.nudge()  # there is a place again, or somebody to watch

    async def _with_lease(self, agent_id: AgentId, lease: Lease, *, surely: bool) -> None:
        crashed = False
        try:
            if surely or await self._has_work(agent_id):
                crashed = not await self._keep_awake(agent_id, lease)
        finally:
            await lease.drop()
            if not crashed:  # else it would crash again at once; a sweep gives it a while
                await self._pass_on(agent_id)

    async def _has_work(self, agent_id: AgentId) -> bool:
        async with self._database.read() as tx:
            return await work.has_work(tx, agent_id, now=self._database.clock())

    async def _pass_on(self, agent_id: AgentId) -> None:
        """Whoever was rung for it while we had the lease could not take it: ring again, now that they can."""
        async with self._database.read() as tx:
            look = work.has_work if self._shutdown.begun else work.is_waited_for
            if not await look(tx, agent_id, now=self._database.clock()):
                return
        self._bus.ring(topics.inbox(agent_id))

    async def _keep_awake(self, agent_id: AgentId, lease: Lease) -> bool:
        """Let it live until it ends; False when that was not by itself."""
        async with self._database.write() as tx:
            row = await agents.claim(tx, agent_id)
        if row is None:
            return True
        agent = self._awake[agent_id] = self._agent(row)
        if self._shutdown.begun:
            agent.leave()
        living = asyncio.create_task(agent.run())
        keeping = asyncio.create_task(lease.keep())
        try:
            await asyncio.wait({living, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if not living.done():
                telemetry.lease_lost("agent")
                log.warning("lease_lost", agent=agent_id)
        finally:
            del self._awake[agent_id]
            await stop(living, keeping)
        ended = None if living.cancelled() else living.exception()
        self._tell(agent_id, ended)
        if ended is not None or keeping.done():
            await self._excuse(row, lease)
        return ended is None

    async def _excuse(self, row: AgentRow, lease: Lease) -> None:
        """An agent that was taken from us while we were well: what it was at was no failure. It is a number beside
        the conversation, so it needs no fence. Where we stood still, that may be what it was at: it counts
        as a failure."""
        if lease.is_overdue:
            return
        with suppress(StoreUnavailable):
            async with self._database.write() as tx:
                if await agents.epoch(tx, row.id) != row.epoch:
                    await turns.give_back_moved(tx, row.id)

    async def _hand_over(self) -> None:
        """Answers under way may come to their end; what has not at the deadline is gone on with by another host."""
        for agent in self._awake.values():
            agent.leave()
        if self._running:
            log.info("agents_leave", agents=len(self._running), seconds=round(self._shutdown.left, 1))
            await asyncio.wait(self._running.values(), timeout=self._shutdown.left)
        cut_off = list(self._running.items())
        if cut_off:
            log.info("agents_handed_over", agents=[agent_id for agent_id, _ in cut_off])
        await stop(*(task for _, task in cut_off))

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


async def _next_instant(tx: Tx, now: float) -> float | None:
    """When somebody has to look next. A quiet moment rings no bell: it is minutes away when it is written down, and a
    sweep finds it before."""
    known = [await appointments.next_instant(tx, now=now), await work.next_quiet(tx, now=now)]
    return min((instant for instant in known if instant is not None), default=None)


def _now() -> float:
    """Seconds of the loop's clock, which nobody sets."""
    return asyncio.get_running_loop().time()
