"""``monologue``: what people said and what came of it stays; how the model got there goes from older segments.

From ProbeAgent (FEATURES P1, P2): no model is called. The system prompt is no part of a page, so it always stays (P5).
A result that stays while its call goes is read as text. How much is freed depends on the page alone: with a target or
without, all monologue goes that the options let go, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.compaction.boundaries import open_exchange
from bot.compaction.plan import Plan, PlanContext, everything_but
from bot.compaction.segments import segments_of
from bot.estimate import Level, Meter
from bot.history import Entry


@dataclass(frozen=True)
class MonologueOptions:
    """The levels as shares of the limit, and how many of the most recent segments stay whole: the larger of both
    numbers, where ``keep_last_segment`` is one."""

    warning: float = 0.75
    critical: float = 0.90
    keep_last_segment: bool = True
    min_segments_to_keep: int = 1

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a negative number of segments."""
        if self.min_segments_to_keep < 0:
            raise ValueError(f"min_segments_to_keep={self.min_segments_to_keep} must not be negative")


@dataclass(frozen=True)
class Monologue:
    """Requests and final answers kept, the monologue between them dropped from all but the most recent segments."""

    options: MonologueOptions = MonologueOptions()
    name: str = "monologue"

    def level(self, meter: Meter) -> Level:
        """Two thresholds."""
        return meter.level(self.options.warning, self.options.critical)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:  # noqa: ARG002
        """None when older segments have no monologue."""
        whole = max(int(self.options.keep_last_segment), self.options.min_segments_to_keep)
        segments = segments_of(view)
        older = segments[:-whole] if whole else segments
        in_use = {entry.seq for entry in view[open_exchange(view) :]}
        dropped = {entry.seq for segment in older for entry in segment.monologue} - in_use
        if not dropped:
            return None
        upto = max(entry.seq for entry in view)
        kept = [entry for entry in view if entry.seq not in dropped]
        floor = min((entry.seq for entry in kept), default=upto + 1)
        return Plan(strategy=self.name, upto=upto, floor=floor, hidden=everything_but(kept, upto))
