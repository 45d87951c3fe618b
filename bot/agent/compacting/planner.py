"""Plans an agent's compactions: gives its strategy what it needs to know, and weighs what it answers.

Plans are made in a thread, since a large page takes a while, and nobody's command waits for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from bot.agent.context import Context
from bot.agent.embeddings import Embedder, vectors_for
from bot.agent.memory import AgentMemory
from bot.compaction import Plan, PlanContext, Strategy
from bot.compaction.fallback import last_resorts
from bot.compaction.gate import ahead_margin
from bot.compaction.goal import SUMMARY_RATE, SUMMARY_SHARE, WORTH_SHARE
from bot.compaction.plan import Trigger
from bot.compaction.quiet import Forecast, summary_tokens
from bot.compaction.standing_rules import without_notes
from bot.errors import StrategyFailed
from bot.estimate import Level, Meter, Part
from bot.history import Entry, History
from bot.history.entry_text import RECALL
from bot.store import Database
from bot.store.runs import Run

log = structlog.get_logger(__name__)

_CLEARLY = 0.1
"""Of what can be made smaller: a last resort that takes less away is taken where nothing takes more."""
LEAST_GAIN = 0.03
"""Of the limit: what the program compacts unasked frees at least so much, or it would do it again and again."""


class Planner:
    """Plans for one agent. ``must_keep``: patterns of what every summary has to hold."""

    def __init__(
        self, context: Context, database: Database, memory: AgentMemory, embedder: Embedder, must_keep: tuple[str, ...]
    ) -> None:
        self._context = context
        self._database = database
        self._memory = memory
        self._embedder = embedder
        self._must_keep = must_keep

    async def plan(self, trigger: Trigger, focus: str = "", strategy: Strategy | None = None) -> Plan | None:
        """What to do now; None when nothing would be won. ``strategy``: another one than the conversation's. A recovery
        always finds something that can go, if anything can. Raises StrategyFailed."""
        context, strategy = self._context, strategy or self._context.strategy
        history, meter = context.history, context.meter
        view = history.visible
        if not view:
            return None
        facts = await self._memory.known(wanted=bool(getattr(strategy, "wants_facts", False)))
        vectors = await self._vectors(view) if getattr(strategy, "wants_vectors", False) else {}
        knowing = PlanContext(focus, self._must_keep, trigger, facts=facts, vectors=vectors)
        try:
            plan = await asyncio.to_thread(strategy.plan, view, meter, knowing)
        except StrategyFailed:
            log.exception("strategy_failed", strategy=strategy.name, asked="plan")
            if trigger != "recovery":
                raise
            plan = None
        if plan and plan.summarise:
            plan = replace(plan, summarise=without_notes(plan.summarise, context.rules))
        if plan and not history.covered(*plan.layer(-1, context.next_seq, run=None, summary="-")).visible:
            plan = None  # a model is never asked nothing
        least = LEAST_GAIN * meter.limit if knowing.unasked else 0
        if plan and not plan.summarise and self.gain(plan, history=history) <= least:
            plan = None
        if trigger == "recovery" and (plan is None or self._leaves_too_much(plan)):
            return self.last_resort() or plan
        return plan

    async def fold(self, previous: Run | None, share: float) -> Plan | None:
        """What a compaction would summarise by now and is not in the summary of the ``previous`` fold, if it takes this
        share of the limit. Raises StrategyFailed."""
        plan = await self.plan("rolling")
        if plan is None or not plan.summarise:
            return None
        known = frozenset(Plan.from_json(previous.plan).folded) if previous else frozenset[int]()
        if previous is None or previous.result is None or not known.issubset(plan.summarise):
            known, running = frozenset(), ""
        else:
            running = previous.result.summary
        new = tuple(seq for seq in plan.summarise if seq not in known)
        sizes = {entry.seq: entry.tokens for entry in self._context.history.visible}
        if sum(sizes[seq] for seq in new) * self._context.factor < share * self._context.window.limit:
            return None
        return replace(plan, summarise=new, folded=plan.summarise, running=running)

    def is_enough(self, plan: Plan, summary: str) -> bool:
        """Whether this layer brings the context so far down that the next compaction is not due at once."""
        meter, strategy = self._context.meter, self._context.strategy
        gain = self.gain(plan, summary)
        after = Meter.of([Part("all", meter.total - gain)], limit=meter.limit)
        level = strategy.level(after.raised(ahead_margin(strategy)))
        return gain > WORTH_SHARE * meter.total and level is Level.OK

    def last_resort(self) -> Plan | None:
        """Without a strategy and without a model: what makes the page smaller, as little as is enough."""
        context, meter = self._context, self._context.meter
        room = (context.window.limit - context.head_tokens) / context.factor
        most: tuple[int, Plan | None] = (0, None)
        for plan in last_resorts(context.history.visible, room):
            gain = self.gain(plan)
            if gain >= _CLEARLY * (meter.total - meter.head) and meter.total - gain <= meter.limit:
                return plan
            most = max(most, (gain, plan), key=lambda one: one[0])
        return most[1]

    def nothing(self) -> Plan | None:
        """A plan that changes nothing, for the run in which nothing was found; None for an empty page."""
        view = self._context.history.visible
        if not view:
            return None
        return Plan(
            self._context.strategy.name, upto=max(entry.seq for entry in view), floor=min(entry.seq for entry in view)
        )

    def gain(self, plan: Plan, summary: str = "", *, history: History | None = None) -> int:
        """The tokens that this would free, by our own count of what goes and comes and by what people are shown,
        whichever is less; a summary that is not written yet takes nothing."""
        context, before = self._context, history or self._context.history
        recall = context.window.toolbox.has(RECALL)
        layer, inserted = plan.layer(-1, context.next_seq, run=None, summary=summary, recall=recall)
        counted = [replace(entry, tokens=context.entry_tokens(entry.role, entry.blocks)) for entry in inserted]
        after = before.covered(layer, counted)
        counts = before.tally.total - after.tally.total
        return min(counts, context.measured(before).total - context.measured(after).total)

    def _leaves_too_much(self, plan: Plan) -> bool:
        """Whether a layer without a summary would still not fit: the turn would ask for another one at once."""
        meter = self._context.meter
        return not plan.summarise and meter.total - self.gain(plan) > meter.limit

    async def outlook(self) -> int:
        """About how many tokens a compaction would free if somebody asked for it now; 0 for none."""
        plan = await self.plan("manual")
        if plan is None:
            return 0
        summary = min(SUMMARY_SHARE * self._context.window.limit, SUMMARY_RATE * self._stood_for(plan))
        return max(0, self.gain(plan) - round(summary))

    async def forecast(self, last: int) -> Forecast | None:
        """What a compaction ahead would come to now, in tokens; None where there is nothing to compact. ``last``: what
        the last summary took, 0 for none. Raises StrategyFailed."""
        plan = await self.plan("ahead")
        if plan is None:
            return None
        total = self._context.meter.total
        summary = summary_tokens(self._stood_for(plan), last) if plan.summarise else 0
        return Forecast(total, total - self.gain(plan) + summary, summary)

    def _stood_for(self, plan: Plan) -> float:
        """Tokens of what a summary is wanted of."""
        wanted = set(plan.summarise)
        return self._context.factor * sum(e.tokens for e in self._context.history.visible if e.seq in wanted)

    async def _vectors(self, view: Sequence[Entry]) -> Mapping[int, Sequence[float]]:
        return await vectors_for(self._embedder, self._database, self._context.agent_id, view)
