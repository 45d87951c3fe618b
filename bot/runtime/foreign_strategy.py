"""A strategy that somebody else wrote: whatever it does, a conversation goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bot.compaction import STRATEGIES, Plan, PlanContext, Strategy
from bot.compaction.options import with_options
from bot.errors import StrategyFailed
from bot.estimate import Level, Meter
from bot.history import Entry

log = structlog.get_logger(__name__)

_WARNING, _CRITICAL = 0.75, 0.90


@dataclass(frozen=True)
class ForeignStrategy:
    """``strategy``, with its failures told as such."""

    strategy: Strategy

    @property
    def name(self) -> str:
        """Its own."""
        return self.strategy.name

    @property
    def options(self) -> Any:
        """Its own."""
        return self.strategy.options

    @property
    def wants_vectors(self) -> bool:
        """Whether it wants embeddings of the entries."""
        return bool(getattr(self.strategy, "wants_vectors", False))

    @property
    def wants_facts(self) -> bool:
        """Whether it wants what is known of the conversation."""
        return bool(getattr(self.strategy, "wants_facts", False))

    @property
    def begins_early(self) -> bool:
        """Whether it may be asked after a reply a little below its first level."""
        return bool(getattr(self.strategy, "begins_early", True))

    def level(self, meter: Meter) -> Level:
        """What it says; the two usual thresholds, if it says no level."""
        try:
            level: object = self.strategy.level(meter)
        except Exception:
            log.exception("strategy_failed", strategy=self.name, asked="level")
            level = None
        return level if isinstance(level, Level) else meter.level(_WARNING, _CRITICAL)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """What it says. Raises StrategyFailed where that is no plan for this page."""
        try:
            plan: object = self.strategy.plan(view, meter, context)
        except Exception as error:
            line = " ".join(str(error).split()).rstrip(".")
            raise StrategyFailed(f"The strategy {self.name} failed: {type(error).__name__}: {line}.") from error
        if plan is None:
            return None
        if not isinstance(plan, Plan):
            raise StrategyFailed(f"The strategy {self.name} failed: it returned {type(plan).__name__}, and not a Plan.")
        if view and not 0 <= plan.upto <= max(entry.seq for entry in view):
            raise StrategyFailed(f"The strategy {self.name} failed: its plan goes up to an entry that there is not.")
        return plan


def guarded(strategy: Strategy) -> Strategy:
    """A strategy that is not one of ours, so that its failures harm nobody."""
    ours = strategy.name in STRATEGIES and type(strategy) is type(STRATEGIES[strategy.name])
    return strategy if ours else ForeignStrategy(strategy)


def for_once(strategy: Strategy, values: Mapping[str, object]) -> Strategy:
    """The same strategy with other options. Raises ``ValueError`` with one sentence for people."""
    bare = strategy.strategy if isinstance(strategy, ForeignStrategy) else strategy
    return guarded(with_options(bare, values))
