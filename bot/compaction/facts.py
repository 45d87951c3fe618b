"""Facts: what a conversation established, found in it without a model. Pure and deterministic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FactKind(StrEnum):
    """What a fact is about (FEATURES A7)."""

    GOAL = "goal"
    """What the person wants."""
    CONSTRAINT = "constraint"
    """A rule, preference or decision of the person."""
    ACTION = "action"
    """An action that was carried out, and is known to have succeeded."""
    VALUE = "value"
    """A value that later steps may need, under its name."""
    PATH = "path"
    """A key path, URL or other place."""


@dataclass(frozen=True)
class Fact:
    """One line of memory. ``seqs``: the entries that it stands in, oldest first."""

    kind: FactKind
    text: str
    seqs: tuple[int, ...] = ()
    pinned: bool = False
