"""Where a conversation's levels begin, as its strategy has them."""

from __future__ import annotations

from dataclasses import dataclass

from bot.compaction import STRATEGIES, Strategy
from bot.estimate.meter import Level, Meter
from bot.runtime.settings import Settings
from bot.runtime.strategies import configured

_STEPS = 1_000


@dataclass(frozen=True)
class Levels:
    """Shares of the limit; None for a level that there is not."""

    warning: float | None
    critical: float | None


class LevelsOf:
    """Finds levels by the name of a strategy. A name that there is not any more has those of the default."""

    def __init__(self, settings: Settings) -> None:
        strategies = configured(STRATEGIES, settings)
        self.default = strategies.default.name
        self._levels = {name: _levels(strategies.get(name) or strategies.default) for name in strategies.names}

    def __call__(self, strategy: str) -> Levels:
        """Of this one; empty: of the one that conversations have that chose none."""
        return self._levels.get(strategy) or self._levels[self.default]


def _levels(strategy: Strategy) -> Levels:
    """Found by asking it: a strategy's levels are its own affair."""
    empty = Meter.of([], limit=100_000)
    asked = [(step / _STEPS, strategy.level(empty.raised(step / _STEPS))) for step in range(_STEPS + 1)]
    warning = next((share for share, level in asked if level is not Level.OK), None)
    critical = next((share for share, level in asked if level is Level.CRITICAL), None)
    return Levels(warning, critical)
