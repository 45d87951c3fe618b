"""How often somebody may do something: a bucket each, which fills again with time. Pure; the clock is passed in."""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW_SECONDS = 600.0
_MOST_BUCKETS = 10_000


@dataclass
class Rate:
    """``limit`` events in ten minutes for each key, all at once or spread; 0: no limit."""

    limit: int
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    """What is left of a key's bucket, and when that was so."""

    def allows(self, key: str, now: float) -> bool:
        """Count one event; False when there have been too many."""
        if self.limit <= 0:
            return True
        left, then = self._buckets.pop(key, (float(self.limit), now))
        passed = max(0.0, now - then)  # a clock that is set back takes nothing away
        left = min(float(self.limit), left + passed * self.limit / WINDOW_SECONDS)
        allowed = left >= 1
        self._buckets[key] = (left - 1 if allowed else left, now)
        while len(self._buckets) > _MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return allowed

    def give_back(self, key: str) -> None:
        """One event that was counted did not happen."""
        if key in self._buckets:
            left, then = self._buckets[key]
            self._buckets[key] = min(float(self.limit), left + 1), then
