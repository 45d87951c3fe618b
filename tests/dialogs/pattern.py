"""What a line of a table looks like: `*` stands for anything, `{name}` for a word that is remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PIECE = re.compile(r"\*|\{\w+\}")


def squeezed(text: str) -> str:
    """White space is laid out by each platform in its own way, and is one blank here."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Exactly:
    """A text in which nothing stands for anything else."""

    text: str


def reads(text: str, pattern: str | Exactly) -> dict[str, str] | None:
    """What the pattern remembers of the text; None where the text is another."""
    if isinstance(pattern, Exactly):
        return {} if squeezed(text) == squeezed(pattern.text) else None
    found = re.fullmatch(_regex(squeezed(pattern)), squeezed(text), re.DOTALL)
    return found.groupdict() if found else None


def _regex(pattern: str) -> str:
    regex, place = "", 0
    for piece in _PIECE.finditer(pattern):
        regex += re.escape(pattern[place : piece.start()])
        regex += ".*" if piece[0] == "*" else rf"(?P<{piece[0].strip('{}')}>[\w-]+)"
        place = piece.end()
    return regex + re.escape(pattern[place:])
