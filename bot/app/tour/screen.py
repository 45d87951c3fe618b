"""Shows the tour in a terminal, at a pace at which it can be read, or as plain text where there is none."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import TextIO

from bot.app.tour.play import (
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
)

WIDTH = 92
_TYPED_SECONDS = 0.012
"""A letter."""
_BOLD, _DIM, _RED, _GREEN, _CYAN, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
CLOSING = "That was the program as it is, with a scripted model. `palimpsest setup` chooses a real one."


def folded(text: str, width: int = WIDTH) -> list[str]:
    """The lines of a text, none longer than so many columns."""
    return [row for line in text.split("\n") for row in textwrap.wrap(line, width, break_on_hyphens=False) or [""]]


def meter(shown: Measured) -> str:
    """How full the context is, as the chat shows it."""
    full = round(20 * shown.total / shown.limit)
    percent = int(100 * shown.total / shown.limit)
    return f"{'▓' * full}{'░' * (20 - full)} {shown.total:,} / {shown.limit:,} tokens ({percent} %) · {shown.level}"


def in_the_place(file: str) -> str:
    """What stands above the summary."""
    return f"In the place of all that, the model now reads this (and so can you, in {file}; the tour keeps none):"


def summary(text: str, width: int = WIDTH) -> list[str]:
    """Its lines, set in a little, so that one sees where it ends."""
    return [f"  {row}" for row in folded(text, width - 2)]


def counted(shown: Counted) -> str:
    """What became of what was asked."""
    return f"{shown.asked} questions, {shown.replies} answers: none lost, none given twice."


class Screen:
    """``out``: a terminal gets colours, and an answer while it is written. ``typing``: whether what the person writes
    appears letter by letter."""

    def __init__(self, out: TextIO, *, typing: bool) -> None:
        self._out = out
        self._is_live = out.isatty()
        self._typing = typing and self._is_live
        self._acts = 0
        self._key = ""
        """Of the reply that is being written."""
        self._there = ""
        """What is there of it."""
        self._was_started = False
        self._ends_blank = True

    async def show(self, shown: Shown) -> None:
        """Show what the tour has told."""
        match shown:
            case Act():
                self._acts += 1
                self._put(f"\n{_BOLD}{_CYAN}", "\n".join(folded(f"{self._acts} · {shown.line}")))
            case Asked():
                await self._type(shown.text)
            case Written():
                self._write(shown)
            case Noticed() if shown.text.startswith("🗜") and "taken back" in shown.text:
                pass  # it changes a message that stands further up, where a terminal cannot go back
            case Noticed():
                self._put(f"\n{_DIM}", "\n".join(folded(shown.text)))
            case Measured():
                self._put(f"\n{_GREEN}", meter(shown))
            case Summarised():
                self._put(f"\n{_DIM}", "\n".join([*folded(in_the_place(shown.file)), "", *summary(shown.text)]))
            case Killed():
                self._end_of_reply()
                self._put(f"\n{_RED}", f"$ kill -9 {shown.pid}")
            case Started() if self._was_started:
                self._put(_DIM, f"(started again, as process {shown.pid})\n")
            case Started():
                self._was_started = True
                self._put(_DIM, f"(the program is started, as process {shown.pid}, in a folder of its own)")
            case Counted():
                self._put(f"\n{_BOLD}", f"{counted(shown)}\n{CLOSING}")

    async def _type(self, text: str) -> None:
        rows = folded(text, WIDTH - 2)
        self._raw("" if self._ends_blank else "\n")
        self._raw(f"{_BOLD}> " if self._is_live else "> ")
        for character in "\n  ".join(rows):
            self._raw(character)
            if self._typing:
                await asyncio.sleep(_TYPED_SECONDS)
        self._raw(f"{_RESET}\n\n" if self._is_live else "\n\n")

    def _write(self, shown: Written) -> None:
        if shown.partial and not self._is_live:
            self._key, self._there = shown.key, shown.text
            return
        rows = "\n".join(folded(shown.text))
        if not self._is_live:
            self._key = self._there = ""
            self._raw(f"{rows}\n")
            return
        if shown.key != self._key or not rows.startswith(self._there):
            self._end_of_reply()
            self._key = shown.key
        self._raw(rows[len(self._there) :])
        self._there = rows
        if not shown.partial:
            self._end_of_reply()

    def _end_of_reply(self) -> None:
        if self._key and not self._is_live:
            self._raw("\n".join(folded(f"{self._there} …")) + "\n")
        elif self._key:
            self._raw("\n")
        self._key = self._there = ""

    def _put(self, colour: str, text: str) -> None:
        before = "\n" if colour.startswith("\n") and not self._ends_blank else ""
        colour = colour.strip()
        self._raw(f"{before}{colour}{text}{_RESET}\n" if self._is_live else f"{before}{text}\n")

    def _raw(self, text: str) -> None:
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "replace").decode(encoding))
        self._out.flush()
        self._ends_blank = text.endswith("\n\n") or (self._ends_blank and not text)


async def tour(*, fast: bool) -> None:
    """Play it on standard output. Raises TourEnded."""
    import signal

    from bot.app.tour.play import play
    from bot.runtime.shutdown import until_signal

    screen = Screen(sys.stdout, typing=not fast)

    async def pause(seconds: float) -> None:
        await asyncio.sleep(0 if fast else seconds)

    async with until_signal(signal.SIGTERM, signal.SIGHUP):
        await play(screen.show, pause, 0.0 if fast else 0.015)
