"""Whether a summary is worth its price just before the prompt cache of a conversation that went quiet expires. Pure.

::

    last request ─── the cache's life ───────────────────────────────┐
         └ reply … nobody says anything … the quiet moment ─ LEAD ───┴ … the next message, on a small page

Written in that moment, a summary reads the whole page from the cache. Whoever comes back later then neither pays for
writing all of it into the cache again nor waits. Whoever never comes back has been summarised for nothing, and so the
sum is one of chances.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.compaction.gate import Restraint
from bot.estimate import Meter

LEAD_SECONDS = 30.0
"""Before the cache expires: to wake, to plan and to reach the provider."""
LAST_SECONDS = 5.0
"""Whoever looks later than that before it expires does nothing: the request might come too late."""
CLEARLY = 1.5
"""What is to be gained, over what it costs: forecasts are forecasts, and details are lost in every summary."""
MOST_TURNS = 20.0
"""Of the turns after a pause, for so many at most a smaller page is counted as gain."""
SUMMARY_SHARE, MOST_SUMMARY = 0.1, 4_000.0
"""Of what it stands for, and in tokens: what a summary is taken to come to in a conversation that has none yet."""


@dataclass(frozen=True)
class Rates:
    """Dollars a token. ``write``: of the first request after a pause; ``read``: of those after it; ``reading`` and
    ``writing``: of the page and of the answer, where the summary is asked for."""

    write: float
    read: float
    reading: float
    writing: float


@dataclass(frozen=True)
class Habit:
    """What this conversation's pauses were like until now. ``late``: so many outlived the cache and were followed by a
    message; ``early``: so many ended between the quiet moment and that; ``turns``: in all."""

    late: int = 0
    early: int = 0
    turns: int = 0

    @classmethod
    def of(cls, pauses: Iterable[float], life: float) -> Habit:
        """``pauses``: seconds between the end of one turn and the beginning of the next."""
        known = list(pauses)
        late = sum(pause >= life for pause in known)
        return cls(late, sum(pause >= life - LEAD_SECONDS for pause in known) - late, len(known) + 1)

    @property
    def chance(self) -> float:
        """That a message comes after the cache has expired: Laplace's rule of succession, so an even one for a
        conversation that never paused before."""
        return (self.late + 1) / (self.late + self.early + 2)

    @property
    def visit(self) -> float:
        """Turns to be expected from one long pause to the next."""
        return min(MOST_TURNS, self.turns / (self.late + 1))


@dataclass(frozen=True)
class Forecast:
    """Tokens of the page before and after, and of the summary that would be written; 0: no model is asked."""

    before: int
    after: int
    summary: int


@dataclass(frozen=True)
class Expected:
    """Dollars, each as to be expected."""

    gain: float
    cost: float

    @property
    def is_worth_it(self) -> bool:
        """Whether it clearly pays."""
        return self.gain > 0 and self.gain >= CLEARLY * self.cost


def moment(asked_at: float, life: float) -> float:
    """When to look whether to summarise. ``asked_at``: when the last request began, which is the latest moment that
    the provider is known to count from; ``life``: of its cache, in seconds."""
    return asked_at + life - LEAD_SECONDS


def is_late(quiet_at: float, now: float) -> bool:
    """Whether the cache may have expired before a request that is made now is read."""
    return now > quiet_at + LEAD_SECONDS - LAST_SECONDS


def may_come(meter: Meter, restraint: Restraint, *, smallest: float) -> bool:
    """Whether a conversation is to be looked at in its quiet moment: a short one never is (``smallest``: a share of
    the limit), and none that an undo or a compaction just before speaks for."""
    held = restraint.paused or restraint.skipping or restraint.cooldown > 0
    return not held and meter.share >= smallest


def summary_tokens(stands_for: float, last: int) -> int:
    """What the summary of so many tokens is taken to come to. ``last``: what the last one of this conversation did; 0:
    there is none."""
    return last or round(min(SUMMARY_SHARE * stands_for, MOST_SUMMARY))


def expected(forecast: Forecast, rates: Rates, habit: Habit) -> Expected:
    """What a summary now gains and costs. Gained is what the first request after the pause does not write, and what
    those of the turns after it do not read."""
    freed = forecast.before - forecast.after
    gain = habit.chance * freed * (rates.write + rates.read * max(0.0, habit.visit - 1))
    cost = forecast.before * rates.reading + forecast.summary * rates.writing if forecast.summary else 0.0
    return Expected(gain, cost)
