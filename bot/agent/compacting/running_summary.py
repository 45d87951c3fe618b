"""The running summary of one conversation: what has become old is folded into it after replies, ahead of need, so that
a compaction finds its summary written (FEATURES E7; off unless `COMPACTION__ROLLING` is set).

::

    reply ─▶ enough has become old? ─▶ run row (trigger "rolling") ─▶ job ─▶ its summary stays in the row
                                          └ abort, or a compaction comes first: the row ends, nothing else

A fold changes nothing that the model or people see: no layer, no message, no cooldown. It belongs to the layers that it
was written under; where these change, so that it no longer fits, it is simply not found, and after an undo it is found
again. Its cost stands in its own row, and the compaction that uses it has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

import structlog

from bot.agent.compacting.planner import Planner
from bot.agent.compacting.run_report import RunReport, count, tell_begun
from bot.agent.compacting.run_rows import RunRows
from bot.agent.compacting.summary_job import SummaryJob
from bot.agent.context import Context
from bot.agent.step import Step
from bot.bus import topics
from bot.compaction import Plan
from bot.compaction.summary.checks import is_no_summary
from bot.errors import StaleEpoch, StoreUnavailable, StrategyFailed
from bot.store import runs
from bot.store.runs import Run, RunState

log = structlog.get_logger(__name__)

_KEPT = "kept for the next compaction"
_FEWEST_ENTRIES = 8
"""After a fold that came to nothing, so much has to be said before the next one is tried."""


class RunningSummary:
    """The folds of one agent, one at a time, and never beside a compaction. ``share``: of the limit, that is old before
    it is folded; 0 for never."""

    def __init__(
        self,
        context: Context,
        *,
        rows: RunRows,
        report: RunReport,
        planner: Planner,
        summary_job: Callable[[], SummaryJob],
        tasks: asyncio.TaskGroup,
        share: float,
    ) -> None:
        self._context = context
        self._rows = rows
        self._report = report
        self._planner = planner
        self._summary_job = summary_job
        self._share = share
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0

    @property
    def running(self) -> bool:
        """Whether a fold is under way."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Fold what has become old, if it is enough. The caller sees to it that no compaction runs."""
        if self._share > 0 and not self.running and self._context.next_seq >= self._not_before:
            self._task = self._tasks.create_task(self._unbroken(None))

    def resume(self, run: Run) -> None:
        """See the fold through that a crash or a move left open."""
        self._task = self._tasks.create_task(self._unbroken(run))

    def leave(self) -> None:
        """This host gives the agent up."""
        if self._task:
            self._task.cancel()

    async def abort(self) -> bool:
        """Stop the fold that is under way, if there is one. Never waits for the worker."""
        async with self._context.step() as step:
            return await self.give_way(step, "stopped by a person")

    async def give_way(self, step: Step, reason: str = "a compaction came first") -> bool:
        """End the fold that is under way, as part of this step."""
        run = await runs.open_run(step.tx, self._context.agent_id)
        if run is None or run.trigger != "rolling":
            return False
        return await self._end(step, run, RunState.ABORTED, reason)

    async def found(self, stack: tuple[int, ...], strategy: str) -> Run | None:
        """The newest fold under these layers whose messages are all still in view."""
        folds = await self._rows.folds()
        visible = {entry.seq for entry in self._context.history.visible}
        fitting = (run for run in folds if run.stack == stack and run.strategy == strategy and run.result)
        return next((run for run in fitting if visible.issuperset(run.plan.get("folded", ()))), None)

    async def _unbroken(self, run: Run | None) -> None:
        """Whatever goes wrong costs the fold, and nothing else."""
        try:
            run = run or await self._begun()
            if run:
                await self._see_through(run)
        except StaleEpoch:
            raise
        except (StoreUnavailable, StrategyFailed) as error:
            log.warning("fold_given_up", reason=str(error))
        except Exception:
            log.exception("fold_crashed")
            self._not_before = self._context.next_seq + _FEWEST_ENTRIES

    async def _begun(self) -> Run | None:
        context, stack = self._context, self._context.history.stack
        under_way = await self._rows.open()
        if under_way:  # what an outage left open is seen through; beside a compaction there is no fold
            return under_way if under_way.trigger == "rolling" else None
        plan = await self._planner.fold(await self.found(stack, context.strategy.name), self._share)
        if plan is None:
            return None
        meter, run_id = context.meter, uuid4().hex
        async with context.step() as step:
            if stack != step.history.stack or await runs.open_run(step.tx, context.agent_id):
                return None
            await self._rows.begin(step, run_id, plan, "rolling", meter=meter, stack=stack)
        tell_begun(run_id, "rolling", meter, context.level)
        return await self._rows.look_at(run_id)

    async def _see_through(self, run: Run) -> None:
        found = await self._summary_job().result(run)
        state, reason = _outcome(found)
        if found is None or found.state in runs.OPEN:
            async with self._context.step() as step:
                await self._end(step, run, state, reason)
        run = await self._rows.look_at(run.id)
        if run.state is not RunState.DONE:
            self._not_before = self._context.next_seq + _FEWEST_ENTRIES
        await self._report.ended(run)

    async def _end(self, step: Step, run: Run, state: RunState, reason: str) -> bool:
        if not await runs.end(step.tx, run.id, state, reason=reason, meter_after=None, now=step.now):
            return False
        step.rings.append(topics.run(run.id))
        step.afterwards.append(lambda: count(run, state, step.now, run.strategy))
        return True


def _outcome(run: Run | None) -> tuple[RunState, str]:
    result = run.result if run else None
    if result is None:
        return RunState.FAILED, "no worker answered"
    if result.outcome == "failed":
        return RunState.FAILED, result.reason
    if result.outcome == "empty" or is_no_summary(result.summary):
        return RunState.EMPTY, result.reason or "the summary came back empty"
    return RunState.DONE, _KEPT


def covering(fold: Run) -> Plan:
    """The layer that a fold was written for, with its summary in place of all that was folded."""
    plan = Plan.from_json(fold.plan)
    return Plan.from_json({**plan.as_json(), "summarise": plan.folded, "running": ""})
