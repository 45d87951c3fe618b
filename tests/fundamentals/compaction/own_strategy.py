"""A strategy as somebody would write one: everything but the last two messages goes, without a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.compaction import Plan, PlanContext
from bot.compaction.plan import everything_but
from bot.estimate import Level, Meter
from bot.history import Entry


@dataclass(frozen=True)
class KeepTwoOptions:
    warning: float = 0.5


@dataclass(frozen=True)
class KeepTwo:
    options: KeepTwoOptions = KeepTwoOptions()
    name: str = "keep_two"

    def level(self, meter: Meter) -> Level:
        return meter.level(self.options.warning, 0.9)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        kept = view[-2:]
        if len(view) <= 2:
            return None
        return Plan(self.name, view[-1].seq, kept[0].seq, hidden=everything_but(kept, view[-1].seq))


@dataclass(frozen=True)
class Broken:
    """It raises whatever it is asked."""

    options: KeepTwoOptions = KeepTwoOptions()
    name: str = "broken"

    def level(self, meter: Meter) -> Level:
        raise RuntimeError("no level today")

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        raise RuntimeError("no plan today")
