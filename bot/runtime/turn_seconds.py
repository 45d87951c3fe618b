"""Where the time of a turn went, as it is measured, counted, kept in the book and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class TurnSeconds:
    """Seconds, to the millisecond. What there was nothing of, or what an earlier version did not measure, is 0."""

    queued: float = 0.0
    """From the first message's arrival until the turn began."""
    compaction: float = 0.0
    """Waited for room."""
    model: float = 0.0
    """From asking to the end of the answer, the line before it included, all requests together."""
    tools: float = 0.0
    """While they ran."""
    first_token: float = 0.0
    """From asking to the first text of the first answer that had any."""
    total: float = 0.0
    """From the arrival to the committed reply."""

    @classmethod
    def from_json(cls, kept: Mapping[str, float]) -> TurnSeconds:
        """As it was kept: a number for each name here."""
        return cls(**{field.name: kept[field.name] for field in fields(cls) if field.name in kept})
