"""The saw-tooth: a context over time, as an SVG picture that the server makes. Pure.

A line through what each turn left, a ring for each compaction where it fell from what it was to what it became, and
lines for the limit and the levels as they were at each time. The same is in a table beside it, for whoever does not
see the picture, and `plot.js` tells the values at the place that one points at.

Nothing in it is scaled but the lines: words and rings stand at shares of the width and keep their size, so that they
are read on a phone as on a wide screen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from bot.page.format import count, percent, short, trigger
from bot.page.levels import Levels
from bot.store.operators.pages import Drop, Fill

WIDTH, HEIGHT = 1_000, 300
"""Of the width the lines are stretched to what there is; the height is in pixels."""
_TOP, _BOTTOM = 18, 26
MOST_POINTS = 600
"""Of more, those of each stretch of time are shown by the lowest and the highest."""
_MOST_RINGS = 200
_STEPS = (1, 2, 2.5, 5, 10)
_LINES = 4
_DAY = 86_400.0
_TIMES = (60, 300, 900, 3_600, 10_800, 21_600, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY)
_MARKS_OF_TIME = 7
_EDGE = 4.0
"""Percent of the width: a word so near to an edge begins or ends there."""


@dataclass(frozen=True)
class Point:
    """``tokens`` at a moment, and the ``limit`` of then. ``before``: what they fell from there, by the compaction
    ``drop``."""

    at: float
    tokens: int
    limit: int
    before: int | None = None
    drop: Drop | None = None


@dataclass(frozen=True)
class _Scale:
    since: float
    until: float
    top: float

    def share(self, at: float) -> float:
        """Percent of the width; what was before the picture begins stands at its edge."""
        return min(100.0, max(0.0, (at - self.since) * 100 / max(1e-9, self.until - self.since)))

    def x(self, at: float) -> str:
        """For lines."""
        return f"{self.share(at) * WIDTH / 100:.1f}"

    def place(self, at: float) -> str:
        """For words and rings."""
        return f"{self.share(at):.2f}%"

    def y(self, tokens: float) -> str:
        return f"{HEIGHT - _BOTTOM - tokens / self.top * (HEIGHT - _TOP - _BOTTOM):.1f}"


def points_of(fills: Sequence[Fill], drops: Sequence[Drop]) -> list[Point]:
    """Both in one line, in their order of time. A turn after a compaction is later than it, also in the same moment."""
    fallen = [Point(drop.at, drop.after, drop.limit, drop.before, drop) for drop in drops if drop.after is not None]
    stayed = [Point(drop.at, drop.before, drop.limit, None, drop) for drop in drops if drop.after is None]
    filled = [Point(fill.at, fill.tokens, fill.limit) for fill in fills]
    return sorted([*fallen, *stayed, *filled], key=lambda point: (point.at, point.drop is None))


def sawtooth(points: Sequence[Point], *, limit: int, levels: Levels, since: float, until: float, name: str) -> Markup:
    """The picture. ``limit``: that of now, in tokens; times in seconds since 1970."""
    highest = max([limit, *(max(point.tokens, point.before or 0, point.limit) for point in points)]) or 1
    scale = _Scale(since, max(until, since + 1), highest * 1.04)
    shown = _thinned(points)
    lines = Markup("").join([*_grid(scale), *_line(scale, shown), *_thresholds(scale, shown, limit, levels)])
    words = [*_amounts(scale), *_names(scale, limit, levels), *_times(scale), *_rings(scale, shown)]
    drops = [point for point in points if point.drop]
    desc = (
        f"{count(len(points) - len(drops))} turns and {count(len(drops))} compactions. "
        f"The limit is {count(limit)} tokens now. The table below has the same."
    )
    return Markup(
        '<svg class="plot picture" id="plot" width="100%" height="{}" role="group" '
        'aria-labelledby="plot-title plot-desc" data-since="{}" data-until="{}" data-top="{}" data-points="{}">'
        '<title id="plot-title">{}</title><desc id="plot-desc">{}</desc>'
        '<svg width="100%" height="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
        '{}<g class="pointed" aria-hidden="true" visibility="hidden">'
        '<line y1="{}" y2="{}"/><circle class="at" r="4"/></g></svg>'
    ).format(
        HEIGHT,
        scale.since,
        scale.until,
        scale.top,
        json.dumps([_told(point) for point in shown], separators=(",", ":")),
        f"The context of {name} over time",
        desc,
        HEIGHT,
        WIDTH,
        HEIGHT,
        lines,
        Markup("").join(words),
        _TOP,
        HEIGHT - _BOTTOM,
    )


def told(point: Point) -> str:
    """A moment of it in words, as `plot.js` says it too."""
    share = f" ({percent(point.tokens / point.limit)})" if point.limit else ""
    text = f"{datetime.fromtimestamp(point.at, UTC):%Y-%m-%d %H:%M} UTC: {count(point.tokens)} of "
    text += f"{count(point.limit)} tokens{share}"
    if point.drop is None:
        return text
    how = f"from {count(point.before)}" if point.before is not None else "unchanged"
    return f"{text}, {how} by a compaction ({trigger(point.drop.trigger)}, {point.drop.state})"


def _told(point: Point) -> list[object]:
    """What the script needs of a point: its place and its words."""
    return [round(point.at, 1), point.tokens, told(point)]


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


def _grid(scale: _Scale) -> Iterator[Markup]:
    for tokens in _round_steps(scale.top):
        y, kind = scale.y(tokens), "grid" if tokens else "axis"
        yield Markup('<line class="{}" x1="0" x2="{}" y1="{}" y2="{}"/>').format(kind, WIDTH, y, y)


def _amounts(scale: _Scale) -> Iterator[Markup]:
    steps = _round_steps(scale.top)
    for tokens in steps[1:]:
        text = f"{short(tokens)} tokens" if tokens == steps[-1] else short(tokens)
        yield Markup('<text class="word" x="0" y="{}" dy="-4">{}</text>').format(scale.y(tokens), text)


def _round_steps(top: float) -> list[float]:
    rough = top / _LINES
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _STEPS if factor * power >= rough)
    return [step * at for at in range(int(top / step) + 1)]


def _times(scale: _Scale) -> Iterator[Markup]:
    span = scale.until - scale.since
    step = next((step for step in _TIMES if span / step <= _MARKS_OF_TIME), span / _MARKS_OF_TIME)
    at, number = math.ceil(scale.since / step) * step, 0
    while at <= scale.until:
        moment = datetime.fromtimestamp(at, UTC)
        label = moment.strftime("%H:%M") if step < _DAY else moment.strftime("%d %b")
        place = scale.share(at)
        anchor = "start" if place < _EDGE else "end" if place > 100 - _EDGE else "middle"
        kind = "other" if number % 2 else ""
        yield Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
            kind, scale.place(at), HEIGHT - 8, anchor, label
        )
        at, number = at + step, number + 1


def _shares(levels: Levels) -> list[tuple[float, str, str]]:
    known = (
        (1.0, "limit", "limit"),
        (levels.critical, "at-critical", "critical"),
        (levels.warning, "at-warning", "warning"),
    )
    return [(share, kind, word) for share, kind, word in known if share is not None]


def _thresholds(scale: _Scale, points: Sequence[Point], limit: int, levels: Levels) -> Iterator[Markup]:
    """The limit as it was from each moment on, and the levels as shares of it."""
    steps = [(scale.since, points[0].limit if points else limit)]
    steps += [(point.at, point.limit) for at, point in enumerate(points) if at and point.limit != points[at - 1].limit]
    if steps[-1][1] != limit:
        steps.append((points[-1].at, limit))  # it is another one since then, and nobody has talked
    for share, kind, _ in _shares(levels):
        path = "".join(
            f"{'H' + scale.x(at) if number else 'M0 '}{'V' if number else ''}{scale.y(share * value)}"
            for number, (at, value) in enumerate(steps)
        )
        yield Markup('<path class="{}" d="{}H{}"/>').format(kind, path, WIDTH)


def _names(scale: _Scale, limit: int, levels: Levels) -> Iterator[Markup]:
    for share, _, word in _shares(levels):
        yield Markup('<text class="word" x="100%" y="{}" dy="-4" text-anchor="end">{}</text>').format(
            scale.y(share * limit), word
        )


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
        if point.drop is None:
            continue
        kind = "cut" if point.before is not None else "cut-failed"
        yield Markup(
            '<a href="/compactions/{}" aria-label="{}"><title>{}</title><circle class="{}" cx="{}" cy="{}" r="5"/></a>'
        ).format(point.drop.run, told(point), told(point), kind, scale.place(point.at), scale.y(point.tokens))
