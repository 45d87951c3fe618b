"""Findings for people, and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from bot.runtime.checks import Finding, State

MARKS: dict[State, str] = {"ok": "✓", "warning": "!", "problem": "✗"}
_WORST: tuple[State, ...] = ("problem", "warning", "ok")


def worst(findings: Sequence[Finding]) -> State:
    """Of all findings."""
    return next((state for state in _WORST if any(finding.state == state for finding in findings)), "ok")


def as_text(findings: Sequence[Finding]) -> str:
    """A line each, and below it what to do."""
    width = max((len(finding.part) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{MARKS[finding.state]} {finding.part:{width}}  {plain(finding.sentence)}")
        if finding.advice:
            lines.append(f"  {'':{width}}  → {plain(finding.advice)}")
    return "\n".join(lines)


def as_json(findings: Sequence[Finding]) -> str:
    """One document."""
    document = {"state": worst(findings), "findings": [asdict(finding) for finding in findings]}
    return json.dumps(document, ensure_ascii=False, indent=2)


def plain(text: str) -> str:
    """What servers say may hold anything; a terminal obeys some of it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
