"""What a section is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Body:
    """Words that may be anything: they stand in a fence. ``language``: of the fence."""

    text: str
    language: str = ""


Section = tuple[str | Body, ...]
"""Its parts in their order: lines of the program, without their ends, and bodies."""


def lines_of(text: str) -> list[str]:
    """As a file has them: nothing but a line feed ends one."""
    return text.split("\n")
