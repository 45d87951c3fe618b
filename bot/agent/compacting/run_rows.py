"""The rows of an agent's compactions in the book: begun, looked at and found again.

A row has everything that a run is: a worker, a crash or another host goes on from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.agent.context import Context
from bot.agent.step import Step
from bot.compaction import Plan
from bot.compaction.plan import Trigger
from bot.errors import StaleEpoch
from bot.estimate import Meter
from bot.estimate.meter import MeterRecord
from bot.store import Database, histories, runs
from bot.store.runs import NewRun, Occasion, Result, Run


class RunRows:
    """Of one agent. ``model`` gives the name of the one that writes its summaries."""

    def __init__(self, context: Context, database: Database, model: Callable[[], str]) -> None:
        self._context = context
        self._database = database
        self._model = model

    async def look_at(self, run_id: str) -> Run:
        """The run as it is now. Raises StaleEpoch where the conversation was forgotten, and its runs with it."""
        async with self._database.read() as tx:
            run = await runs.get(tx, run_id)
        if run is None:
            raise StaleEpoch(f"the compaction {run_id} was forgotten")
        return run

    async def open(self) -> Run | None:
        """The one that has not ended."""
        async with self._database.read() as tx:
            return await runs.open_run(tx, self._context.agent_id)

    async def untraced(self) -> Sequence[Run]:
        """Those that have ended and are in no trace."""
        async with self._database.read() as tx:
            return await runs.untraced(tx, self._context.agent_id)

    async def folds(self) -> Sequence[Run]:
        """Those that wrote a running summary, the newest first."""
        async with self._database.read() as tx:
            return await runs.folds(tx, self._context.agent_id)

    async def begin(
        self,
        step: Step,
        run_id: str,
        plan: Plan,
        trigger: Trigger,
        *,
        meter: Meter,
        stack: tuple[int, ...],
        focus: str = "",
        turn: str | None = None,
        status_slot: int = 0,
        written: Result | None = None,
        occasion: Occasion = "",
    ) -> None:
        """Write one down, as part of a step. ``stack``: the layers that it was planned over; ``written``: its summary,
        where there is one already."""
        context, head = self._context, self._context.head
        await histories.remember_head(step.tx, head.digest, head.as_json())
        new = NewRun(
            id=run_id,
            agent_id=context.agent_id,
            trigger=trigger,
            strategy=plan.strategy,
            focus=focus,
            turn_id=turn,
            status_slot=status_slot,
            stack=stack,
            plan=plan.as_json(),
            head=head.digest,
            model=self._model(),
            limit=context.window.limit,
            meter_before=MeterRecord.of(meter, context.level, len(context.history.view())),
            result=written,
            occasion=occasion,
        )
        await runs.begin(step.tx, new, now=step.now)
