"""Compacts a conversation that went quiet, just before its prompt cache expires, where that is expected to be cheaper.

::

    a turn ends ─▶ its quiet moment is in the book ─▶ the host wakes the agent then ─▶ decided again ─▶ a run ahead
                        └ a turn begins: there is none any more              └ not worth it: nothing

The moment is written in the step that ends the turn, so it outlives a restart; the run is begun in a fenced step, so it
is there once; and what nobody came to in time is left, since the cache has expired by then. Nobody waits for such a
run: a message that comes meanwhile is answered on the full context, as with any run ahead. Nor is anybody disturbed:
its status is in the chat when the next answer is.
"""

from __future__ import annotations

import asyncio

import structlog

from bot.agent.compacting.compactor import Compactor, Request
from bot.agent.context import Context
from bot.agent.model_choice import ModelChoice
from bot.agent.step import Step
from bot.compaction import quiet
from bot.compaction.quiet import Expected, Forecast, Habit, Rates
from bot.errors import StoreUnavailable, StrategyFailed
from bot.history import Usage
from bot.model.cache_marks import seconds_of
from bot.runtime.prices import price_of
from bot.runtime.settings import AgentsSettings
from bot.store import Database, appointments, runs, turns

log = structlog.get_logger(__name__)

A_DAY = 86_400.0
MOST_PAUSES = 200
"""Of the newest, that say how this conversation pauses."""
_MILLION = 1_000_000


class QuietCompaction:
    """Of one agent, in ``tasks``."""

    def __init__(
        self,
        context: Context,
        *,
        database: Database,
        compactor: Compactor,
        model_choice: ModelChoice,
        settings: AgentsSettings,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._context = context
        self._database = database
        self._compactor = compactor
        self._model_choice = model_choice
        self._is_on = settings.compact_ahead and settings.compact_quiet
        self._smallest = settings.compact_quiet_from
        self._most = settings.compact_quiet_most
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None
        self._is_leaving = False

    def moment(self, step: Step, usage: Usage) -> float | None:
        """When this conversation is to be looked at again, as part of the step that ends a turn; None where it is off,
        too short, or not known to stand in a prompt cache with a known price. ``usage``: of the turn."""
        context = self._context
        link = context.window.link
        is_kept = usage.cache_read + usage.cache_creation > 0
        if not self._is_on or link.remembers is None or not is_kept or not context.asked_at:
            return None
        may = quiet.may_come(step.weigh(), step.restraint, smallest=self._smallest)
        if not may or not self._is_willing or price_of(link.name) is None:
            return None
        at = quiet.moment(context.asked_at, seconds_of(link.remembers))
        return at if at > step.now else None

    @property
    def _is_willing(self) -> bool:
        """Whether its strategy compacts by itself, and below its first level at all."""
        return self._context.automatic and bool(getattr(self._context.strategy, "begins_early", True))

    def leave(self) -> None:
        """Begin nothing more: this host gives the agent up."""
        self._is_leaving = True

    def take_due(self) -> None:
        """Decide and begin, if the moment has come; nothing waits for that."""
        at = self._context.quiet_at
        if at is None or self._context.clock() < at or (self._task and not self._task.done()):
            return
        self._task = self._tasks.create_task(self._take(at))

    async def _take(self, at: float) -> None:
        try:
            why = await self._against(at)
            if self._context.quiet_at != at or self._is_leaving:
                return  # a turn has begun, or another host decides
            if not why and not self._compactor.running:
                self._compactor.start(Request("ahead", occasion="quiet"))
                if await self._compactor.planned():
                    return
                why = "nothing to compact"
            await self._let_pass(at, why or "another compaction runs")
        except StoreUnavailable as error:  # the next sweep finds the moment once more, as long as it lasts
            log.warning("store_unavailable", reason=str(error))

    async def _let_pass(self, at: float, why: str) -> None:
        async with self._context.step() as step:
            if step.quiet_at == at:
                step.quiet_at = None
        log.info("quiet_moment_passed", reason=why)

    async def _against(self, at: float) -> str:
        """What speaks against it now; empty: nothing."""
        context, now = self._context, self._context.clock()
        if quiet.is_late(at, now):
            return "the prompt cache may have expired"
        may = quiet.may_come(context.meter, context.restraint, smallest=self._smallest)
        if not (may and self._is_on and self._is_willing):
            return "the conversation is another one"
        async with self._database.read() as tx:
            if await turns.last_model(tx, context.agent_id) != context.window.model_name:
                return "another model is asked"  # and remembers nothing of this page
            if await appointments.is_closed(tx, context.agent_id):
                return "the chat takes nothing from us"
            if await runs.count_quiet(tx, context.agent_id, since=now - A_DAY) >= self._most:
                return "as often as may be"
            pauses = await turns.pauses(tx, context.agent_id, most=MOST_PAUSES)
            last = await runs.latest(tx, context.agent_id, done=True)
        usage = last.result.usage if last and last.result else None
        try:
            forecast = await self._compactor.forecast(usage.output if usage else 0)
        except StrategyFailed:
            return "the strategy failed"
        if forecast is None:
            return "nothing to compact"
        return self._not_worth(forecast, pauses)

    def _not_worth(self, forecast: Forecast, pauses: list[float]) -> str:
        link = self._context.window.link
        rates = self._rates()
        if rates is None or link.remembers is None:
            return "no price is known"
        habit = Habit.of(pauses, seconds_of(link.remembers))
        sum_of_it: Expected = quiet.expected(forecast, rates, habit)
        log.info(
            "quiet_moment",
            before=forecast.before,
            after=forecast.after,
            chance=round(habit.chance, 3),
            gain=round(sum_of_it.gain, 6),
            cost=round(sum_of_it.cost, 6),
        )
        return "" if sum_of_it.is_worth_it else "not worth it"

    def _rates(self) -> Rates | None:
        """What tokens cost whom; None where that is not known. Another model's summary reads no cache."""
        link, writer = self._context.window.link, self._model_choice.summaries.first
        price, other = price_of(link.name), price_of(writer.name)
        if price is None or other is None:
            return None
        read = price.input * price.read
        return Rates(
            write=price.written(hourly=link.remembers == "1h") / _MILLION,
            read=read / _MILLION,
            reading=(read if writer == link else other.input) / _MILLION,
            writing=other.output / _MILLION,
        )
