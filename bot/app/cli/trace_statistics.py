"""What many compactions come to: counts, tokens, what people waited for, cost. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.runtime.prices import cost
from bot.runtime.utc_day import day_of
from bot.store.operators.traces import Ran
from bot.store.runs import RunState

By = Literal["day", "strategy", "trigger", "outcome", "agent"]

_KEYS: Mapping[By, Callable[[Ran], str]] = {
    "day": lambda ran: day_of(ran.started_at),
    "strategy": lambda ran: ran.strategy,
    "trigger": lambda ran: ran.trigger,
    "outcome": lambda ran: ran.state.value,
    "agent": lambda ran: ran.agent_id,
}
_WAITED_FOR = frozenset({"auto", "recovery"})


@dataclass(frozen=True)
class Total:
    """What some compactions come to. ``before``, ``after`` and ``freed`` are tokens of those that were done;
    ``messages`` and ``removed``: those of the requests before, and how many fewer there were after, of the runs that
    were counted; ``pauses``: how many somebody waited for in the middle of an answer, ``waited`` their seconds
    together and ``longest`` the longest; ``p50`` and ``p95``: seconds that a compaction took; ``cost`` in dollars, of
    the ``priced`` ones, None where no price is known of any."""

    runs: int
    outcomes: Mapping[str, int]
    triggers: Mapping[str, int]
    before: int
    after: int
    freed: int
    messages: int
    removed: int
    pauses: int
    waited: float
    longest: float
    p50: float | None
    p95: float | None
    cost: float | None
    priced: int
    input: int
    output: int
    undone: int

    @property
    def reduction(self) -> float:
        """By how many percent of the messages the requests became shorter; to one decimal."""
        return round(100 * self.removed / self.messages, 1) if self.messages else 0.0

    def as_json(self) -> dict[str, Any]:
        """For a JSON document."""
        return {
            "runs": self.runs,
            "outcomes": dict(self.outcomes),
            "triggers": dict(self.triggers),
            "tokens": {"before": self.before, "after": self.after, "freed": self.freed},
            "messages": {"before": self.messages, "removed": self.removed, "reductionPercent": self.reduction},
            "pauses": {"count": self.pauses, "seconds": self.waited, "longest": self.longest},
            "seconds": {"p50": self.p50, "p95": self.p95},
            "cost": {"dollars": self.cost, "of": self.priced, "input": self.input, "output": self.output},
            "undone": self.undone,
        }


def total(runs: Iterable[Ran]) -> Total:
    """Of all of these."""
    kept = list(runs)
    done = [ran for ran in kept if ran.state is RunState.DONE and ran.after]
    before = sum(ran.before.total for ran in done)
    after = sum(ran.after.total for ran in done if ran.after)
    counted = [stats for ran in done if (stats := ran.stats)]
    pauses = [seconds for ran in kept if (seconds := pause_of(ran)) is not None]
    took = sorted(ran.finished_at - ran.started_at for ran in kept if ran.finished_at is not None)
    prices = [price for ran in kept if ran.usage and (price := cost(ran.model, ran.usage)) is not None]
    return Total(
        runs=len(kept),
        outcomes=_counts(ran.state.value for ran in kept),
        triggers=_counts(ran.trigger for ran in kept),
        before=before,
        after=after,
        freed=before - after,
        messages=sum(stats["originalCount"] for stats in counted),
        removed=sum(stats["removed"] for stats in counted),
        pauses=len(pauses),
        waited=round(sum(pauses), 3),
        longest=round(max(pauses, default=0.0), 3),
        p50=_quantile(took, 0.5),
        p95=_quantile(took, 0.95),
        cost=round(sum(prices), 6) if prices else None,
        priced=len(prices),
        input=sum(ran.usage.context for ran in kept if ran.usage),
        output=sum(ran.usage.output for ran in kept if ran.usage),
        undone=sum(ran.undone for ran in kept),
    )


def grouped(runs: Iterable[Ran], by: By) -> dict[str, Total]:
    """The same of each day, strategy, trigger, outcome or agent, sorted by its name."""
    groups: dict[str, list[Ran]] = {}
    for ran in runs:
        groups.setdefault(_KEYS[by](ran), []).append(ran)
    return {name: total(groups[name]) for name in sorted(groups)}


def pause_of(ran: Ran) -> float | None:
    """Seconds for which somebody waited for it in the middle of an answer; None where nobody did."""
    if ran.turn is None or ran.trigger not in _WAITED_FOR or ran.finished_at is None:
        return None
    return max(0.0, ran.finished_at - ran.started_at)


def freed_by(ran: Ran) -> int | None:
    """Tokens by which it made the context smaller; None where it did nothing."""
    return ran.before.total - ran.after.total if ran.after else None


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest of the sorted values that so many of them do not exceed."""
    return round(values[max(0, math.ceil(share * len(values)) - 1)], 3) if values else None
