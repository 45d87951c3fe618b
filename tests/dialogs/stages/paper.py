"""A terminal's screen that knows what was printed for good, piece by piece, and what is only shown at its end."""

from __future__ import annotations

from dataclasses import dataclass

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Attrs

from tests.connectors.screen import Screen
from tests.servers.watched import Watched

NOTICE, HINT = "ansicyan", "ansiyellow"
"""Their colours, by which a person tells them from a reply."""


@dataclass(frozen=True)
class Row:
    """One row, and the colour that it begins with."""

    text: str
    color: str


class Paper(Screen, Watched):
    """The prompt is drawn anew from its first row after each print: what stands above that row is printed."""

    def __init__(self, columns: int = 1000) -> None:
        Screen.__init__(self, columns=columns)
        Watched.__init__(self)
        self.printed: list[str] = []
        self._bottom = 0
        self._color = ""
        self._colors: dict[int, str] = {}

    @property
    def live(self) -> list[Row]:
        """What is shown below: what changes still, the line to type in, the line of facts."""
        rows = ["".join(row).rstrip() for row in self._cells[self._bottom :]]
        return [Row(text, self._colors.get(self._bottom + number, "")) for number, text in enumerate(rows)]

    def set_attributes(self, attrs: Attrs, color_depth: ColorDepth) -> None:
        self._color = attrs.color or ""

    def reset_attributes(self) -> None:
        self._color = ""

    def write(self, data: str) -> None:
        if data.strip() and not "".join(self._cells[self._y][: self._x]).strip():
            self._colors[self._y] = self._color
        super().write(data)

    def erase_down(self) -> None:
        if self._x == 0 and self._y > self._bottom:
            self.printed.append("\n".join("".join(row).rstrip() for row in self._cells[self._bottom : self._y]))
            self._bottom = self._y
        super().erase_down()

    def flush(self) -> None:
        super().flush()
        self.changed()
