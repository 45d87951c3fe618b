"""``reset``: everything summarised, a reset marker, the summary, and the latest request after it.

From Daycare (FEATURES D1, D6): warning at 75 % and critical at 90 % of the limit; after a compaction the page reads:
the marker ``Session context compacted.``, the summary as a user message with an instruction to go on, and the latest
user message. A request that was answered already stays with its answer, so that nothing is answered twice: with all
that was done in between, or without it, or the answer by itself, whatever is small. The next message may be no more
than "yes" to it. Of a request that is not answered what tools returned stays that the model has not read yet, so that
no tool is called twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from bot.compaction.boundaries import open_exchange
from bot.compaction.plan import (
    DETAILS_SHARE,
    SUMMARY,
    Inserted,
    Plan,
    PlanContext,
    Scale,
    details_of,
    everything_but,
)
from bot.compaction.strategies.recent import RECENT_TOKENS, PresetShare, Recent
from bot.compaction.summary import frames
from bot.estimate import Level, Meter
from bot.history import REQUESTS, TO_ANSWER, Entry, EntryKind
from bot.messages import Audience

MARKER = "Session context compacted."
GO_ON = frames.AFTER_ALL
_AFTERWARDS, _UNREAD = 0.5, 0.5
"""Of the limit: what the page may take afterwards, unless somebody named a target; and of that, results that the model
has not read yet."""
DEMANDS_SHARE = 0.1
"""Of the limit: what somebody demanded of a summary, letter by letter."""


@dataclass(frozen=True)
class ResetOptions:
    """The levels as shares of the limit, and the share up to which an answered exchange stays word for word."""

    warning: float = 0.75
    critical: float = 0.90
    keep_exchange_share: float = PresetShare(0.15)
    recent_tokens: int = RECENT_TOKENS
    """Of that exchange; see :mod:`bot.compaction.strategies.recent`."""
    details_share: float = DETAILS_SHARE
    """Of the limit: exact details that a summary lacks, below it."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a share that is none."""
        for name in ("keep_exchange_share", "details_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} must be from 0 to 1")
        if self.recent_tokens < 0:
            raise ValueError(f"recent_tokens={self.recent_tokens} must not be negative")


@dataclass(frozen=True)
class Reset:
    """Everything summarised, and the latest request after the summary."""

    options: ResetOptions = ResetOptions()
    name: str = "reset"

    def level(self, meter: Meter) -> Level:
        """Daycare's two thresholds."""
        return meter.level(self.options.warning, self.options.critical)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """None when there is nothing but the latest request and earlier summaries."""
        kept = self._kept(view, meter, context)
        staying = {entry.seq for entry in kept}
        rest = [entry for entry in view if entry.seq not in staying]
        if not any(entry.kind in (*REQUESTS, EntryKind.REPLY, EntryKind.RESULT) for entry in rest):
            return None
        upto = max(entry.seq for entry in view)
        place = min((entry.seq for entry in kept), default=upto + 1)
        return Plan(
            strategy=self.name,
            upto=upto,
            floor=place,
            hidden=everything_but(kept, upto),
            inserted=(
                Inserted(place, EntryKind.MARKER, MARKER, Audience.EVERYONE),
                Inserted(place, EntryKind.SUMMARY, f"{SUMMARY}\n\n{GO_ON}"),
            ),
            summarise=tuple(entry.seq for entry in rest if entry.kind is not EntryKind.MARKER),
            must_keep=details_of(rest, DEMANDS_SHARE * meter.limit, context.rules, kept=kept, focus=context.focus),
            focus=context.focus,
            details_share=self.options.details_share,
        )

    def _kept(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> list[Entry]:
        requests = [index for index, entry in enumerate(view) if entry.kind in REQUESTS]
        if not view or not _is_answered(view):
            if not requests:
                return []
            # Several messages that one turn collected belong together, and so do messages that wait for an answer.
            before = takewhile(lambda entry: entry.kind in TO_ANSWER, reversed(view[: requests[-1]]))
            files = takewhile(lambda entry: entry.kind is EntryKind.FILE, view[requests[-1] + 1 :])
            unread = _unread(view[requests[-1] + 1 :], Scale.of(view, meter), meter, context)
            return [*reversed(list(before)), view[requests[-1]], *files, *unread]
        exchange = list(view[requests[-1] if requests else -1 :])
        options = self.options
        recent = Recent.of(options.keep_exchange_share, options.recent_tokens, Scale.of(view, meter), meter)
        most = recent.at_most(options.keep_exchange_share * meter.limit)
        ends = (exchange, [exchange[0], exchange[-1]], exchange[-1:])
        return next((kept for kept in ends if sum(entry.tokens for entry in kept) <= most), [])


def _unread(since: Sequence[Entry], scale: Scale, meter: Meter, context: PlanContext) -> Sequence[Entry]:
    """Of what was done since the request: the calls whose results the model has not read yet, with them, where they
    leave half of the room to the rest."""
    unread = since[open_exchange(since) :]
    room = scale.room(_AFTERWARDS * meter.limit if context.target is None else context.target)
    return unread if sum(entry.tokens for entry in unread) <= _UNREAD * room else ()


def _is_answered(view: Sequence[Entry]) -> bool:
    last = view[-1]
    calls = any(block.get("type") == "tool_use" for block in last.blocks)
    return last.kind is EntryKind.REPLY and not last.interrupted and not calls
