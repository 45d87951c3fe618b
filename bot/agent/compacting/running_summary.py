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

from typing import Any

from bot.agent.compacting.errand import Errand
from bot.agent.compacting.planner import Planner
from bot.agent.step import Step
from bot.compaction import Plan
from bot.compaction.summary.checks import is_no_summary
from bot.store.runs import Run, RunState

_KEPT = "kept for the next compaction"


class RunningSummary(Errand):
    """The folds of one agent. ``share``: of the limit, that is old before it is folded; 0 for never."""

    trigger = "rolling"

    def __init__(self, *shared: Any, planner: Planner, share: float, **more: Any) -> None:
        super().__init__(*shared, **more)
        self._planner = planner
        self._share = share

    @property
    def is_wanted(self) -> bool:
        """See the errand's."""
        return self._share > 0

    async def found(self, stack: tuple[int, ...], strategy: str) -> Run | None:
        """The newest fold under these layers whose messages are all still in view."""
        folds = await self._rows.folds()
        visible = {entry.seq for entry in self._context.history.visible}
        fitting = (run for run in folds if run.stack == stack and run.strategy == strategy and run.result)
        return next((run for run in fitting if visible.issuperset(run.plan.get("folded", ()))), None)

    async def _plan(self) -> Plan | None:
        context = self._context
        return await self._planner.fold(await self.found(context.history.stack, context.strategy.name), self._share)

    def _outcome(self, run: Run) -> tuple[RunState, str]:
        result = run.result
        if result is None or result.outcome == "failed":
            return RunState.FAILED, result.reason if result else "no worker answered"
        if result.outcome == "empty" or is_no_summary(result.summary):
            return RunState.EMPTY, result.reason or "the summary came back empty"
        return RunState.DONE, _KEPT

    async def _land(self, step: Step, run: Run) -> None:
        """It stays in the row, until a compaction finds it there."""


def covering(fold: Run) -> Plan:
    """The layer that a fold was written for, with its summary in place of all that was folded."""
    plan = Plan.from_json(fold.plan)
    return Plan.from_json({**plan.as_json(), "summarise": plan.folded, "running": ""})
