"""Writes `docs/pictures/tour.svg`, what the README shows: `make recording`.

It is what `palimpsest tour` has just done, as a picture that moves by itself: a page of text that is scrolled, each of
whose lines appears in its time (keyframes of CSS; no script, so that it moves in an <img> too). How long anything took
on this machine is not in it, nor the id of a process, nor what changed further up: the same tour makes the same file,
and a test compares them. Waits are as short as they can be read.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bot.app.tour.play import (
    SEEN_WORDS,
    Act,
    Asked,
    Counted,
    Killed,
    Measured,
    Noticed,
    Shown,
    Started,
    Summarised,
    Written,
    play,
)
from bot.app.tour.screen import counted, folded, in_the_place, meter, summary

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "tour.svg"

_COLUMNS, _ROWS = 84, 22
_LETTER, _LINE, _LEFT, _TOP = 8.43, 21, 20, 52
_WIDTH = round(_LEFT * 2 + _COLUMNS * _LETTER)
_HEIGHT = _TOP + _ROWS * _LINE + 92
_COLOURS = {
    "said": "#e6edf3", "asked": "#79c0ff", "notice": "#d2a8ff", "summary": "#ffa657", "killed": "#ff7b72",
    "started": "#8b949e", "end": "#7ee787",
}  # fmt: skip
_LAST_SECONDS = 6.0


@dataclass
class Row:
    """A line of the page, and when it appears (seconds)."""

    kind: str
    text: str
    at: float


class Recording:
    """What was shown, with the seconds at which a reader would want it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.rows: list[Row] = []
        self.acts: list[tuple[float, str]] = []
        self.meters: list[tuple[float, Measured]] = []
        self._seen: Written | None = None
        self._has_begun = False

    async def show(self, shown: Shown) -> None:
        """Take down what the tour has told."""
        match shown:
            case Act():
                self.now += 1.2 if self.acts else 0.0
                self.acts.append((self.now, f"{len(self.acts) + 1} · {shown.line}"))
                self.now += 1.6 if len(self.acts) > 1 else 0.0  # the first picture is not empty
            case Asked():
                self._put("asked", f"> {shown.text}", row=0.35 if self.rows else 0.0)
                self.now += 0.6
            case Written(partial=True):
                self._seen = shown
            case Written():
                self._put("said", shown.text, row=0.3)
                self._seen = None
                self.now += 0.5
            case Noticed() if not shown.text.endswith("…") and "taken back" not in shown.text:
                self._put("notice", shown.text)
                self.now += 2.0
            case Summarised():
                self._put("notice", in_the_place("compaction_DAY.md"))
                self._put("summary", "\n".join(summary(shown.text, _COLUMNS)), row=0.3)
                self.now += 2.0
            case Measured():
                self.meters.append((self.now, shown))
                self.now += 0.8
            case Killed():
                assert self._seen
                words = self._seen.text.split()[:SEEN_WORDS]
                self._put("said", f"{' '.join(words)}", row=0.5)
                self._put("killed", "$ kill -9 PROCESS")
                self.now += 1.2
            case Started() if self._has_begun:
                self._put("started", "(started again: the same message goes on)")
                self.now += 0.8
            case Started():
                self._has_begun = True
            case Counted():
                self._put("end", counted(shown))
            case _:
                pass

    def _put(self, kind: str, text: str, row: float = 0.0) -> None:
        if self.rows:
            self.rows.append(Row("", "", self.now))
        for line in folded(text, _COLUMNS):
            self.rows.append(Row(kind, line, self.now))
            self.now += row

    def svg(self) -> str:
        """The picture."""
        whole = self.now + _LAST_SECONDS
        moments = sorted({row.at for row in self.rows})
        styles = [f"@keyframes l{n}{{{_appears(at, whole)}}}" for n, at in enumerate(moments)]
        styles += [f".l{n}{{animation:l{n} {whole:.1f}s step-end infinite}}" for n in range(len(moments))]
        styles += [f".{kind}{{fill:{colour}}}" for kind, colour in _COLOURS.items()]
        styles.append(f"@keyframes scroll{{{''.join(self._scrolling(whole))}}}")
        styles.append(f".page{{animation:scroll {whole:.1f}s step-end infinite}}")
        lines = [
            f'<text class="{row.kind} l{moments.index(row.at)}" x="{_LEFT}" y="{_TOP + (n + 1) * _LINE}">'
            f"{escape(row.text)}</text>"
            for n, row in enumerate(self.rows)
            if row.text
        ]
        below = []
        for name, y, kind, told in (
            ("m", _HEIGHT - 56, "end", [(at, meter(one)) for at, one in self.meters]),
            ("a", _HEIGHT - 22, "act", self.acts),
        ):
            for n, (at, text) in enumerate(told):
                until = told[n + 1][0] if n + 1 < len(told) else whole
                gone = f"{_share(until, whole)}{{opacity:0}}" if until < whole else ""
                styles.append(f"@keyframes {name}{n}{{{_appears(at, whole)}{gone}}}")
                resting = "" if n + 1 == len(told) else "opacity:0;"
                styles.append(f".{name}{n}{{{resting}animation:{name}{n} {whole:.1f}s step-end infinite}}")
                below.append(f'<text class="{kind} {name}{n}" x="{_LEFT}" y="{y}">{escape(text)}</text>')
        page = "\n".join(lines)
        return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" \
width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-labelledby="title description">
<!-- made by `make recording` from what `palimpsest tour` did -->
<title id="title">palimpsest tour</title>
<desc id="description">A conversation grows, is compacted ahead of time, answers an old detail, is taken back by \
/undo, is killed in the middle of an answer, and goes on.</desc>
<style>
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}
.act{{fill:#0d1117;font-weight:600}}.title{{fill:#8b949e}}
{chr(10).join(styles)}
@media (prefers-reduced-motion:reduce){{*{{animation:none!important}}}}
</style>
<rect width="{_WIDTH}" height="{_HEIGHT}" rx="10" fill="#0d1117" stroke="#30363d"/>
<text class="title" x="{_LEFT}" y="27">$ palimpsest tour</text>
<line x1="0" x2="{_WIDTH}" y1="40" y2="40" stroke="#30363d"/>
<svg y="{_TOP + 6}" width="{_WIDTH}" height="{_ROWS * _LINE}"><g transform="translate(0,-{_TOP + 6})"><g class="page" \
style="transform:translateY({self._scrolled(len(self.rows))}px)">
{page}
</g></g></svg>
<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT - 78}" y2="{_HEIGHT - 78}" stroke="#30363d"/>
<path d="M0 {_HEIGHT - 44}h{_WIDTH}v34a10 10 0 0 1 -10 10h-{_WIDTH - 20}a10 10 0 0 1 -10 -10z" fill="#79c0ff"/>
{chr(10).join(below)}
</svg>
"""

    def _scrolling(self, whole: float) -> list[str]:
        frames = {0.0: 0}
        for n, row in enumerate(self.rows):
            frames[row.at] = self._scrolled(n + 1)
        return [f"{_share(at, whole)}{{transform:translateY({pixels}px)}}" for at, pixels in sorted(frames.items())]

    def _scrolled(self, rows: int) -> int:
        return -max(0, rows - _ROWS) * _LINE


def _appears(at: float, whole: float) -> str:
    return f"0%{{opacity:0}}{_share(at, whole)}{{opacity:1}}" if at else "0%{opacity:1}"


def _share(at: float, whole: float) -> str:
    return f"{100 * at / whole:.2f}%"


async def record() -> str:
    """Play the tour, and draw it."""
    recording = Recording()

    async def pause(seconds: float) -> None:  # noqa: ARG001 - nobody reads along
        return

    await play(recording.show, pause, 0.0)
    return recording.svg()


if __name__ == "__main__":
    PICTURE.write_text(asyncio.run(record()), encoding="utf-8")
