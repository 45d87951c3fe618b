"""What to hide, what to replace, what to summarise, and which facts stay. Pure decisions: a page in, a plan out.

`gate` says when, a strategy says what (`plan` is what it gets and gives), `summary` whether a text is one and what must
not be lost, `notices` what people read of it; `grammar` and `stems` say what an exact detail is, and when two words are
one; `places` what a path is and where it ends; `quotes` which words of a message are its writer's own; `sentences`
where one ends; `extraction` what a model may make of facts. Nothing here asks a model or writes: agents carry a plan
out (:mod:`bot.agent.compacting`), workers write its summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bot.compaction.manual.manual import CompactionResult, compact_history
from bot.compaction.plan import Plan, PlanContext, Strategy
from bot.compaction.strategies.memory import Memory
from bot.compaction.strategies.monologue import Monologue
from bot.compaction.strategies.reset import Reset
from bot.compaction.strategies.segmented import Segmented
from bot.compaction.strategies.tiered import Tiered
from bot.compaction.strategies.two_phase import TwoPhase

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {strategy.name: strategy for strategy in (Reset(), Segmented(), Memory(), Monologue(), Tiered(), TwoPhase())}
)
"""Every strategy by its name, with its default options."""

__all__ = ["STRATEGIES", "CompactionResult", "Plan", "PlanContext", "Strategy", "compact_history"]
