"""Somebody's words as a quotation that says whose they are. Pure."""

from __future__ import annotations

from connectors.text.graphemes import is_boundary
from connectors.text.measure import ELLIPSIS

LONGEST_QUOTE = 500
"""Characters of the words."""
_LEAST = 2 / 3


def quotation(words: str, who: str = "") -> str:
    """A block of quoted lines, none of which can be taken for what is said below it; cut between words."""
    short = _cut(words.strip())
    named = f"{who}:\n{short}" if who and "\n" in short else f"{who}: {short}" if who else short
    return "\n".join(f"> {line}".rstrip() for line in named.split("\n"))


def _cut(words: str) -> str:
    if len(words) <= LONGEST_QUOTE:
        return words
    end = next(end for end in range(LONGEST_QUOTE, 0, -1) if is_boundary(words, end, 0) or end == 1)
    space = max(words.rfind(one, 0, end + 1) for one in " \n\t")
    if space > LONGEST_QUOTE * _LEAST:
        return f"{words[:space].rstrip()} {ELLIPSIS}"
    return f"{words[:end]}{ELLIPSIS}"
