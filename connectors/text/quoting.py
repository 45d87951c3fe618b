"""Somebody's words as a quotation that says whose they are. Pure."""

from __future__ import annotations

from bot.estimate.cuts import beginning

LONGEST_QUOTE = 500
"""Characters of the words."""


def quotation(words: str, who: str = "") -> str:
    """A block of quoted lines, none of which can be taken for what is said below it; cut between words."""
    short = beginning(words.strip(), LONGEST_QUOTE)
    named = f"{who}:\n{short}" if who and "\n" in short else f"{who}: {short}" if who else short
    return "\n".join(f"> {line}".rstrip() for line in named.split("\n"))
