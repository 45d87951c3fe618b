"""Tables in letters of one width. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from wcwidth import wcswidth

from connectors.text.tree import Alignment

WIDEST = 40
"""Columns that a cell is filled up to. A longer one sticks out, rather than that all others are filled up to it."""

BAR, LINE, CROSS = "│", "─", "┼"


def drawn(rows: Sequence[Sequence[str]], alignments: Sequence[Alignment]) -> str:
    """A table with a line under its first row; rows have as many cells as there are alignments."""
    columns = [_narrow(column) for column in zip(*rows, strict=True)]
    widths = [[_width(cell) for cell in column] for column in columns]
    filled = [max((width for width in column if width <= WIDEST), default=0) for column in widths]
    lines = []
    for number in range(len(rows)):
        cells = [column[number] for column in columns]
        while len(cells) > 1 and not cells[-1]:
            cells.pop()
        padded = [
            _filled(cell, room - width[number], alignment)
            for cell, room, width, alignment in zip(cells, filled, widths, alignments, strict=False)
        ]
        lines.append(f" {BAR} ".join(padded).rstrip())
    lines.insert(1, f"{LINE}{CROSS}{LINE}".join(LINE * max(1, width) for width in filled))
    return "\n".join(lines)


def _narrow(column: Sequence[str]) -> list[str]:
    return [" ".join(cell.split()) for cell in column]


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    return max(0, wcswidth(cell))


def _filled(cell: str, missing: int, alignment: Alignment) -> str:
    if missing <= 0:
        return cell
    match alignment:
        case "right":
            return " " * missing + cell
        case "center":
            return " " * (missing // 2) + cell + " " * (missing - missing // 2)
        case _:
            return cell + " " * missing
