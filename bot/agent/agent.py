"""An agent: the actor of one conversation. One turn at a time; commands are answered at once, whatever runs.

Set-up sees through what a crash left open; then the loop takes what waits in the inbox, until nothing has happened for
a while. The host keeps the lease and cancels the agent when it is lost.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from bot.agent.assembly import Assembly, Life
from bot.agent.inbox_loop import InboxLoop
from bot.agent.quarantine import MOST_STARTS
from bot.agent.retries import DIED
from bot.agent.services import Services
from bot.agent.turns.ending import MOST_TRIES
from bot.errors import StaleEpoch, StoreUnavailable
from bot.store import agents, turns
from bot.store.agents import AgentRow
from bot.store.turns import TurnRow

log = structlog.get_logger(__name__)

_REST_SECONDS = 1.0
"""Before an agent that could not be set up is begun again: twice as long each time."""
_LOOK_SECONDS = 5.0
"""After so long it is tried whether the book is back, whatever is known of it."""


class Agent:
    """One conversation, on the host that has it."""

    def __init__(self, services: Services, row: AgentRow) -> None:
        self._database = services.database
        self._assembly = Assembly(services, row)
        self._agent_id = row.id
        self._starts = row.starts
        self._loop: InboxLoop | None = None
        """While it is awake."""
        self._leaving = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way here."""
        return self._loop is not None and self._loop.is_idle

    def leave(self) -> None:
        """Begin nothing more, and end as soon as the turn has that runs. What else there is waits for the next host."""
        self._leaving = True
        if self._loop:
            self._loop.leave()

    def take_due(self) -> None:
        """An appointment of its may be due, or its quiet moment have come."""
        if self._loop:
            self._loop.take_due()

    async def run(self) -> None:
        """Live until idle. Raises StaleEpoch when another host took over, StoreUnavailable."""
        with structlog.contextvars.bound_contextvars(agent=self._agent_id):
            if self._starts > MOST_STARTS:
                await self._assembly.quarantine.run()
                return
            async with asyncio.TaskGroup() as tasks:
                life = self._assembly.life(tasks)
                self._loop = life.loop
                if self._leaving:
                    life.loop.leave()
                await self._begin(life)
                try:
                    await life.loop.run()
                except Exception:
                    life.runner.crash()
                    raise

    async def _begin(self, life: Life) -> None:
        """Set up. What keeps an agent from that will do so again: it is let rest before another start."""
        try:
            await self._set_up(life)
        except StoreUnavailable:
            await self._excuse_start()
            raise
        except (StaleEpoch, asyncio.CancelledError):
            with suppress(StoreUnavailable):
                async with self._database.write() as tx:
                    await agents.no_failure(tx, self._agent_id)
            raise
        except Exception:
            log.exception("agent_crashed", starts=self._starts)
            await asyncio.sleep(_REST_SECONDS * 2 ** min(self._starts, MOST_STARTS))
            raise

    async def _excuse_start(self) -> None:
        """It was the book that was away. It says so once it is back, however long that takes: until then nobody else
        could begin either, and whoever fails too often is put aside."""
        while True:
            await self._database.until_back(_LOOK_SECONDS)
            with suppress(StoreUnavailable):
                async with self._database.write() as tx:
                    await agents.no_failure(tx, self._agent_id)
                return

    async def _set_up(self, life: Life) -> None:
        context = self._assembly.context
        await context.load()
        await self._assembly.model_choice.take_up()
        await life.compactor.resume()
        async with self._database.read() as tx:
            cut_off = await turns.running(tx, self._agent_id)
        if cut_off:
            await self._resume(life, cut_off)
        if self._starts > 1:
            async with context.step():
                pass  # any step says that it could be set up
        self._assembly.live.show_meter()

    async def _resume(self, life: Life, cut_off: TurnRow) -> None:
        """Go on with a turn that was cut off, unless that happened too often."""
        turn = life.beginning.again(cut_off)
        if turn.tries >= MOST_TRIES:
            await turn.put_aside(DIED, was_killed=True)
            return
        await turn.again(was_killed=True)
        log.info("turn_resumed", turn=turn.id, tries=turn.tries)
        life.runner.start(turn)
