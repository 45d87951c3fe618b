"""``segmented``: the first and the last messages stay, and a summary stands in place of those between them.

From AGIME (FEATURES A3): the first 3 and the last 10 messages are kept. The originals of the middle are invisible to
the model, while people still see them; the summary and the instruction to go on are visible to the model alone. An
earlier summary is part of what the new one is written of, which takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from bot.compaction.boundaries import Ends, Page, fewer
from bot.compaction.goal import Goal, can_win
from bot.compaction.plan import DETAILS_SHARE, SUMMARY, Inserted, Plan, PlanContext, details_of
from bot.compaction.strategies.recent import RECENT_TOKENS, Preset, Recent
from bot.compaction.strategies.reset import DEMANDS_SHARE
from bot.compaction.summary import frames
from bot.estimate import Level, Meter
from bot.history import Entry, EntryKind

SUMMARY_TEXT = f"{frames.IN_THE_MIDDLE}\n\n{SUMMARY}"
GO_ON = frames.AFTER_THE_MIDDLE


@dataclass(frozen=True)
class SegmentedOptions:
    """The levels as shares of the limit, and numbers of messages as the model reads them (see
    :mod:`bot.compaction.boundaries`)."""

    aliases: ClassVar[Mapping[str, str]] = {"keep": "keep_last"}

    warning: float = 0.80
    critical: float = 0.90
    keep_first: int = 3
    keep_last: int = Preset(10)
    recent_tokens: int = RECENT_TOKENS
    """Of the last messages; see :mod:`bot.compaction.strategies.recent`."""
    min_messages: int = 20
    """An unasked compaction needs so many."""
    details_share: float = DETAILS_SHARE
    """Of the limit: exact details that a summary lacks, below it."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a negative number of messages and a share that is none."""
        if not 0 <= self.details_share <= 1:
            raise ValueError(f"details_share={self.details_share} must be from 0 to 1")
        for name in ("keep_first", "keep_last", "recent_tokens", "min_messages"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative")


@dataclass(frozen=True)
class Segmented:
    """The middle summarised between the first and the last messages."""

    options: SegmentedOptions = SegmentedOptions()
    name: str = "segmented"
    begins_early: ClassVar[bool] = False

    def level(self, meter: Meter) -> Level:
        """Two thresholds."""
        return meter.level(self.options.warning, self.options.critical)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """None when the page is too short, or when a summary of the middle could not be smaller than it.

        Fewer messages are kept than the options say, down to the request that waits, where they leave nothing to
        summarise or where they alone are too large for the target; but when nobody asked for this compaction and
        there is no target, never.
        """
        page = Page.of(view, without=(GO_ON,))
        if context.unasked and len(page.messages) < self.options.min_messages:
            return None
        goal = Goal.of(view, meter, context, self.options.warning)
        ends = self._ends(page, goal, meter, context)
        if ends is None:
            return None
        return Plan(
            strategy=self.name,
            upto=ends.upto,
            floor=ends.floor,
            hidden=ends.hidden,
            inserted=_inserted(ends),
            summarise=tuple(entry.seq for entry in ends.gone),
            must_keep=details_of(
                ends.gone, goal.part(DEMANDS_SHARE), context.rules, kept=ends.kept, focus=context.focus
            ),
            focus=context.focus,
            details_share=self.options.details_share,
        )

    def _ends(self, page: Page, goal: Goal, meter: Meter, context: PlanContext) -> Ends | None:
        fixed = context.unasked and goal.tokens is None
        options = self.options
        recent = Recent.of(options.keep_last, options.recent_tokens, goal.scale, meter)
        numbers = fewer(options.keep_first, recent.number(options.keep_last, page.sizes))
        found: Ends | None = None
        for first, last in islice(numbers, 1 if fixed else None):
            ends = page.ends(first, last)
            if ends is None or not can_win(ends, _inserted(ends), context):
                continue
            found = ends
            if goal.is_met(ends, _inserted(ends)):
                break
        return found


def _inserted(ends: Ends) -> tuple[Inserted, ...]:
    return (
        Inserted(ends.place, EntryKind.SUMMARY, SUMMARY_TEXT),
        Inserted(ends.place, EntryKind.NOTE, GO_ON),
    )
