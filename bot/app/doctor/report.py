"""Findings for people, and for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from bot.runtime.checks import Finding, State

MARKS: dict[State, str] = {"ok": "✓", "warning": "!", "problem": "✗"}
_WORST: tuple[State, ...] = ("problem", "warning", "ok")
_NARROWEST = 24
"""Columns; where there are fewer for a sentence, the terminal breaks it as it likes."""


def worst(findings: Sequence[Finding]) -> State:
    """Of all findings."""
    return next((state for state in _WORST if any(finding.state == state for finding in findings)), "ok")


def as_text(findings: Sequence[Finding], columns: int = 0) -> str:
    """A line each, and below it what to do; wrapped at words for a screen that is so wide, else not at all."""
    width = max((len(finding.part) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines += _wrapped(f"{MARKS[finding.state]} {finding.part:{width}}  ", plain(finding.sentence), columns)
        if finding.advice:
            lines += _wrapped(f"  {'':{width}}  → ", plain(finding.advice), columns)
    return "\n".join(lines)


def _wrapped(begins: str, text: str, columns: int) -> list[str]:
    """Further lines stand below the first one's text; what is longer than a line (an address, a path) stays whole."""
    room = columns - len(begins)
    if room < _NARROWEST:
        return [begins + text]
    found = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    return [begins + found[0], *(" " * len(begins) + line for line in found[1:])]


def as_json(findings: Sequence[Finding]) -> str:
    """One document."""
    document = {"state": worst(findings), "findings": [asdict(finding) for finding in findings]}
    return json.dumps(document, ensure_ascii=False, indent=2)


def plain(text: str) -> str:
    """What servers say may hold anything; a terminal obeys some of it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
