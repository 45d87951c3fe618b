"""What the model is asked in the background, between compactions: a run of its own, one at a time, whose end changes
nothing that the model or people read, and for which nobody waits.

::

    enough to do? ─▶ run row ─▶ job ─▶ result in the row ─▶ landed
                        └ abort, or a compaction comes first: the row ends, nothing else
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

import structlog

from bot.agent.compacting.run_report import RunReport, count, tell_begun
from bot.agent.compacting.run_rows import RunRows
from bot.agent.compacting.summary_job import SummaryJob
from bot.agent.context import Context
from bot.agent.money.allowance import Allowance
from bot.agent.step import Step
from bot.bus import topics
from bot.compaction import Plan
from bot.compaction.plan import Trigger
from bot.errors import StaleEpoch, StoreUnavailable, StrategyFailed
from bot.store import runs
from bot.store.runs import Run, RunState

log = structlog.get_logger(__name__)

FEWEST_ENTRIES = 8
"""After one that came to nothing, so much has to be said before the next one is tried."""


class Errand(ABC):
    """Those of one agent and one kind, never beside a compaction or one of another kind."""

    trigger: Trigger

    def __init__(
        self,
        context: Context,
        *,
        rows: RunRows,
        report: RunReport,
        summary_job: Callable[[], SummaryJob],
        tasks: asyncio.TaskGroup,
        allowance: Allowance,
    ) -> None:
        self._context = context
        self._allowance = allowance
        self._rows = rows
        self._report = report
        self._summary_job = summary_job
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0

    @property
    @abstractmethod
    def is_wanted(self) -> bool:
        """Whether there are to be any."""

    @abstractmethod
    async def _plan(self) -> Plan | None:
        """What is to be done now; None where it is too little. Raises StrategyFailed."""

    @abstractmethod
    def _outcome(self, run: Run) -> tuple[RunState, str]:
        """What its result comes to, and why."""

    @abstractmethod
    async def _land(self, step: Step, run: Run) -> None:
        """Take over the result of a run that is done, in the step that ends it."""

    @property
    def running(self) -> bool:
        """Whether one is under way."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin one, if there is enough to do. The caller sees to it that no compaction runs."""
        if self.is_wanted and not self.running and self._context.next_seq >= self._not_before:
            self._task = self._tasks.create_task(self._unbroken(None))

    def resume(self, run: Run) -> None:
        """See the one through that a crash or a move left open."""
        self._task = self._tasks.create_task(self._unbroken(run))

    def leave(self) -> None:
        """This host gives the agent up."""
        if self._task:
            self._task.cancel()

    async def abort(self) -> bool:
        """Stop the one that is under way, if there is one. Never waits for the worker."""
        async with self._context.step() as step:
            return await self.give_way(step, "stopped by a person")

    async def give_way(self, step: Step, reason: str = "a compaction came first") -> bool:
        """End the one that is under way, of whichever kind, as part of this step."""
        run = await runs.open_run(step.tx, self._context.agent_id)
        if run is None or run.trigger not in runs.ERRANDS:
            return False
        return await self._end(step, run, RunState.ABORTED, reason)

    async def _unbroken(self, run: Run | None) -> None:
        """Whatever goes wrong costs this run, and nothing else."""
        try:
            run = run or await self._begun()
            if run:
                await self._see_through(run)
        except StaleEpoch:
            raise
        except (StoreUnavailable, StrategyFailed) as error:
            log.warning("errand_given_up", trigger=self.trigger, reason=str(error))
        except Exception:
            log.exception("errand_crashed", trigger=self.trigger)
            self._not_before = self._context.next_seq + FEWEST_ENTRIES
            with suppress(StoreUnavailable):  # or the next one would see it through, and break again
                async with self._context.step() as step:
                    await self.give_way(step, "it broke")

    async def _begun(self) -> Run | None:
        context, stack = self._context, self._context.history.stack
        under_way = await self._rows.open()
        if under_way:  # what an outage left open is seen through
            return under_way if under_way.trigger == self.trigger else None
        plan = await self._plan()
        if plan is None or not await self._allowance.is_left():
            return None
        meter, run_id = context.meter, uuid4().hex
        async with context.step() as step:
            if stack != step.history.stack or await runs.open_run(step.tx, context.agent_id):
                return None
            await self._rows.begin(step, run_id, plan, self.trigger, meter=meter, stack=stack)
        tell_begun(run_id, self.trigger, meter, context.level)
        return await self._rows.look_at(run_id)

    async def _see_through(self, run: Run) -> None:
        found = await self._summary_job().result(run)
        if found is None or found.state in runs.OPEN:
            async with self._context.step() as step:
                state, reason = self._outcome(found) if found else (RunState.FAILED, "no worker answered")
                if await self._end(step, run, state, reason) and found and state is RunState.DONE:
                    await self._land(step, found)
        run = await self._rows.look_at(run.id)
        if run.state is not RunState.DONE:
            self._not_before = self._context.next_seq + FEWEST_ENTRIES
        await self._report.ended(run)

    async def _end(self, step: Step, run: Run, state: RunState, reason: str) -> bool:
        if not await runs.end(step.tx, run.id, state, reason=reason, meter_after=None, now=step.now):
            return False
        step.rings.append(topics.run(run.id))
        step.afterwards.append(lambda: count(run, state, step.now, run.strategy))
        return True
