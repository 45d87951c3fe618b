"""The meter: how full a context is, and why. The gate, the notices, the trace and the page all show this one
number.

Pure: no I/O, no clock, no settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

Source = Literal["usage", "estimate"]
"""Whether the total rests on what the provider reported, or is guessed from characters alone."""


SYSTEM_PROMPT, TOOLS, PINNED_RULES = "system prompt", "tools", "pinned rules"
"""Parts that no compaction can make smaller."""


class Level(Enum):
    """What a strategy makes of a meter."""

    OK = "ok"
    """Go on."""
    WARNING = "warning"
    """Compact before the next request."""
    CRITICAL = "critical"
    """Compact before the next request, whatever else would have it wait."""


@dataclass(frozen=True)
class Part:
    """A share of a context: its name as people read it, and its size in tokens."""

    name: str
    tokens: int


@dataclass(frozen=True)
class Meter:
    """A context's size and limit in tokens. ``parts`` add up to ``total`` exactly; ``of`` and ``anchored``
    see to it.
    """

    total: int
    limit: int
    parts: tuple[Part, ...]
    source: Source = "estimate"

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for parts that do not add up."""
        if sum(part.tokens for part in self.parts) != self.total:
            raise ValueError(f"the parts of a meter add up to its total of {self.total}: {self.parts}")

    @classmethod
    def of(cls, parts: Iterable[Part], *, limit: int, source: Source = "estimate") -> Meter:
        """The meter of these parts: their sum is the total."""
        kept = tuple(parts)
        return cls(sum(part.tokens for part in kept), limit, kept, source)

    @classmethod
    def anchored(cls, total: int, parts: Iterable[Part], *, limit: int) -> Meter:
        """A meter whose total the provider reported: the guessed parts are scaled to it, in proportion.

        What rounding leaves goes to the largest remainders. Without any guessed tokens, all of it is one
        part.
        """
        guessed = tuple(parts)
        whole = sum(part.tokens for part in guessed)
        if whole <= 0:
            return cls(total, limit, (Part("context", total),), "usage")
        shares = [divmod(part.tokens * total, whole) for part in guessed]
        left = total - sum(tokens for tokens, _ in shares)
        upwards = set(sorted(range(len(shares)), key=lambda at: -shares[at][1])[:left])
        scaled = tuple(
            Part(part.name, tokens + (at in upwards))
            for at, (part, (tokens, _)) in enumerate(zip(guessed, shares, strict=True))
        )
        return cls(total, limit, scaled, "usage")

    @property
    def share(self) -> float:
        """Total over limit: 0 is empty, 1 is full, more is over. A limit of 0 is full as soon as anything is
        there.
        """
        if self.limit <= 0:
            return 0.0 if self.total <= 0 else float("inf")
        return self.total / self.limit

    @property
    def head(self) -> int:
        """What no compaction can make smaller: system prompt, tools, and the rules that people pinned."""
        return sum(part.tokens for part in self.parts if part.name in (SYSTEM_PROMPT, TOOLS, PINNED_RULES))

    @property
    def over(self) -> bool:
        """Whether the context does not fit."""
        return self.total > self.limit

    @property
    def largest(self) -> Part | None:
        """The part to blame when a context cannot be made to fit."""
        return max(self.parts, key=lambda part: part.tokens, default=None)

    def raised(self, share: float) -> Meter:
        """As if so much more of the limit were taken."""
        more = Part("more", math.ceil(share * self.limit))
        return Meter.of([*self.parts, more], limit=self.limit, source=self.source)

    def level(self, warning: float, critical: float) -> Level:
        """The level at these shares of the limit. A warning ≤ 0 or ≥ 1 turns automatic compaction off:
        always OK.
        """
        if not 0 < warning < 1 or self.share < warning:
            return Level.OK
        return Level.CRITICAL if self.share >= critical else Level.WARNING


def percent(share: float) -> str:
    """``74%``. Rounded down: what has not reached a level is not said to be there."""
    return f"{_steps(share, 100)}%" if math.isfinite(share) else "∞%"


def _steps(share: float, whole: int) -> int:
    """How many whole steps of so many; 0.29 * 100 is a little less than 29, and is 29."""
    return math.floor(round(share * whole, 9))


def share_kept(meter: Meter) -> float:
    """The share to a hundredth of a percent, rounded down like :func:`percent`."""
    return _steps(meter.share, 10_000) / 10_000 if math.isfinite(meter.share) else meter.share


@dataclass(frozen=True)
class MeterRecord:
    """A meter as the book keeps it and the trace shows it, with what the strategy of that time made of it. ``share``
    as :func:`share_kept` says it; ``messages`` of the request, None where nobody counted them: only the rows of
    compactions have their number."""

    total: int
    limit: int
    share: float
    source: str
    level: str
    parts: tuple[Part, ...]
    messages: int | None = None

    @classmethod
    def of(cls, meter: Meter, level: Level, messages: int | None = None) -> MeterRecord:
        """What is kept of this one."""
        return cls(meter.total, meter.limit, share_kept(meter), meter.source, level.value, meter.parts, messages)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> MeterRecord:
        """One that was kept. What an earlier version did not keep is empty."""
        return cls(
            total=found.get("total", 0),
            limit=found.get("limit", 0),
            share=found.get("share", 0.0),
            source=found.get("source", "estimate"),
            level=found.get("level", Level.OK.value),
            parts=tuple(Part(name, tokens) for name, tokens in found.get("parts", {}).items()),
            messages=found.get("messages"),
        )

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        kept: dict[str, Any] = {
            "total": self.total,
            "limit": self.limit,
            "share": self.share,
            "source": self.source,
            "level": self.level,
            "parts": {part.name: part.tokens for part in self.parts},
        }
        return kept if self.messages is None else {**kept, "messages": self.messages}
