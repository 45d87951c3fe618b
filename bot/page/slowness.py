"""Where the time of turns goes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bot.store.operators.pages import Turn

_NAMES = {
    "queued": "waiting to begin",
    "compaction": "compaction",
    "model": "the model",
    "tools": "tools",
    "rest": "everything else",
}
"""The parts that were measured, as people read them."""


@dataclass(frozen=True)
class Spent:
    """Seconds of one part of a turn, and its share of the whole, from 0 to 100, with where that begins."""

    name: str
    seconds: float
    begin: float
    width: float
    colour: int


@dataclass(frozen=True)
class Slowness:
    """Over some turns: the median of their seconds, and what took most of it, with its share."""

    turns: int
    median: float
    most: str
    share: float


def spent(turn: Turn) -> list[Spent]:
    """The parts of one turn; none where nothing was measured."""
    timing = turn.timing
    if not timing or not timing.total:
        return []
    total = timing.total
    seconds = {
        "queued": timing.queued,
        "compaction": timing.compaction,
        "model": timing.model,
        "tools": timing.tools,
    }
    seconds["rest"] = max(0.0, total - sum(seconds.values()))
    found, begin = list[Spent](), 0.0
    for colour, (name, own) in enumerate(seconds.items(), 1):
        width = min(100.0 - begin, own * 100 / total)
        found.append(Spent(_NAMES[name], own, begin, width, colour))
        begin += width
    return found


def lasted(turn: Turn) -> float | None:
    """Seconds from the message to the answer, as far as they were measured; None while it runs."""
    if turn.timing and turn.timing.total:
        return turn.timing.total
    return None if turn.ended_at is None else turn.ended_at - turn.started_at


def slowness(turns: Sequence[Turn]) -> Slowness | None:
    """Why answers take as long as they do; None where nothing was measured."""
    measured = [parts for turn in turns if (parts := spent(turn))]
    if not measured:
        return None
    by_name: dict[str, float] = {}
    for part in (part for parts in measured for part in parts):
        by_name[part.name] = by_name.get(part.name, 0.0) + part.seconds
    most = max(by_name, key=lambda name: by_name[name])
    totals = [sum(part.seconds for part in parts) for parts in measured]
    return Slowness(len(measured), median(totals), most, by_name[most] / max(1e-9, sum(by_name.values())))
