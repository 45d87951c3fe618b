"""Compaction, as pure decisions: strategies, plans, and the checks of a summary."""

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
