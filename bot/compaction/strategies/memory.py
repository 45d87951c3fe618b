"""``memory``: a checkpoint of facts in place of older messages, without any model.

From AGIME's CFPM (FEATURES A7): a deterministic checkpoint of goals, rules, verified successful actions, values and key
places, without transient error noise; what it covers is hidden. The most recent messages stay word for word, and so
does the request that waits for an answer. The checkpoint stands after whatever does not change, and holds the facts of
an earlier one, updated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import ClassVar

from bot.compaction.boundaries import TALK, answered_by, open_exchange, waiting_request
from bot.compaction.facts.candidates import candidates_by_entry
from bot.compaction.facts.choice import checkpoint_of, checkpoint_tokens
from bot.compaction.facts.fact import Candidate, Fact
from bot.compaction.facts.life import merged
from bot.compaction.plan import Inserted, Plan, PlanContext, Scale, everything_but
from bot.compaction.strategies.recent import MOST_SHARE, RECENT_TOKENS, PresetShare, Recent
from bot.estimate import Level, Meter
from bot.history import TO_ANSWER, Entry, EntryKind
from bot.messages import tool_calls

_MARGIN = 0.01
"""Share of the room that stays free: estimates are rounded, entry by entry."""

_EXCHANGE, _SMALL = 300.0, 0.4
"""Guessed tokens that recent messages may take in any case, and the share of a small room that this may be."""
_SMALLER = (1.0, 0.85, 0.7, 0.5)
"""Of the room, one after the other, where somebody named a target: where nearly all of a page may stay, a checkpoint of
the little that goes is no smaller than that."""
_UNREAD = 0.5
"""Results that the model has not read may take this share of the room."""

_OF_THE_REST = 0.9
_UNUSED = 0.15
"""When facts leave more than this share of the room, more messages stay word for word."""


@dataclass(frozen=True)
class MemoryOptions:
    """The levels as shares of the limit; the share of the limit that everything may take afterwards, where nobody
    names a target; and the share of the room that recent messages, word for word, may take of it.
    """

    warning: float = 0.80
    critical: float = 0.90
    target_share: float = 0.25
    recent_share: float = PresetShare(0.15)
    recent_tokens: int = RECENT_TOKENS
    """Of recent messages, word for word; see :mod:`bot.compaction.strategies.recent`."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a share that is none; a target of nothing is none either."""
        if not 0 < self.target_share <= 1:
            raise ValueError(f"target_share={self.target_share} must be above 0 and at most 1")
        if not 0 <= self.recent_share <= 1:
            raise ValueError(f"recent_share={self.recent_share} must be from 0 to 1")
        if self.recent_tokens < 0:
            raise ValueError(f"recent_tokens={self.recent_tokens} must not be negative")


@dataclass(frozen=True)
class Memory:
    """Facts in place of older messages."""

    options: MemoryOptions = MemoryOptions()
    name: str = "memory"
    wants_facts: ClassVar[bool] = True
    begins_early: ClassVar[bool] = False

    def level(self, meter: Meter) -> Level:
        """The two thresholds."""
        return meter.level(self.options.warning, self.options.critical)

    def plan(self, view: Sequence[Entry], meter: Meter, context: PlanContext) -> Plan | None:
        """None when nothing would become smaller, or nobody named a target and nothing that is known would be left."""
        if not view:
            return None
        scale = Scale.of(view, meter)
        room = self._room(scale, meter, context)
        knowledge = _Knowledge(view, context)
        recent = Recent.of(self.options.recent_share, self.options.recent_tokens, scale, meter)
        for share in _SMALLER if context.target is not None else _SMALLER[:1]:
            if plan := self._planned(view, share * room, recent, knowledge):
                is_forgotten = not plan.inserted and context.target is None and knowledge.without(set())
                return None if is_forgotten else plan
        return None

    def _planned(self, view: Sequence[Entry], room: float, recent: Recent, knowledge: _Knowledge) -> Plan | None:
        page = _Page(view, room)
        most = recent.at_most(self._recent(room))
        kept = page.kept(most if recent.counted else min(most, MOST_SHARE * room), room)
        text = self._checkpoint(view, kept, room, knowledge)
        if not text and len(bare := page.kept(0, room)) < len(kept):
            kept, text = bare, self._checkpoint(view, bare, room, knowledge)
        left = room - _tokens(kept) - checkpoint_tokens(text)
        if left > _UNUSED * room:
            most = _tokens(kept) + _OF_THE_REST * left
            more = page.kept(most if recent.tokens is None else min(most, recent.tokens), room)
            if len(more) > len(kept):
                longer = self._checkpoint(view, more, room, knowledge)
                if bool(longer) is bool(text) and _tokens(more) + checkpoint_tokens(longer) <= room:
                    kept, text = more, longer
        return self._plan(view, kept, text)

    def _recent(self, room: float) -> float:
        """Guessed tokens that recent messages may take of it: in a small room the last exchange says more than what a
        few lines could say of everything before."""
        share = self.options.recent_share
        return share * room if not isinstance(share, PresetShare) else max(share * room, min(_SMALL * room, _EXCHANGE))

    def _room(self, scale: Scale, meter: Meter, context: PlanContext) -> float:
        """Guessed tokens that entries may take. Without a target, a share of what the head leaves of the limit."""
        target = context.target
        if target is None:
            target = scale.head + int(self.options.target_share * (meter.limit - scale.head))
        return max(0.0, scale.room(target) * (1 - _MARGIN))

    def _checkpoint(self, view: Sequence[Entry], kept: Sequence[Entry], room: float, knowledge: _Knowledge) -> str:
        shown = {entry.seq for entry in kept}
        hidden = [entry for entry in view if entry.seq not in shown]
        left = room - _tokens(kept)
        if left <= 0:  # The target cannot be met; but not to remember anything would be worse than a little more.
            left = self.options.target_share * _tokens(hidden)
        return checkpoint_of(knowledge.without(shown), left)

    def _plan(self, view: Sequence[Entry], kept: Sequence[Entry], text: str) -> Plan | None:
        shown = {entry.seq for entry in kept}
        hidden = [entry for entry in view if entry.seq not in shown]
        if not any(entry.kind in TALK for entry in hidden) or ceil(checkpoint_tokens(text)) >= _tokens(hidden):
            return None
        upto = max(entry.seq for entry in view)
        place = min((entry.seq for entry in kept), default=upto + 1)
        inserted = (Inserted(place, EntryKind.NOTE, text),) if text else ()
        return Plan(
            strategy=self.name,
            upto=upto,
            floor=place,
            hidden=everything_but(kept, upto),
            inserted=inserted,
        )


