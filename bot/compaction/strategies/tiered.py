"""``tiered``: as little as is needed. Stale files become outlines; then the older messages go that have least to do
with the request; in an emergency everything but the last messages is summarised.

From the tiered decision flow (FEATURES T1 to T4): 60, 75 and 90 % of the limit. The first two tiers call no model.
Below the second threshold only stale files are touched; from there on, when a tier does not bring the context below
the first threshold, the next one follows in the same plan. No tier hides a file that somebody spoke of lately, and such
a file becomes an outline last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from bot.compaction.goal import WORTH_SHARE, Goal
from bot.compaction.parts.file_references import FileReference, unread
from bot.compaction.plan import DETAILS_SHARE, Plan, PlanContext
from bot.compaction.strategies import tiers
from bot.compaction.strategies.recent import RECENT_TOKENS, Preset, Recent
from bot.compaction.strategies.tiers import Draft, Reading
from bot.estimate import Level, Meter
from bot.history import Entry

_SOFT, _HARD, _EMERGENCY = range(3)
_NONE = (_EMERGENCY, _SOFT)
"""From the last tier to the first: none at all."""


@dataclass(frozen=True)
class TieredOptions:
    """The thresholds as shares of the limit, and numbers of messages (what people said, and replies)."""

    aliases: ClassVar[Mapping[str, str]] = {"keep": "keep_last"}

    soft: float = 0.60
    """From here on stale files become outlines; below it nothing happens, and a compaction is to come there."""
    hard: float = 0.75
    """From here on messages go, too."""
    emergency: float = 0.90
    file_stale_after: int = 3
    """A file that was in none of the last so many messages becomes an outline."""
    keep_share: float = 0.5
    """Of the older messages: how many the second tier keeps."""
    keep_last: int = Preset(5)
    """The second tier never touches so many."""
    emergency_keep_last: int = Preset(4)
    recent_tokens: int = RECENT_TOKENS
    """Of the last messages that stay; see :mod:`bot.compaction.strategies.recent`."""
    details_share: float = DETAILS_SHARE
    """Of the limit: exact details that a summary lacks, below it."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a negative number, a share that is none and thresholds that do not rise."""
        if not 0 < self.soft <= self.hard <= self.emergency <= 1:
            given = f"soft={self.soft}, hard={self.hard}, emergency={self.emergency}"
            raise ValueError(f"{given} must rise, above 0 and up to 1")
        for name in ("file_stale_after", "keep_last", "emergency_keep_last", "recent_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative")
        for name in ("keep_share", "details_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} must be from 0 to 1")


