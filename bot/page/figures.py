"""What happened lately in figures, each with the days before as bars, so that one sees whether that is usual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bot.history import Usage
from bot.page.format import count, dollars, duration, percent, short, trigger
from bot.runtime.prices import cost
from bot.store import Tx
from bot.store.operators.overview import Day
from bot.store.operators.trends import Stretch, stretches
from bot.store.runs import RunState

HOUR = 3_600.0
DAY = 24 * HOUR
_HOURS, _BARS = 7 * 24, 28
_A_BAR = _HOURS // _BARS
_LATELY = _BARS // 7
_SETTLED = HOUR
"""After its end an hour changes no more: its turns have come to their ends."""


@dataclass(frozen=True)
class Bar:
    """One stretch of time, from the left; of 100 in height. ``is_late``: within the last 24 hours."""

    at: int
    height: float
    is_late: bool


@dataclass(frozen=True)
class Figure:
    """A number of the last 24 hours, what one should know beside it, and the last seven days: bars, and in words."""

    label: str
    value: str
    notes: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    told: str = ""
    href: str = ""


class Week:
    """The last seven days, an hour at a time. An hour that is over is read once by each process: there are thousands of
    turns in seven days, and whoever looks at the overview asks every few seconds."""

    def __init__(self) -> None:
        self._over: dict[int, Stretch] = {}

    async def until(self, tx: Tx, now: float) -> list[Stretch]:
        """Six hours each, the oldest first; the last one ends with this hour."""
        last = int(now // HOUR)
        wanted = range(last - _HOURS + 1, last + 1)
        first = next(hour for hour in wanted if hour not in self._over)  # this hour is never over
        read = await stretches(tx, since=first * HOUR, seconds=HOUR, count=last - first + 1)
        known = self._over | dict(enumerate(read, first))
        self._over = {hour: known[hour] for hour in wanted if (hour + 1) * HOUR + _SETTLED <= now}
        hours = [known[hour] for hour in wanted]
        return [sum(hours[at + 1 : at + _A_BAR], hours[at]) for at in range(0, _HOURS, _A_BAR)]


def figures(day: Day, week: Sequence[Stretch], model: str) -> list[Figure]:
    """``week``: seven days of stretches, the oldest first; ``model``: that which answers, empty for the local one."""
    of_models = _models(day, model)
    return [
        _answers(day, week),
        *of_models,
        _compactions(day, week),
        _ahead(day, week),
        _waits(day, week),
        _cost(day, week, model),
    ]


@dataclass(frozen=True)
class Counts:
    """The compactions of a day in a few numbers; seconds for pauses."""

    compactions: int
    by_outcome: Mapping[str, int]
    by_trigger: Mapping[str, int]
    pauses: int
    pause_median: float | None
    pause_longest: float | None


def counts(day: Day) -> Counts:
    """Those of this one."""
    by_outcome = dict.fromkeys(RunState, 0)
    by_trigger: dict[str, int] = {}
    for (why, state), number in day.runs.items():
        by_outcome[state] += number
        by_trigger[why] = by_trigger.get(why, 0) + number
    return Counts(
        compactions=sum(by_outcome.values()),
        by_outcome={state.value: number for state, number in by_outcome.items() if number},
        by_trigger=by_trigger,
        pauses=len(day.pauses),
        pause_median=median(day.pauses) if day.pauses else None,
        pause_longest=max(day.pauses, default=None),
    )


def spent(day: Day, model: str) -> float | None:
    """Dollars for the answers, by the model that talks, and for the compactions; None where a price is not known."""
    known, unknown = _dollars(day, model)
    return None if unknown else known


def _answers(day: Day, week: Sequence[Stretch]) -> Figure:
    by_stretch = [float(sum(stretch.turns.values())) for stretch in week]
    ended = [f"{count(day.turns.get('failed', 0))} failed", f"{count(day.turns.get('aborted', 0))} stopped"]
    return Figure(
        "Answers",
        count(sum(day.turns.values())),
        (*ended, f"{count(sum(by_stretch))} in 7 days"),
        *_bars(by_stretch, count),
    )


def _models(day: Day, model: str) -> list[Figure]:
    """Whose the answers are, where not all are of the one that is wanted."""
    by_name: dict[str, int] = {}
    for name, number in day.models.items():
        by_name[_name(name, model)] = by_name.get(_name(name, model), 0) + number
    if set(by_name) <= {model}:
        return []
    total = sum(by_name.values())
    most_first = sorted(by_name.items(), key=lambda one: (-one[1], one[0]))
    first, *others = [f"{percent(number / total)} {name}" for name, number in most_first]
    return [Figure("Answers by model", first, tuple(others))]


def _name(name: str, model: str) -> str:
    """Of who answered: what was not kept is that of the settings, and the local model has none."""
    return name if name and model else model


def _compactions(day: Day, week: Sequence[Stretch]) -> Figure:
    by_stretch, known = [float(stretch.runs) for stretch in week], counts(day)
    outcomes = [f"{count(number)} {name}" for name, number in sorted(known.by_outcome.items())]
    return Figure(
        "Compactions",
        count(known.compactions),
        (*outcomes, f"{count(sum(by_stretch))} in 7 days"),
        *_bars(by_stretch, count),
        href="/compactions?within=24h",
    )


def _ahead(day: Day, week: Sequence[Stretch]) -> Figure:
    known = counts(day)
    others = [(name, number) for name, number in sorted(known.by_trigger.items()) if name != "ahead"]
    value = f"{count(known.by_trigger.get('ahead', 0))} of {count(known.compactions)}"
    notes = tuple(f"{count(number)} {trigger(name)}" for name, number in others)
    return Figure("Compacted while nobody waited", value, notes, *_bars([float(s.ahead) for s in week], count))


def _waits(day: Day, week: Sequence[Stretch]) -> Figure:
    by_stretch = [median(stretch.pauses) if stretch.pauses else 0.0 for stretch in week]
    known = counts(day)
    notes = (f"median of {count(known.pauses)}", f"longest {duration(known.pause_longest)}") if day.pauses else ()
    return Figure(
        "Wait for a compaction",
        duration(known.pause_median) if day.pauses else "nobody waited",
        notes,
        *_bars(by_stretch, duration),
    )


def _cost(day: Day, week: Sequence[Stretch], model: str) -> Figure:
    known, unknown = _dollars(day, model)
    tokens = (f"{short(day.answered.context)} tokens in", f"{short(day.answered.output)} out")
    by_stretch = [_dollars(stretch, model) for stretch in week]
    lacking = {name for _, names in by_stretch for name in names} | unknown
    if known == 0.0 and lacking:
        amounts = [float(stretch.answered.context) for stretch in week]
        unpriced = (tokens[1], f"no price is known of {_named(lacking)}")
        return Figure("Tokens read for answers", short(day.answered.context), unpriced, *_bars(amounts, short))
    amounts = [amount for amount, _ in by_stretch]
    notes = (*tokens, f"{dollars(sum(amounts))} in 7 days")
    without = (f"without {_named(lacking)}, whose price is not known",) if lacking else ()
    return Figure("Cost", dollars(known), (*notes, *without), *_bars(amounts, dollars))


def _dollars(of: Day | Stretch, model: str) -> tuple[float, set[str]]:
    """What is known, and the models whose prices are not."""
    answered = [(_name(name, model), usage) for name, usage in (of.answered_by or {"": of.answered}).items()]
    parts = [(name, usage) for name, usage in [*answered, *of.spent.items()] if usage != Usage()]
    priced = [(name, cost(name, usage)) for name, usage in parts]
    return sum(price or 0.0 for _, price in priced), {name for name, price in priced if price is None}


def _named(models: Iterable[str]) -> str:
    return " and ".join(sorted(name or "the local model" for name in models))


def _bars(amounts: Sequence[float], said: Callable[[float], str]) -> tuple[tuple[Bar, ...], str]:
    highest = max(amounts, default=0.0)
    if not highest:
        return (), ""
    first_late = len(amounts) - _LATELY
    bars = tuple(Bar(at, amount * 100 / highest, at >= first_late) for at, amount in enumerate(amounts) if amount)
    return bars, f"The last 7 days, 6 hours a bar: {said(highest)} at most, {said(amounts[-1])} in the last 6 hours."
