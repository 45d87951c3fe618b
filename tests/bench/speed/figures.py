"""Figures, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number. ``part`` is the measurement that it belongs to, ``case`` what it was measured on."""

    part: str
    case: str
    name: str
    value: float
    unit: str

    def __str__(self) -> str:
        shown = f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"
        return f"| {self.part} | {self.case} | {self.name} | {shown} {self.unit} |"


HEADER = "| part | case | figure | value |\n|---|---|---|---|"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(part: str, case: str, name: str, seconds: Sequence[float]) -> list[Figure]:
    """The median and the 99th percentile of durations, in milliseconds."""
    shares = (("p50", 0.50), ("p99", 0.99))
    return [Figure(part, case, f"{name} {word}", percentile(seconds, share) * 1e3, "ms") for word, share in shares]
