"""Somebody's words as a quotation that says whose they are. Pure."""

from __future__ import annotations

from bot.estimate.cuts import beginning
from bot.messages import as_quoted

LONGEST_QUOTE = 500
"""Characters of the words."""


def quotation(words: str, who: str = "") -> str:
    """A block of quoted lines, none of which can be taken for what is said below it; cut between words."""
    short = beginning(words.strip(), LONGEST_QUOTE)
    several = len(short.splitlines()) > 1
    return as_quoted(f"{who}:\n{short}" if who and several else f"{who}: {short}" if who else short)