class _Knowledge:
    """What is known, or can be found on a page: it is searched once, however much of it is tried to be kept."""

    def __init__(self, view: Sequence[Entry], context: PlanContext) -> None:
        self._view = view
        self._known = context.facts
        self._found: list[tuple[Entry, tuple[Candidate, ...]]] | None = None

    def without(self, shown: set[int]) -> tuple[Fact, ...]:
        """The facts, without what can be read in the messages that stay."""
        if self._known is not None:
            return tuple(fact for fact in self._known if not fact.seqs or not shown.issuperset(fact.seqs))
        if self._found is None:
            self._found = list(candidates_by_entry(self._view))
        hidden = (found for entry, found in self._found if entry.seq not in shown)
        return merged(candidate for found in hidden for candidate in found).facts


class _Page:
    """A page, and how much of its end can stay word for word."""

    def __init__(self, view: Sequence[Entry], most: float) -> None:
        """``most``: tokens that the end of the page may take at most."""
        self._view = view
        self._waiting = frozenset(waiting_request(view))
        self._open = open_exchange(view)
        self._answered = {call for entry in view[self._open :] for call in answered_by(entry)}
        self._sizes = list(accumulate((entry.tokens for entry in reversed(view)), initial=0))[::-1]
        first = next((at for at, size in enumerate(self._sizes) if size <= most), len(view))
        self._cuts = _cuts(view, first)

    def kept(self, recent: float, room: float) -> list[Entry]:
        """The entries that stay: the request that waits, a tool exchange that is open, and as many of the last entries
        as fit in ``recent`` tokens.

        An exchange of question and answer that fits stays whole; of one that does not, its end may stay. Results that
        the model has not read yet stay if they leave half of ``room`` to the rest.
        """
        last = self._open if self._must_stay_open(room) else len(self._view)
        fitting = [at for at in self._cuts if at <= last and self._tokens_with(at) <= recent]
        starts = [at for at in fitting if self._begins(at)]
        cut = min(starts or fitting, default=last)
        kept = (entry for at, entry in enumerate(self._view) if at >= cut or at in self._waiting)
        return [entry for entry in kept if entry.layer is None]

    def _must_stay_open(self, room: float) -> bool:
        calls = {call["id"] for entry in self._view[self._open :] for call in tool_calls(entry.blocks)}
        return bool(calls - self._answered) or self._tokens_with(self._open) <= _UNREAD * room

    def _tokens_with(self, cut: int) -> int:
        """Tokens from this cut on, and of the request that waits before it."""
        return self._sizes[cut] + sum(self._view[at].tokens for at in self._waiting if at < cut)

    def _begins(self, at: int) -> bool:
        here = at < len(self._view) and self._view[at].kind in TO_ANSWER
        return here and (at == 0 or self._view[at - 1].kind not in TO_ANSWER)


def _cuts(view: Sequence[Entry], first: int) -> list[int]:
    """Indices from ``first`` on at which no result from there on answers a call before, the last one first."""
    asked = {str(call["id"]) for entry in view[first:] for call in tool_calls(entry.blocks)}
    answered = {str(call) for entry in view[first:] for call in answered_by(entry)}
    if answered - asked:
        asked.update(str(call["id"]) for entry in view[:first] for call in tool_calls(entry.blocks))
    open_results: set[str] = set()
    cuts = [len(view)]
    for at in range(len(view) - 1, first - 1, -1):
        open_results.update(asked.intersection(map(str, answered_by(view[at]))))
        open_results.difference_update(str(call["id"]) for call in tool_calls(view[at].blocks))
        if not open_results:
            cuts.append(at)
    return cuts


def _tokens(entries: Sequence[Entry]) -> int:
    return sum(entry.tokens for entry in entries)