@dataclass(frozen=True)
class Tiered:
    """Outlines of files, then relevance, then a summary: the lowest tier that is enough."""

    options: TieredOptions = TieredOptions()
    name: str = "tiered"
    wants_vectors: ClassVar[bool] = True
    begins_early: ClassVar[bool] = False

    def level(self, meter: Meter) -> Level:
        """Compact from the first threshold on, without any delay from the last."""
        return meter.level(self.options.soft, self.options.emergency)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """The plan of the lowest tier that brings the context below the first threshold, or to the context's target;
        of the one that frees most, if none does.

        An unasked compaction has the tiers of the meter's share to choose from, and is None unless it frees a share of
        the page that is worth one. Any other begins with the lowest tier; one with a focus begins with the summary, the
        only tier that can heed it. None when nothing would be won.
        """
        if not view or (context.target is not None and meter.total <= context.target):
            return None
        page = Reading(view, meter, context, self.options.file_stale_after)
        goal = Goal.of(view, meter, context, self.options.soft).tokens
        best: Draft | None = None
        for draft in self._drafts(page, goal):
            if (best is None or draft.total < best.total) and self._is_worth_asking(draft, page, goal):
                best = draft
            if self._is_enough(draft, page, goal):
                break
        worth = WORTH_SHARE * meter.total if context.unasked else 0
        if best is None or meter.total - best.total <= worth:
            return None
        if not best.plan.summarise:
            return best.plan
        return replace(tiers.with_demands(best.plan, page), details_share=self.options.details_share)

    def _is_enough(self, draft: Draft, page: Reading, goal: float | None) -> bool:
        if goal is not None:
            return draft.total <= goal
        # Whoever asks for a compaction, perhaps of a page that is nearly empty, wants to see something of it.
        is_worth_it = page.context.unasked or page.meter.total - draft.total > WORTH_SHARE * page.meter.total
        return is_worth_it and draft.total < self.options.soft * page.meter.limit

    def _is_worth_asking(self, draft: Draft, page: Reading, goal: float | None) -> bool:
        """A model is asked before the emergency only for what brings the context back by a whole step: as much as lies
        between the first two thresholds."""
        step = (self.options.hard - self.options.soft) * page.meter.limit
        is_early = self._is_early(page, goal)
        return not (draft.plan.summarise and is_early) or page.meter.total - draft.total >= step

    def _is_early(self, page: Reading, goal: float | None) -> bool:
        """Whether nobody needs this, and it is no emergency yet."""
        return page.context.unasked and goal is None and page.meter.share < self.options.emergency

    def _drafts(self, page: Reading, goal: float | None) -> Iterator[Draft]:
        """One tier after the other, of those that this share and whoever asks allow."""
        options = self.options
        first, last = self._tiers(page)
        if first <= _SOFT <= last and (draft := tiers.soft(page, strategy=self.name)):
            yield draft
        if first <= _HARD <= last:
            keep_last = self._recent(page, options.keep_last)
            draft = tiers.hard(page, strategy=self.name, keep_share=options.keep_share, keep_last=keep_last)
            if draft:
                yield draft
        if last == _EMERGENCY:
            yield from self._emergencies(page, goal)

    def _emergencies(self, page: Reading, goal: float | None) -> Iterator[Draft]:
        """With the files in full that somebody spoke of lately; then, in a real emergency, with those alone that the
        model has not read yet, since it would only ask for them again; then with outlines of all; and at last with
        fewer messages, when the last ones alone are too much."""
        options, limit = self.options, page.meter.limit
        enough, ceiling = (options.soft * limit, options.emergency * limit) if goal is None else (goal, goal)
        new = {file.seq for file in unread(page.files, page.view)}
        read = [file for file in page.files if file.seq not in new]
        least: float = page.meter.total
        keep_last = self._recent(page, options.emergency_keep_last)
        for outlined in (page.stale_files,) if self._is_early(page, goal) else (page.stale_files, read, page.files):
            draft = self._emergency(page, keep_last, outlined)
            if draft is not None:
                yield draft
                least = min(least, draft.total)
                if draft.total <= enough:
                    return
        for last in reversed(range(keep_last)):
            if least <= ceiling:
                return
            draft = self._emergency(page, last, page.files)
            if draft is not None:
                yield draft
                least = min(least, draft.total)

    def _recent(self, page: Reading, most: int) -> int:
        recent = Recent.of(most, self.options.recent_tokens, page.scale, page.meter)
        return recent.number(most, page.sizes)

    def _emergency(self, page: Reading, keep_last: int, outlined: Sequence[FileReference]) -> Draft | None:
        return tiers.emergency(page, strategy=self.name, keep_last=keep_last, outlined=outlined)

    def _tiers(self, page: Reading) -> tuple[int, int]:
        """The first and the last that may be tried."""
        if page.context.focus or page.context.trigger == "rolling":
            return _EMERGENCY, _EMERGENCY
        if not page.context.unasked or page.context.target is not None:
            return _SOFT, _EMERGENCY
        share = page.meter.share
        if share >= self.options.emergency:
            return _EMERGENCY, _EMERGENCY
        if share >= self.options.hard:
            return _HARD, _EMERGENCY
        return (_SOFT, _SOFT) if share >= self.options.soft else _NONE
