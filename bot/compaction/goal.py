"""What a compaction with a summary is to come to, in tokens as the meter counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bot.compaction.boundaries import Ends
from bot.compaction.plan import SUMMARY, Inserted, PlanContext, Scale
from bot.estimate import MESSAGE_TOKENS, Family, Meter, text_tokens
from bot.history import Entry, EntryKind

SUMMARY_SHARE = 0.2
"""Of the goal: what a summary is expected to take at most."""
SUMMARY_RATE = 0.5
"""Of what it stands for: what a summary is expected to take at most."""
DETAILS_RATE = 0.25
"""Of what a compaction wins with its summary: what exact details take of that at most."""
WORTH_SHARE = 0.05
"""Of the page: a compaction that nobody asked for takes more than that away, or it would come again and again."""
RECOVERY_SHARE = 0.75
"""Of the meter's total: a recovery comes to no more, since a provider that refuses counts more than the meter."""


@dataclass(frozen=True)
class Goal:
    """``tokens``: what the request may take; None: whatever the strategy's own numbers come to."""

    tokens: float | None
    limit: int
    scale: Scale

    @classmethod
    def of(cls, entries: Iterable[Entry], meter: Meter, context: PlanContext, warning: float) -> Goal:
        """The context's target; in recovery without one, what is below the warning and clearly less than now."""
        tokens: float | None = context.target
        if tokens is None and context.trigger == "recovery":
            level = warning if 0 < warning < 1 else 1.0
            tokens = min(level * meter.limit, RECOVERY_SHARE * meter.total)
        return cls(tokens, meter.limit, Scale.of(entries, meter))

    def is_met(self, ends: Ends, inserted: Iterable[Inserted], *, saved: float = 0) -> bool:
        """Whether the request comes to it with this middle summarised. ``saved``: guessed tokens that go from what is
        kept."""
        if self.tokens is None:
            return True
        kept = sum(entry.tokens for entry in ends.kept) - saved + frame_tokens(inserted)
        gone = sum(entry.tokens for entry in ends.gone) * self.scale.ratio
        summary = min(self.part(SUMMARY_SHARE), SUMMARY_RATE * gone)
        return self.scale.total(kept) + summary <= self.tokens

    def part(self, share: float) -> float:
        """So much of the room that there is to be: the goal, or the limit without one."""
        return share * (self.limit if self.tokens is None else min(self.tokens, self.limit))


def can_win(ends: Ends, inserted: Iterable[Inserted], context: PlanContext) -> bool:
    """Whether what goes is larger than what is expected to come, and if nobody asked for the compaction, a share of
    the page that is worth one. An earlier summary does not count as gone: the next one holds what it says."""
    gone = sum(entry.tokens for entry in ends.gone if entry.kind is not EntryKind.SUMMARY)
    page = sum(entry.tokens for entry in (*ends.kept, *ends.gone))
    won = (1 - SUMMARY_RATE) * gone - frame_tokens(inserted)
    return won > 0 and (not context.unasked or gone > WORTH_SHARE * page)


def frame_tokens(inserted: Iterable[Inserted]) -> int:
    """Guessed tokens of what is inserted, without the summary itself."""
    texts = (item.text.replace(SUMMARY, "") for item in inserted)
    return sum(math.ceil(MESSAGE_TOKENS + text_tokens(text, family=Family.NEWER)) for text in texts)
