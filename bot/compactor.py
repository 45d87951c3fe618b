"""Sees one compaction of an agent through: plan, job, layer, status message, trace.

::

    start ─▶ run row + status message ─▶ job ─▶ the worker's result ─▶ checked ─▶ layer, status, trace
                                              └ abort, or no usable summary ─▶ nothing changes; status, trace

A compaction lives in a task of the agent, not of whoever waits for it, so that a turn that is aborted never cuts a
transaction in two. What ends it early is one conditional update of its row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from uuid import uuid4

import structlog

from bot.compaction import Plan, PlanContext
from bot.compaction.checks import is_no_summary
from bot.compaction.fallback import hide_oldest
from bot.compaction.plan import Trigger
from bot.context import Context, Step, meter_json
from bot.errand import Errand
from bot.estimate import Meter
from bot.messages import Button
from bot.recorder import record
from bot.store import histories, runs
from bot.store.runs import NewRun, Run, RunState

log = structlog.get_logger(__name__)

SHORT_ID = 6
"""Of a run's id: enough to tell a conversation's last compaction from earlier ones."""
ABORT = Button("Abort", "/abort")


class Outcome(Enum):
    """What became of a compaction."""

    DONE = "done"
    NOTHING = "nothing"
    """There was nothing to compact."""
    UNCHANGED = "unchanged"
    """Empty or failed: the history is as it was."""
    ABORTED = "aborted"


@dataclass(frozen=True)
class Request:
    """What is asked for. ``closes``: inbox rows that this answers; ``answers``: the ref of what it answers."""

    trigger: Trigger
    focus: str = ""
    turn: str | None = None
    closes: Sequence[int] = ()
    answers: str = ""


class Compactor:
    """The compactions of one agent, one at a time."""

    def __init__(self, context: Context, tasks: asyncio.TaskGroup) -> None:
        self._context = context
        self._services = context.services
        self._tasks = tasks
        self._task: asyncio.Task[Outcome] | None = None
        self._run_id: str | None = None
        self._ended: str | None = None
        self._begun = asyncio.Event()

    @property
    def running(self) -> bool:
        """Whether a compaction is under way. One that has ended is not, though its trace may still be written."""
        over = self._run_id is not None and self._run_id == self._ended
        return self._task is not None and not self._task.done() and not over

    def plan(self, focus: str = "", *, trigger: Trigger = "auto") -> Plan | None:
        """What the strategy would do now."""
        rules = self._services.settings.compaction.must_keep
        view = self._context.history.visible
        knowing = PlanContext(focus, rules, trigger)
        return self._services.strategy.plan(view, self._context.meter, knowing) if view else None

    def start(self, request: Request) -> asyncio.Task[Outcome] | None:
        """Begin; None when there is nothing to compact. The caller sees to it that none is running."""
        plan = self.plan(request.focus, trigger=request.trigger)
        if plan is None and request.trigger == "recovery":
            plan = self._fallback()
        if plan is None:
            return None
        self._run_id = None
        self._begun.clear()
        self._task = self._tasks.create_task(self._begin(plan, request))
        return self._task

    async def begun(self) -> None:
        """Wait until the run is written down."""
        await self._begun.wait()

    async def join(self) -> Outcome:
        """Wait for the one that runs. Cancelling the wait leaves it running."""
        return await asyncio.shield(self._task) if self._task else Outcome.NOTHING

    async def resume(self) -> None:
        """See the run through that a crash or a move left open, and write the traces that are missing."""
        async with self._services.database.read() as tx:
            run = await runs.open_run(tx, self._context.agent_id)
            missing = await runs.untraced(tx, self._context.agent_id)
        for old in missing:
            await record(self._context, old)
        if run:
            self._run_id = run.id
            self._begun.set()
            self._task = self._tasks.create_task(self._see_through(run))

    async def abort(self) -> bool:
        """Stop the one that runs; False when it had ended before. Never waits for the worker."""
        if not self.running:
            return False
        await self._begun.wait()
        run_id = self._run_id
        assert run_id is not None
        async with self._context.step() as step:
            stopped = await self._end(step, run_id, RunState.ABORTED, "stopped by a person")
            if stopped:
                await step.change(stopped.status_slot, "🗜 Compaction aborted: nothing was changed.")
        if stopped:
            self._ended = run_id
        return stopped is not None

    async def _begin(self, plan: Plan, request: Request) -> Outcome:
        context = self._context
        run_id = uuid4().hex
        model = self._services.settings.compaction_model or context.head.model
        meter = context.meter
        async with context.step() as step:
            status = await step.say(_started(meter), buttons=[ABORT], answers=request.answers)
            await step.close(request.closes)
            await histories.remember_head(step.tx, context.head.digest, context.head.as_json())
            new = NewRun(
                id=run_id,
                agent_id=context.agent_id,
                trigger=request.trigger,
                strategy=plan.strategy,
                focus=request.focus,
                turn_id=request.turn,
                status_slot=status,
                stack=context.history.stack,
                plan=plan.as_json(),
                head=context.head.digest,
                model=model,
                limit=context.limit,
                meter_before=meter_json(meter, context.level),
            )
            await runs.begin(step.tx, new, now=self._services.database.clock())
        self._run_id = run_id
        self._begun.set()
        log.info("compaction_started", trigger=request.trigger, total=meter.total, limit=meter.limit, run=run_id)
        async with self._services.database.read() as tx:
            run = await runs.get(tx, run_id)
        assert run is not None
        return await self._see_through(run)

    async def _see_through(self, run: Run) -> Outcome:
        async with self._context.presence:
            if Plan.from_json(run.plan).summarise:
                found = await Errand(self._context).result(run)
                if found is None:
                    return await self._fail(run, "no worker answered")
                run = found
            if run.state is RunState.ABORTED:
                await self._finished(run.id)
                return Outcome.ABORTED
            return await self._land(run)

    async def _land(self, run: Run) -> Outcome:
        """Put the layer down, or say why not. One update of the row decides against an abort."""
        result, context = run.result, self._context
        plan = Plan.from_json(run.plan)
        summary = result.summary if result else ""
        if result and result.outcome == "failed":
            return await self._without_summary(run, RunState.FAILED, result.reason)
        if result and (result.outcome == "empty" or is_no_summary(summary)):
            return await self._without_summary(run, RunState.EMPTY, result.reason or "the summary came back empty")
        if run.stack != context.history.stack:
            return await self._without_summary(run, RunState.FAILED, "the history was changed meanwhile")
        if not self._would_win(plan, summary):
            return await self._without_summary(run, RunState.EMPTY, "it would not make the context smaller")
        return await self._commit(run, plan, summary)

    async def _commit(self, run: Run, plan: Plan, summary: str, note: str = "") -> Outcome:
        try:
            await self._commit_layer(run, plan, summary, note)
        except _AbortedMeanwhileError:
            await self._finished(run.id)
            return Outcome.ABORTED
        await self._finished(run.id)
        return Outcome.DONE

    async def _commit_layer(self, run: Run, plan: Plan, summary: str, note: str) -> None:
        context = self._context
        async with context.step() as step:
            await step.put(plan, run=run.id, summary=summary)
            if plan.strategy != run.plan["strategy"]:
                await runs.replan(step.tx, run.id, plan.as_json())
            after = context.measured(step.history)
            level = self._services.strategy.level(after)
            ended = await runs.end(
                step.tx,
                run.id,
                RunState.DONE,
                reason=note,
                meter_after=meter_json(after, level),
                now=self._services.database.clock(),
            )
            if not ended:
                raise _AbortedMeanwhileError
            step.restraint = step.restraint.compacted()
            await step.change(
                run.status_slot,
                _finished(run.meter_before["total"], after, note),
                buttons=[Button("Undo", f"/undo {run.id[:SHORT_ID]}")],
            )

    async def _without_summary(self, run: Run, state: RunState, reason: str) -> Outcome:
        """Nothing changes; but a recovery has to go on, so it hides the oldest turns instead."""
        if run.trigger == "recovery" and (plan := self._fallback()) and self._would_win(plan, ""):
            note = f"without a summary: {reason.rstrip('.')}; the oldest messages are hidden"
            return await self._commit(run, plan, "", note)
        return await self._fail(run, reason, state)

    async def _fail(self, run: Run, reason: str, state: RunState = RunState.FAILED) -> Outcome:
        async with self._context.step() as step:
            if await self._end(step, run.id, state, reason):
                text = "Nothing was compacted" if state is RunState.EMPTY else "Compaction failed"
                await step.change(run.status_slot, f"🗜 {text}: {reason.rstrip('.')}. The conversation is unchanged.")
        await self._finished(run.id)
        return Outcome.UNCHANGED

    async def _end(self, step: Step, run_id: str, state: RunState, reason: str) -> Run | None:
        now = self._services.database.clock()
        if not await runs.end(step.tx, run_id, state, reason=reason, meter_after=None, now=now):
            return None
        step.restraint = step.restraint.compacted() if not step.restraint.paused else step.restraint
        step.rings.append(f"run:{run_id}")
        return await runs.get(step.tx, run_id)

    def _fallback(self) -> Plan | None:
        context = self._context
        room = (context.limit - context.head_tokens) / context.factor
        return hide_oldest(context.history.visible, room)

    def _would_win(self, plan: Plan, summary: str) -> bool:
        """Whether the context gets smaller, by our own count of what goes and comes and by what people are shown."""
        context = self._context
        layer, inserted = plan.layer(-1, context.next_seq, run=None, summary=summary)
        counted = [replace(entry, tokens=context.entry_tokens(entry.role, entry.blocks)) for entry in inserted]
        after = context.history.covered(layer, counted)
        smaller = sum(e.tokens for e in after.visible) < sum(e.tokens for e in context.history.visible)
        return smaller and context.measured(after).total < context.meter.total

    async def _finished(self, run_id: str) -> None:
        self._ended = run_id
        async with self._services.database.read() as tx:
            run = await runs.get(tx, run_id)
        assert run is not None
        log.info(
            "compaction_ended",
            run=run.id,
            trigger=run.trigger,
            outcome=run.state.value,
            reason=run.reason or None,
            before=run.meter_before["total"],
            after=(run.meter_after or run.meter_before)["total"],
        )
        await record(self._context, run)
        self._context.show_meter()
        self._services.bus.ring(f"settled:{self._context.agent_id}")


class _AbortedMeanwhileError(Exception):
    """The row ended between the look and the commit; the transaction is rolled back."""


def _started(meter: Meter) -> str:
    return (
        f"🗜 Compacting this conversation: {meter.total:,} of {meter.limit:,} tokens ({meter.share:.0%}). "
        "/abort stops it…"
    )


def _finished(before: int, after: Meter, note: str) -> str:
    freed = 1 - after.total / before if before else 0.0
    text = f"🗜 Compacted: {before:,} → {after.total:,} tokens ({freed:.0%} freed). /undo takes it back."
    return f"{text}\n({note})" if note else text
