"""The course of a conversation as a picture: tokens over turns, with a mark for each compaction. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from tests.bench.sawtooth.running import Compaction, Course

WIDTH, HEIGHT = 860, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 96, 34, 62
"""Pixels around the plot."""
TRIGGERS = {
    "ahead": "after a reply",
    "auto": "before a reply",
    "recovery": "recovery",
    "manual": "by hand",
}
_STYLE = """
  svg { --page: #ffffff; --ink: #24292f; --faint: #d0d7de; --line: #57606a; --limit: #b42318;
        --ahead: #1a7f37; --auto: #0969da; --recovery: #b42318; --manual: #8250df; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --ink: #e6edf3; --faint: #30363d; --line: #9aa4af; --limit: #ff7b72;
          --ahead: #56d364; --auto: #79c0ff; --recovery: #ff7b72; --manual: #d2a8ff; } }
  text { font: 12px system-ui, sans-serif; fill: var(--ink); }
  .title { font-size: 14px; font-weight: 600; }
  .page { fill: var(--page); }
  .grid { stroke: var(--faint); }
  .level { stroke: var(--line); stroke-dasharray: 5 4; }
  .limit { stroke: var(--limit); stroke-width: 1.5; }
  .meter { fill: none; stroke: var(--line); stroke-width: 1.3; stroke-linejoin: round; }
  .ahead { fill: var(--ahead); } .auto { fill: var(--auto); }
  .recovery { fill: var(--recovery); } .manual { fill: var(--manual); }
"""


@dataclass(frozen=True)
class _Frame:
    """Where things are: turns and tokens as pixels."""

    turns: int
    most: int

    def x(self, turn: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * turn / self.turns

    def y(self, tokens: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * tokens / self.most


def picture(course: Course) -> str:
    """An SVG that is readable on light and on dark pages, with a description for those who do not see it."""
    frame = _Frame(len(course.turns), round(1.05 * max([course.limit, *_heights(course)])))
    namespace = "http://www.w3.org/2000/svg"
    parts = [
        f'<svg xmlns="{namespace}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(_title(course))}</title>',
        f'<desc id="description">{escape(description(course))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(_title(course))}</text>',
        *_axes(frame),
        *_levels(course, frame),
        f'<path class="meter" d="{_path(course, frame)}"/>',
        *(_mark(one.trigger, frame.x(one.turn), frame.y(one.before)) for one in course.done),
        *_legend(course),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def description(course: Course) -> str:
    """What the picture shows, in words."""
    done = course.done
    triggers = Counter(one.trigger for one in done)
    kinds = ", ".join(f"{triggers[name]} {words}" for name, words in TRIGGERS.items() if triggers[name])
    text = (
        f"The context of a conversation of {len(course.turns)} turns, in tokens. The limit is {course.limit:,}. "
        f"{len(done)} compactions" + (f" ({kinds}). " if kinds else ". ")
    )
    if not done:
        return text.strip()
    before, after = (
        sum(values) // len(done) for values in zip(*((one.before, one.after) for one in done), strict=True)
    )
    return f"{text}On average one brings it from {before:,} down to {after:,} tokens."


def _title(course: Course) -> str:
    return f"{course.strategy}: tokens of the context in {len(course.turns)} turns, {len(course.done)} compactions"


def _heights(course: Course) -> Iterator[int]:
    yield from (turn.total for turn in course.turns)
    yield from (one.before for one in course.done)


def _axes(frame: _Frame) -> Iterator[str]:
    left, right, floor = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
    for tokens in range(0, frame.most + 1, 1_000):
        y = frame.y(tokens)
        yield f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tokens:,}</text>'
    for turn in range(0, frame.turns + 1, 50):
        yield f'<text x="{frame.x(turn):.1f}" y="{floor + 16}" text-anchor="middle">{turn}</text>'
    yield f'<text x="{right + 18}" y="{floor + 16}">turns</text>'


def _levels(course: Course, frame: _Frame) -> Iterator[str]:
    lines = [("level", share, f"{share:.0%}") for share in course.levels] + [("limit", 1.0, "limit")]
    for name, share, words in lines:
        y = frame.y(share * course.limit)
        yield f'<line class="{name}" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4:.1f}">{words}</text>'


def _path(course: Course, frame: _Frame) -> str:
    points = [
        f"{frame.x(number):.1f} {frame.y(tokens):.1f}"
        for number, turn in enumerate(course.turns, 1)
        for tokens in _points(number, turn.total, course.done)
    ]
    return f"M{' L'.join(points)}"


def _points(number: int, total: int, done: list[Compaction]) -> list[int]:
    """The tokens through which a turn goes: each compaction of it, and what stood at its end."""
    return [tokens for one in done if one.turn == number for tokens in (one.before, one.after)] + [total]


def _mark(trigger: str, x: float, y: float) -> str:
    """A circle, a square, a triangle or a diamond: told apart without colours too."""
    if trigger == "ahead":
        return f'<circle class="ahead" cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
    shapes: dict[str, list[tuple[float, float]]] = {
        "auto": [(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)],
        "recovery": [(0, 5), (-4.8, -4), (4.8, -4)],
        "manual": [(0, -5), (5, 0), (0, 5), (-5, 0)],
    }
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[trigger])
    return f'<polygon class="{trigger}" points="{points}"/>'


def _legend(course: Course) -> Iterator[str]:
    triggers = Counter(one.trigger for one in course.done)
    x = float(LEFT)
    for name, words in TRIGGERS.items():
        if triggers[name]:
            yield _mark(name, x + 5, HEIGHT - 18)
            yield f'<text x="{x + 15}" y="{HEIGHT - 14}">{words} ({triggers[name]})</text>'
            x += 150
