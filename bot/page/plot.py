"""The saw-tooth: a context over time, as an SVG picture that the server makes. Pure.

A line through what each turn left, a ring for each compaction where it fell from what it was to what it became, and
lines for the limit and the levels. The same is in a table beside it, for whoever does not see the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from bot.page.levels import Levels
from bot.page.words import count, short
from bot.store.pages import Drop, Fill

WIDTH, HEIGHT = 960, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 26
MOST_POINTS = 600
"""Of more, those of each stretch of time are shown by the lowest and the highest."""
_MOST_RINGS = 200
_STEPS = (1, 2, 2.5, 5, 10)
_LINES = 4
_DAY = 86_400.0
_TIMES = (60, 300, 900, 3_600, 10_800, 21_600, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY)
_MARKS_OF_TIME = 7


@dataclass(frozen=True)
class Point:
    """``tokens`` at a moment. ``before``: what they fell from there, by the compaction ``drop``."""

    at: float
    tokens: int
    before: int | None = None
    drop: Drop | None = None


@dataclass(frozen=True)
class _Scale:
    since: float
    until: float
    top: float

    def x(self, at: float) -> str:
        share = (at - self.since) / max(1e-9, self.until - self.since)
        return f"{_LEFT + share * (WIDTH - _LEFT - _RIGHT):.1f}"

    def y(self, tokens: float) -> str:
        return f"{HEIGHT - _BOTTOM - tokens / self.top * (HEIGHT - _TOP - _BOTTOM):.1f}"


def points_of(fills: Sequence[Fill], drops: Sequence[Drop]) -> list[Point]:
    """Both in one line, in their order of time. A turn after a compaction is later than it, also in the same moment."""
    fallen = [Point(drop.at, drop.after, drop.before, drop) for drop in drops if drop.after is not None]
    stayed = [Point(drop.at, drop.before, None, drop) for drop in drops if drop.after is None]
    filled = [Point(fill.at, fill.tokens) for fill in fills]
    return sorted([*fallen, *stayed, *filled], key=lambda point: (point.at, point.drop is None))


def sawtooth(points: Sequence[Point], *, limit: int, levels: Levels, since: float, until: float, name: str) -> Markup:
    """The picture. ``limit`` in tokens, times in seconds since 1970."""
    highest = max([limit, *(max(point.tokens, point.before or 0) for point in points)], default=limit) or 1
    scale = _Scale(since, max(until, since + 1), highest * 1.04)
    shown = _thinned(points)
    pieces: list[str | Markup] = [
        *_amounts(scale),
        *_times(scale),
        *_line(scale, shown),
        *_thresholds(scale, limit, levels),
        *_rings(scale, shown),
    ]
    drops = [point for point in points if point.drop]
    desc = (
        f"{count(len(points) - len(drops))} turns and {count(len(drops))} compactions. "
        f"The limit is {count(limit)} tokens. The table below has the same."
    )
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" role="group" aria-labelledby="plot-title plot-desc">'
        '<title id="plot-title">{}</title><desc id="plot-desc">{}</desc>{}</svg>'
    ).format(WIDTH, HEIGHT, f"The context of {name} over time", desc, Markup("").join(pieces))


def _thinned(points: Sequence[Point]) -> list[Point]:
    """All compactions, as far as they can be told apart, and so many turns that a line looks the same."""
    drops = [point for point in points if point.drop]
    plain = [point for point in points if not point.drop]
    if len(drops) > _MOST_RINGS:
        step = len(drops) / _MOST_RINGS
        drops = [drops[int(at * step)] for at in range(_MOST_RINGS)]
    if len(plain) > MOST_POINTS:
        size = math.ceil(len(plain) * 2 / MOST_POINTS)
        plain = [kept for at in range(0, len(plain), size) for kept in _extremes(plain[at : at + size])]
    return sorted([*drops, *plain], key=lambda point: (point.at, point.drop is None))


def _extremes(points: Sequence[Point]) -> Iterable[Point]:
    low = min(points, key=lambda point: point.tokens)
    high = max(points, key=lambda point: point.tokens)
    return {low, high}


def _amounts(scale: _Scale) -> Iterator[Markup]:
    for tokens in _round_steps(scale.top):
        y = scale.y(tokens)
        yield Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_LEFT, WIDTH - _RIGHT, y, y)
        yield Markup('<text x="{}" y="{}" dy="4" text-anchor="end">{}</text>').format(_LEFT - 8, y, short(tokens))


def _round_steps(top: float) -> list[float]:
    rough = top / _LINES
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _STEPS if factor * power >= rough)
    return [step * at for at in range(int(top / step) + 1)]


def _times(scale: _Scale) -> Iterator[Markup]:
    span = scale.until - scale.since
    step = next((step for step in _TIMES if span / step <= _MARKS_OF_TIME), span / _MARKS_OF_TIME)
    at = math.ceil(scale.since / step) * step
    while at <= scale.until:
        moment = datetime.fromtimestamp(at, UTC)
        label = moment.strftime("%H:%M") if step < _DAY else moment.strftime("%d %b")
        yield Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(scale.x(at), HEIGHT - 8, label)
        at += step
    bottom = scale.y(0)
    yield Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_LEFT, WIDTH - _RIGHT, bottom, bottom)


def _thresholds(scale: _Scale, limit: int, levels: Levels) -> Iterator[Markup]:
    for share, kind, word in (
        (1.0, "limit", "limit"),
        (levels.critical, "at-critical", "critical"),
        (levels.warning, "at-warning", "warning"),
    ):
        if share is None:
            continue
        y = scale.y(share * limit)
        yield Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(kind, _LEFT, WIDTH - _RIGHT, y, y)
        yield Markup('<text class="word" x="{}" y="{}" dy="-4">{}</text>').format(_LEFT + 6, y, word)


def _line(scale: _Scale, points: Sequence[Point]) -> Iterator[Markup]:
    if not points:
        return
    path = " ".join(
        f"L{scale.x(point.at)} {scale.y(tokens)}"
        for point in points
        for tokens in ((point.before, point.tokens) if point.before is not None else (point.tokens,))
    )
    bottom = scale.y(0)
    first, last = scale.x(points[0].at), scale.x(points[-1].at)
    yield Markup('<path class="area" d="M{} {} {} L{} {} Z"/>').format(first, bottom, path, last, bottom)
    yield Markup('<path class="line" d="M{}"/>').format(path[1:])


def _rings(scale: _Scale, points: Sequence[Point]) -> Iterator[Markup]:
    for point in points:
        drop = point.drop
        if drop is None:
            continue
        told = (
            f"{datetime.fromtimestamp(drop.at, UTC):%Y-%m-%d %H:%M} {drop.trigger} {drop.state}: {count(drop.before)}"
        )
        told += f" → {count(drop.after)} tokens" if drop.after is not None else " tokens, unchanged"
        kind = "cut" if drop.after is not None else "cut-failed"
        yield Markup(
            '<a href="/compactions/{}" aria-label="{}"><title>{}</title><circle class="{}" cx="{}" cy="{}" r="5"/></a>'
        ).format(drop.run, told, told, kind, scale.x(point.at), scale.y(point.tokens))
