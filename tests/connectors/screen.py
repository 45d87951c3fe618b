"""A terminal's screen without an end below: what prompt_toolkit writes, as the rows that a person sees."""

from __future__ import annotations

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import DummyOutput


class Screen(DummyOutput):
    """Cells by row; ``seen`` keeps each text that was ever shown after a flush."""

    def __init__(self, columns: int = 80, rows: int = 40) -> None:
        self.size = Size(rows=rows, columns=columns)
        self._cells: list[list[str]] = [[]]
        self._x = self._y = 0
        self.seen: list[str] = []
        self.asked: list[str] = []
        """What the terminal was asked for that shows nothing (OSC)."""

    @property
    def text(self) -> str:
        """All rows, without what is blank at their ends."""
        return "\n".join("".join(row).rstrip() for row in self._cells).rstrip()

    def get_size(self) -> Size:
        return self.size

    def write(self, data: str) -> None:
        assert "\x1b" not in data
        for character in data:
            if character == "\r":
                self._x = 0
            elif character == "\n":
                self.cursor_down(1)
                self._x = 0
            else:
                row = self._cells[self._y]
                row += " " * (self._x + 1 - len(row))
                row[self._x] = character
                self._x += 1

    def write_raw(self, data: str) -> None:
        if data.startswith("\x1b]"):
            self.asked.append(data)
        else:
            self.write(data)

    def flush(self) -> None:
        if not self.seen or self.seen[-1] != self.text:
            self.seen.append(self.text)

    def cursor_up(self, amount: int) -> None:
        self._y = max(0, self._y - amount)

    def cursor_down(self, amount: int) -> None:
        self._y += amount
        self._cells += [[] for _ in range(self._y + 1 - len(self._cells))]

    def cursor_forward(self, amount: int) -> None:
        self._x += amount

    def cursor_backward(self, amount: int) -> None:
        self._x = max(0, self._x - amount)

    def erase_end_of_line(self) -> None:
        del self._cells[self._y][self._x :]

    def erase_down(self) -> None:
        self.erase_end_of_line()
        del self._cells[self._y + 1 :]
