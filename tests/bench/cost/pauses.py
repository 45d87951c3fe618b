"""How long people wait between two messages, and the clock that this moves.

Nobody publishes such figures, so these are stated, not measured: somebody at a desk, somebody with a phone, and for
comparison somebody who never waits long. What decides the cost is the share of pauses that outlive the cache (five
minutes), and of those, the share that outlive an hour.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

SEED = 5
"""Of the pauses, unless another one is wanted."""
SECONDS_A_REQUEST = 2.0
SECONDS_A_TOKEN = 1 / 80
"""Of an answer: the model's own time, which passes for everybody."""
SECONDS_A_PERSON = 45.0
"""The median of what it takes to read an answer and to write the next message."""


@dataclass
class Clock:
    """Simulated seconds."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Habit:
    """Shares of pauses: ``breaks`` are from 5 minutes to an hour, ``nights`` from one hour to 16, each even on a
    logarithmic scale; all others are lognormal around :data:`SECONDS_A_PERSON`, and a few of them are long too."""

    name: str
    breaks: float
    nights: float
    spread: float = 0.9

    def pauses(self, count: int, seed: int = SEED) -> list[float]:
        """Seconds before each of ``count`` messages; of one seed the same ones each time."""
        rng = random.Random(f"{self.name} {seed}")
        return [self._pause(rng) for _ in range(count)]

    def _pause(self, rng: random.Random) -> float:
        chosen = rng.random()
        if chosen < self.nights:
            return _between(rng, 3600, 16 * 3600)
        if chosen < self.nights + self.breaks:
            return _between(rng, 300, 3600)
        return rng.lognormvariate(math.log(SECONDS_A_PERSON), self.spread)


def _between(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


DESK = Habit("desk", breaks=0.07, nights=0.02)
"""Somebody who works with it: about one pause in ten outlives five minutes."""
PHONE = Habit("phone", breaks=0.15, nights=0.06)
"""Somebody who answers when there is time: more than one pause in five does."""
STEADY = Habit("steady", breaks=0.0, nights=0.0, spread=0.3)
"""Nobody: no pause outlives five minutes, so what is not read from the cache is new."""
HABITS = (DESK, PHONE, STEADY)
A_NIGHT = 8 * 3600.0
"""What comes after the last message."""
