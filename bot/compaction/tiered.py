"""``tiered``: as little as is needed. Stale files become outlines; then the older messages go that have least to do
with the request; in an emergency everything but the last messages is summarised.

From the tiered decision flow (FEATURES T1 to T4): 60, 75 and 90 % of the limit. The first two tiers call no model.
When a tier does not bring the context below the first threshold, the next one follows in the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.compaction import tiers
from bot.compaction.file_references import unread
from bot.compaction.goal import WORTH_SHARE, Goal
from bot.compaction.plan import Plan, PlanContext
from bot.compaction.tiers import Draft, Reading
from bot.estimate import Level, Meter
from bot.history import Entry


@dataclass(frozen=True)
class TieredOptions:
    """The thresholds as shares of the limit, and numbers of messages (what people said, and replies)."""

    aliases: ClassVar[Mapping[str, str]] = {"keep": "keep_last"}

    soft: float = 0.60
    """From here on the context is compacted, and below it a compaction is to come."""
    hard: float = 0.75
    emergency: float = 0.90
    file_stale_after: int = 3
    """A file that was in none of the last so many messages becomes an outline."""
    keep_share: float = 0.5
    """Of the older messages: how many the second tier keeps."""
    keep_last: int = 5
    """The second tier never touches so many."""
    emergency_keep_last: int = 4

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a negative number, a share that is none and thresholds that do not rise."""
        if not 0 < self.soft <= self.hard <= self.emergency <= 1:
            given = f"soft={self.soft}, hard={self.hard}, emergency={self.emergency}"
            raise ValueError(f"{given} must rise, above 0 and up to 1")
        for name in ("file_stale_after", "keep_last", "emergency_keep_last"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative")
        if not 0 <= self.keep_share <= 1:
            raise ValueError(f"keep_share={self.keep_share} must be from 0 to 1")


@dataclass(frozen=True)
class Tiered:
    """Outlines of files, then relevance, then a summary: the lowest tier that is enough."""

    options: TieredOptions = TieredOptions()
    name: str = "tiered"
    wants_vectors: ClassVar[bool] = True

    def level(self, meter: Meter) -> Level:
        """Compact from the first threshold on, without any delay from the last."""
        return meter.level(self.options.soft, self.options.emergency)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """The plan of the lowest tier that brings the context below the first threshold, or to the context's target;
        of the one that frees most, if none does.

        An unasked compaction begins with the tier of the meter's share, and is None unless it frees a share of the
        page that is worth one. Any other begins with the lowest tier; one with a focus begins with the summary, the
        only tier that can heed it. None when nothing would be won.
        """
        if not view or (context.target is not None and meter.total <= context.target):
            return None
        page = Reading(view, meter, context, self.options.file_stale_after)
        goal = Goal.of(view, meter, context, self.options.soft).tokens
        best: Draft | None = None
        for draft in self._drafts(page, goal):
            if best is None or draft.total < best.total:
                best = draft
            if self._is_enough(draft, page, goal):
                break
        worth = WORTH_SHARE * meter.total if context.unasked else 0
        if best is None or meter.total - best.total <= worth:
            return None
        return tiers.with_details(best.plan, page) if best.plan.summarise else best.plan

    def _is_enough(self, draft: Draft, page: Reading, goal: float | None) -> bool:
        if goal is not None:
            return draft.total <= goal
        # Whoever asks for a compaction, perhaps of a page that is nearly empty, wants to see something of it.
        is_worth_it = page.context.unasked or page.meter.total - draft.total > WORTH_SHARE * page.meter.total
        return is_worth_it and draft.total < self.options.soft * page.meter.limit

    def _drafts(self, page: Reading, goal: float | None) -> Iterator[Draft]:
        """One tier after the other."""
        options, first = self.options, self._first_tier(page)
        if first == 0 and (draft := tiers.soft(page, strategy=self.name)):
            yield draft
        if first <= 1:
            draft = tiers.hard(page, strategy=self.name, keep_share=options.keep_share, keep_last=options.keep_last)
            if draft:
                yield draft
        yield from self._emergencies(page, goal)

    def _emergencies(self, page: Reading, goal: float | None) -> Iterator[Draft]:
        """In a real emergency with the files in full that the model has not read yet, since it would only ask for them
        again; else first with all that somebody spoke of lately. Then with outlines of all; then with fewer messages,
        when the last ones alone are too much."""
        options = self.options
        ceiling = options.emergency * page.meter.limit if goal is None else goal
        new = {file.seq for file in unread(page.files, page.view)}
        read = [file for file in page.files if file.seq not in new]
        attempts = [(options.emergency_keep_last, read)]
        if page.meter.share < options.emergency:
            attempts.insert(0, (options.emergency_keep_last, page.stale_files))
        attempts += [(last, page.files) for last in range(options.emergency_keep_last, -1, -1)]
        for last, outlined in attempts:
            draft = tiers.emergency(page, strategy=self.name, keep_last=last, outlined=outlined)
            if draft is not None:
                yield draft
                if draft.total <= ceiling:
                    return
            elif page.context.unasked and page.meter.total <= ceiling:
                return

    def _first_tier(self, page: Reading) -> int:
        if page.context.focus:
            return 2
        if not page.context.unasked or page.context.target is not None:
            return 0
        share = page.meter.share
        return 2 if share >= self.options.emergency else 1 if share >= self.options.hard else 0
