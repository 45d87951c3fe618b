"""What a check says of a part of the program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing about one part. ``advice`` says what to do, where something is to be done."""

    part: str
    state: State
    sentence: str
    advice: str = ""


def ok(part: str, sentence: str, advice: str = "") -> Finding:
    """As it should be."""
    return Finding(part, "ok", sentence, advice)


def warning(part: str, sentence: str, advice: str) -> Finding:
    """It works, but not as somebody may expect."""
    return Finding(part, "warning", sentence, advice)


def problem(part: str, sentence: str, advice: str) -> Finding:
    """It does not work."""
    return Finding(part, "problem", sentence, advice)


def as_line(finding: Finding) -> str:
    """What is wrong, and what to do."""
    return f"{finding.sentence} {finding.advice}".strip()


Check = Callable[[], Awaitable[str | None]]
"""Returns when a part works, or does what it should, with a note where there is something to say; raises a
PalimpsestError when it does not."""
