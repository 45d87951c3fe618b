"""Compaction, as pure decisions: strategies, plans, and the checks of a summary."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bot.compaction.plan import Plan, PlanContext, Strategy
from bot.compaction.reset import Reset

STRATEGIES: Mapping[str, Strategy] = MappingProxyType({"reset": Reset()})
"""Every strategy by its name, with its default options."""

__all__ = ["STRATEGIES", "Plan", "PlanContext", "Strategy"]
