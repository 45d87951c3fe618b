"""Sees one compaction of an agent through: plan, job, layer, status message, trace.

::

    start ─▶ run row + status message ─▶ job ─▶ the worker's result ─▶ checked ─▶ layer, status, trace
                                              └ abort, or no usable summary ─▶ nothing changes; status, trace

A compaction lives in a task of the agent, not of whoever waits for it, so that a turn that is aborted never cuts a
transaction in two. What ends it early is one conditional update of its row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from uuid import uuid4

import structlog

from bot.agent.admin_notices import AdminNotices
from bot.agent.compacting.errand import Errand
from bot.agent.compacting.extraction import FactExtraction
from bot.agent.compacting.planner import Planner
from bot.agent.compacting.run_report import RunReport, count, tell_begun
from bot.agent.compacting.run_rows import RunRows
from bot.agent.compacting.running_summary import RunningSummary, covering
from bot.agent.compacting.summary_job import SummaryJob
from bot.agent.context import Context
from bot.agent.live_view import LiveView
from bot.agent.money.allowance import Allowance
from bot.agent.step import Step
from bot.agent.store_outage import StoreOutage
from bot.bus import topics
from bot.compaction import Plan, Strategy
from bot.compaction.fallback import FALLBACK
from bot.compaction.notices import (
    ON_ALL,
    RULES,
    STAYS,
    STOP_COMPACTING,
    STOP_THE_ANSWER,
    aborted,
    finished,
    started,
    unchanged,
    undo,
)
from bot.compaction.plan import Trigger
from bot.compaction.quiet import Forecast
from bot.compaction.statistics import statistics_of
from bot.compaction.summary.checks import is_no_summary
from bot.errors import StaleEpoch, StoreUnavailable, StrategyFailed
from bot.estimate.meter import MeterRecord
from bot.runtime.tasks import stop
from bot.store import runs, turns
from bot.store.runs import Occasion, Result, Run, RunState

log = structlog.get_logger(__name__)

BROKEN = "Something in me broke on it."


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
    """What is asked for. ``closes``: inbox rows that this answers; ``answers``: the ref of what it answers;
    ``strategy``: for this time alone, by the options ``given``; ``occasion``: of a run that nobody is there for."""

    trigger: Trigger
    focus: str = ""
    turn: str | None = None
    closes: Sequence[int] = ()
    answers: str = ""
    strategy: Strategy | None = None
    given: str = ""
    occasion: Occasion = ""


class Stopped(Enum):
    """What an abort met."""

    NOTHING = "nothing"
    """Nothing ran any more."""
    SAID = "said"
    """It was stopped, and people read so in its status message, or as the answer to their /compact."""
    UNSAID = "unsaid"
    """It was stopped before people had heard of it."""


class Compactor:
    """The compactions of one agent, one at a time."""

    def __init__(
        self,
        context: Context,
        *,
        rows: RunRows,
        report: RunReport,
        planner: Planner,
        rolling: RunningSummary,
        extraction: FactExtraction,
        summary_job: Callable[[], SummaryJob],
        notices: AdminNotices,
        outage: StoreOutage,
        live: LiveView,
        tasks: asyncio.TaskGroup,
        allowance: Allowance,
    ) -> None:
        self._context = context
        self._allowance = allowance
        self._rows = rows
        self._report = report
        self._planner = planner
        self._rolling = rolling
        self._errands: tuple[Errand, ...] = (rolling, extraction)
        self._extraction = extraction
        self._summary_job = summary_job
        self._notices = notices
        self._outage = outage
        self._live = live
        self._tasks = tasks
        self._task: asyncio.Task[Outcome] | None = None
        self._run_id: str | None = None
        self._trigger: Trigger | None = None
        self._turn: str | None = None
        self._ended: str | None = None
        self.problem = ""
        """What the last compaction that came to nothing failed of, in a sentence for people."""
        self._begun = asyncio.Event()
        self._given_up = asyncio.Event()

    @property
    def running(self) -> bool:
        """Whether a compaction is under way. One that has ended is not, though its trace may still be written."""
        over = self._run_id is not None and self._run_id == self._ended
        return self._task is not None and not self._task.done() and not over

    @property
    def is_announced(self) -> bool:
        """Whether one is under way that people have heard of."""
        return self.running and self._run_id is not None

    @property
    def is_planning(self) -> bool:
        """Whether one is under way that people have not heard of."""
        return self.running and self._run_id is None

    def is_of(self, turn: str) -> bool:
        """Whether the one that runs was begun for this turn."""
        return self.running and self._turn == turn

    def start(self, request: Request) -> None:
        """Begin to plan, and to carry out what is planned. The caller sees to it that none is running."""
        self._run_id, self.problem, self._trigger, self._turn = None, "", request.trigger, request.turn
        self._begun, self._given_up = asyncio.Event(), asyncio.Event()
        self._task = self._tasks.create_task(self._unbroken(partial(self._carry_out, request)))

    def fold(self) -> None:
        """Fold what has become old into the running summary, if there is to be one and nothing else runs."""
        if not self.running:
            self._rolling.start()

    def extract(self) -> None:
        """Let a model say what was said means to memory, if it is to and nothing else runs."""
        if not self.running:
            self._extraction.start()

    async def planned(self) -> bool:
        """Wait until the run is written down; False when there is nothing to compact, or it was aborted before."""
        await self._begun.wait()
        return self._run_id is not None

    async def outlook(self) -> int:
        """About how many tokens a compaction would free now."""
        return await self._planner.outlook()

    async def forecast(self, last: int) -> Forecast | None:
        """What a compaction ahead would come to now; see :meth:`Planner.forecast`."""
        return await self._planner.forecast(last)

    async def join(self) -> Outcome:
        """Wait for the one that runs. Cancelling the wait leaves it running."""
        return await asyncio.shield(self._task) if self._task else Outcome.NOTHING

    async def resume(self) -> None:
        """See the run through that a crash or a move left open, and write the traces that are missing."""
        run = await self._rows.open()
        for old in await self._rows.untraced():
            await self._report.record(old)
        errand = next((errand for errand in self._errands if run and run.trigger == errand.trigger), None)
        if run and errand:
            errand.resume(run)
        elif run:
            self._run_id, self._trigger, self._turn = run.id, run.trigger, run.turn_id
            self._begun.set()
            self._task = self._tasks.create_task(self._unbroken(partial(self._see_through, run)))

    def leave(self) -> None:
        """This host gives the agent up: its next one sees the run through. What is not planned yet is forgotten."""
        for errand in self._errands:
            errand.leave()
        if self._task:
            self._task.cancel()

    async def abort(self, *, with_turn: bool = False, waiting: str | None = None) -> Stopped:
        """Stop the one that runs. Never waits for the worker, nor for a plan. ``with_turn``: an answer is stopped with
        it; ``waiting``: the turn that waits for it, and goes on without it."""
        if not self.running:
            errand = next((errand for errand in self._errands if errand.running), None)
            return Stopped.UNSAID if errand and await errand.abort() else Stopped.NOTHING
        self._given_up.set()
        await self._begun.wait()
        run_id = self._run_id
        if run_id is None:
            return Stopped.SAID if self._trigger == "manual" else Stopped.UNSAID
        async with self._context.step() as step:
            stopped = await self._end(step, run_id, RunState.ABORTED, "stopped by a person")
            if stopped and waiting:
                await self._leave_whole(step, stopped, waiting)
            elif stopped:
                await step.change(stopped.status_slot, aborted(STAYS if with_turn else ""))
        if stopped:
            self._ended = run_id
        return Stopped.SAID if stopped else Stopped.NOTHING

    async def _leave_whole(self, step: Step, run: Run, turn: str) -> None:
        """The answer that waited is given on the whole context, unless that cannot be sent: then the turn says so."""
        await turns.compaction_stopped(step.tx, turn, run.id, step.history.last_seq)
        if run.trigger == "recovery" or self._context.meter.over:
            await step.change(run.status_slot, aborted())
        else:
            await step.change(run.status_slot, aborted(ON_ALL), buttons=[STOP_THE_ANSWER])

    async def _unbroken(self, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """A defect in here costs the compaction, and neither the turn that waits for it nor the agent."""
        try:
            return await work()
        except StaleEpoch:
            raise
        except StoreUnavailable as error:
            log.warning("compaction_waits", run=self._run_id, reason=str(error))
            return await self._unbroken(self._after_outage)
        except Exception:
            log.exception("compaction_crashed", run=self._run_id)
            self.problem = BROKEN
            if self._run_id is None or self._run_id == self._ended:
                return Outcome.NOTHING
            async with self._context.step() as step:
                if ended := await self._end(step, self._run_id, RunState.FAILED, BROKEN):
                    await step.change(ended.status_slot, unchanged(BROKEN, is_empty=False))
            self._ended = self._run_id
            return Outcome.UNCHANGED

    async def _after_outage(self) -> Outcome:
        """The book is back: see the run through, if it was written down, and has not ended."""
        await self._outage.until_back()
        if self._run_id is None:
            return Outcome.NOTHING
        run = await self._rows.look_at(self._run_id)
        if run.state in runs.OPEN:
            return await self._see_through(run)
        return await self._finished(run.id)

    async def _carry_out(self, request: Request) -> Outcome:
        stack = self._context.history.stack
        try:
            plan = await self._plan_unless_given_up(request)
            if self._given_up.is_set():
                return Outcome.ABORTED
            if plan is None and request.trigger == "recovery":
                plan = self._planner.nothing()  # written down all the same: somebody will ask why there is no answer
            if plan is None:
                return Outcome.NOTHING
            plan, written = await self._with_what_is_folded(plan, request, stack)
            asks = bool(plan.summarise) and written is None
            if asks and request.trigger == "ahead" and not await self._allowance.is_left():
                return Outcome.NOTHING  # nobody waits for it
            run = await self._begin(replace(plan, given=request.given), request, stack, written)
        except StrategyFailed as error:
            self.problem = str(error)
            return Outcome.NOTHING
        finally:
            self._begun.set()
        return await self._see_through(run)

    async def _plan_unless_given_up(self, request: Request) -> Plan | None:
        planning = asyncio.create_task(self._planner.plan(request.trigger, request.focus, request.strategy))
        given_up = asyncio.create_task(self._given_up.wait())
        try:
            await asyncio.wait({planning, given_up}, return_when=asyncio.FIRST_COMPLETED)
            return planning.result() if planning.done() else None
        finally:
            await stop(planning, given_up)

    async def _with_what_is_folded(
        self, plan: Plan, request: Request, stack: tuple[int, ...]
    ) -> tuple[Plan, Result | None]:
        """The plan with the running summary, and the summary if it is all that is needed. Who asks for a compaction
        gets all of it: then only what was not folded yet is asked for."""
        if not plan.summarise or request.focus or request.strategy:
            return plan, None
        fold = await self._rolling.found(stack, plan.strategy)
        if fold is None or fold.result is None:
            return plan, None
        covered, summary = covering(fold), fold.result.summary
        if request.trigger in ("auto", "ahead") and self._planner.is_enough(covered, summary):
            return covered, Result("summary", summary)
        rest = tuple(seq for seq in plan.summarise if seq not in covered.folded)
        if rest and set(covered.folded).issubset(plan.summarise):
            return replace(plan, summarise=rest, folded=plan.summarise, running=summary), None
        return plan, None

    async def _begin(self, plan: Plan, request: Request, stack: tuple[int, ...], written: Result | None) -> Run:
        run_id, meter = uuid4().hex, self._context.meter
        try:
            await self._write_down(run_id, plan, request, stack, written)
        except StoreUnavailable:
            if not await self._outage.came_through(partial(runs.get, run_id=run_id)):
                raise
        self._run_id = run_id
        tell_begun(run_id, request.trigger, meter, self._context.level, request.occasion)
        return await self._rows.look_at(run_id)

    async def _write_down(
        self, run_id: str, plan: Plan, request: Request, stack: tuple[int, ...], written: Result | None
    ) -> None:
        meter = self._context.meter
        async with self._context.step() as step:
            await self._rolling.give_way(step)
            held, step.quiet_at = bool(request.occasion), None
            status = await step.say(started(meter), buttons=[STOP_COMPACTING], answers=request.answers, held=held)
            await step.close(request.closes)
            await self._rows.begin(
                step,
                run_id,
                plan,
                request.trigger,
                meter=meter,
                stack=stack,
                focus=request.focus,
                turn=request.turn,
                status_slot=status,
                written=written,
                occasion=request.occasion,
            )

    async def _see_through(self, run: Run) -> Outcome:
        async with self._live.at_work:
            if Plan.from_json(run.plan).summarise:
                found = await self._summary_job().result(run)
                if found is None:
                    return await self._without_summary(run, RunState.FAILED, "no worker answered")
                run = found
            if run.state is RunState.ABORTED:
                return await self._finished(run.id)
            return await self._land(run)

    async def _land(self, run: Run) -> Outcome:
        """Put the layer down, or say why not. One update of the row decides against an abort."""
        result, context = run.result, self._context
        plan = Plan.from_json(run.plan)
        summary = result.summary if result else ""
        if result and result.outcome == "failed":
            return await self._without_summary(run, RunState.FAILED, result.reason, for_operators=True)
        if result and (result.outcome == "empty" or is_no_summary(summary)):
            return await self._without_summary(run, RunState.EMPTY, result.reason or "the summary came back empty")
        if run.stack != context.history.stack:
            return await self._without_summary(run, RunState.FAILED, "the history was changed meanwhile")
        if not (plan.hidden or plan.replaced):
            return await self._fail(run, "nothing is left that could be made smaller", RunState.EMPTY)
        if not self._planner.gain(plan, summary) > 0:
            return await self._without_summary(run, RunState.EMPTY, "it would not make the context smaller")
        note = _without(plan) if plan.strategy == FALLBACK else ""
        if plan.folded and not run.asked:
            note = "by the running summary: no model was asked"
        return await self._commit(run, plan, summary, note)

    async def _commit(self, run: Run, plan: Plan, summary: str, note: str = "") -> Outcome:
        with suppress(_AbortedMeanwhileError):
            await self._commit_layer(run, plan, summary, note)
        return await self._finished(run.id)

    async def _commit_layer(self, run: Run, plan: Plan, summary: str, note: str) -> None:
        context = self._context
        async with context.step() as step:
            run = await self._weighed_again(step, run)
            await step.put(plan, run=run.id, summary=summary)
            if plan.strategy != Plan.from_json(run.plan).strategy:
                await runs.replan(step.tx, run.id, plan.as_json())
            after = context.measured(step.history)
            meter_after = MeterRecord.of(after, context.strategy.level(after), len(step.history.view()))
            stats = statistics_of(run.meter_before, meter_after)
            assert stats is not None
            ended = await runs.end(
                step.tx,
                run.id,
                RunState.DONE,
                reason=note,
                meter_after=meter_after,
                now=step.now,
            )
            if not ended:
                raise _AbortedMeanwhileError
            if summary:
                await self._notices.summarised(step)
            step.restraint = step.restraint.compacted()
            step.afterwards.append(partial(count, run, RunState.DONE, step.now, plan.strategy, after.total))
            await step.change(
                run.status_slot,
                finished(stats, note),
                buttons=[undo(run.id), RULES],
            )

    async def _weighed_again(self, step: Step, run: Run) -> Run:
        """People may have gone on talking meanwhile: what a layer made of the context is told beside the context that
        it was laid over."""
        before = self._context.measured(step.history)
        meter_before = MeterRecord.of(before, self._context.strategy.level(before), len(step.history.view()))
        if (meter_before.total, meter_before.messages) == (run.meter_before.total, run.meter_before.messages):
            return run
        await runs.weigh_again(step.tx, run.id, meter_before)
        return replace(run, meter_before=meter_before)

    async def _without_summary(self, run: Run, state: RunState, reason: str, *, for_operators: bool = False) -> Outcome:
        """Nothing changes; but a recovery has to go on, so it hides the oldest turns instead. ``for_operators``: the
        reason is for those who run the program."""
        if run.trigger == "recovery" and (plan := self._planner.last_resort()):
            async with self._context.step() as step:
                shown = await self._notices.not_summarised(step, reason) if for_operators else reason
            return await self._commit(run, plan, "", _without(plan, shown))
        return await self._fail(run, reason, state, for_operators=for_operators)

    async def _fail(
        self, run: Run, reason: str, state: RunState = RunState.FAILED, *, for_operators: bool = False
    ) -> Outcome:
        async with self._context.step() as step:
            if await self._end(step, run.id, state, reason):
                shown = await self._notices.not_summarised(step, reason) if for_operators else reason
                await step.change(run.status_slot, unchanged(shown, is_empty=state is RunState.EMPTY))
        return await self._finished(run.id)

    async def _end(self, step: Step, run_id: str, state: RunState, reason: str) -> Run | None:
        if not await runs.end(step.tx, run_id, state, reason=reason, meter_after=None, now=step.now):
            return None
        step.restraint = step.restraint.compacted() if not step.restraint.paused else step.restraint
        step.rings.append(topics.run(run_id))
        run = await runs.get(step.tx, run_id)
        assert run is not None
        step.afterwards.append(partial(count, run, state, step.now, run.strategy))
        return run

    async def _finished(self, run_id: str) -> Outcome:
        """What its row says it came to: a person may have stopped it in the moment in which it failed."""
        self._ended = run_id
        self._live.show_meter()
        run = await self._rows.look_at(run_id)
        await self._report.ended(run)
        return {RunState.DONE: Outcome.DONE, RunState.ABORTED: Outcome.ABORTED}.get(run.state, Outcome.UNCHANGED)


def _without(plan: Plan, why: str = "") -> str:
    """What a last resort did."""
    did = "the oldest messages are hidden" if plan.hidden else "the largest part is shortened"
    reason = f": {why.rstrip('.')};" if why else ":"
    return f"without a summary{reason} {did}"


class _AbortedMeanwhileError(Exception):
    """The row ended between the look and the commit; the transaction is rolled back."""
