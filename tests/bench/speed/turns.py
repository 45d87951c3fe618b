"""Turns at a steady rate: what the program adds to the model's time, and what a turn costs.

- **added**: from the moment when the platform hands out the update (the answer to getUpdates is written) to the
  moment when the request with the final text has arrived at the platform, less the model's own time (its request has
  arrived → its last byte is written). The model answers at once, in 20 deltas.
- **typing**: from the same moment until the platform is told that somebody writes, of turns where it was told so
  before the final text.
- **first words**: until a part of the answer, a draft say, has arrived there.
- **CPU**: of each process from the first message to the last answer, divided by the turns; `program` is all
  processes of the program together. `others on these cores` is what processes that are no part of this took meanwhile:
  latencies hold only where that is about nothing.

Messages come at random moments (Poisson) to `CHATS` chats in turn, each of which has had a turn before; the turns of
that first round are `cold`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.bench.speed.figures import Figure, spread
from tests.bench.speed.load import FIRST_CHAT, Outcome, once_each, outcomes, until_answered, write
from tests.bench.speed.profiling import profiled
from tests.bench.speed.rig import MACHINE, Rig

CHATS = 100
WARM_UP_RATE = 10.0
FLOOR = "floor"
_COMPARED = frozenset({"added p50", "added p99", "CPU a turn, program"})


@dataclass(frozen=True)
class Window:
    """What was measured at one rate: each message's fate, the CPU seconds that each process used, and the seconds."""

    outcomes: Sequence[Outcome]
    cpu: dict[str, float]
    seconds: float

    def figures(self, part: str, case: str, *, programs: Sequence[str]) -> list[Figure]:
        """Latencies, and CPU for each turn."""
        turns = len(self.outcomes)
        found = spread(part, case, "added", [one.added for one in self.outcomes])
        typed = [one.typing for one in self.outcomes if not math.isnan(one.typing)]
        found += spread(part, case, "typing", typed) if typed else []
        found += spread(part, case, "first words", [one.first_words for one in self.outcomes])
        own = sum(self.cpu[name] for name in programs)
        for name, used in {"program": own, **self.cpu}.items():
            if name not in {"all", "floor", MACHINE}:
                found.append(Figure(part, case, f"CPU a turn, {name}", used / turns * 1e3, "ms"))
        ours = sum(used for name, used in self.cpu.items() if name != MACHINE)
        found.append(Figure(part, case, "turns that showed typing", len(typed) / turns * 100, "%"))
        found.append(Figure(part, case, "others on these cores", (self.cpu[MACHINE] - ours) / self.seconds, "cores"))
        found.append(Figure(part, case, "turns", turns, ""))
        return found


async def window(
    rig: Rig, chats: Sequence[int], *, rate: float, seconds: float, even: bool = False, profile: str = ""
) -> Window:
    """Write at this rate for so long, and wait for all answers."""
    before, begin = rig.cpu(), time.monotonic()
    async with profiled(rig, profile):
        numbers = await write(rig, rate=rate, seconds=seconds, chats=chats, even=even)
        await until_answered(rig, numbers)
    used, took = spent(rig, before), time.monotonic() - begin
    return Window(await outcomes(rig, numbers), used, took)


def spent(rig: Rig, before: Mapping[str, float]) -> dict[str, float]:
    """CPU seconds of each process since then."""
    return {name: used - before.get(name, 0.0) for name, used in rig.cpu().items()}


def compared_with_floor(found: Sequence[Figure]) -> list[Figure]:
    """How many times the floor the program takes, at the same rate in the same run; nothing where no floor was run."""
    floor = {(one.case.removeprefix(f"{FLOOR}, "), one.name): one for one in found if one.case.startswith(FLOOR)}
    compared = []
    for one in found:
        store, _, rate = one.case.partition(", ")
        base = floor.get((rate, one.name))
        if one.part == "turns" and store != FLOOR and one.name in _COMPARED and base:
            compared.append(Figure("ratio", one.case, f"{one.name}, to the floor's", one.value / base.value, "times"))
    return compared


async def measure(
    rig: Rig, case: str, *, rates: Sequence[float], seconds: float, even: bool = False, profile: str = ""
) -> list[Figure]:
    """Warm up, then one window for each rate."""
    chats = range(FIRST_CHAT, FIRST_CHAT + CHATS)
    cold = await outcomes(rig, await once_each(rig, chats, rate=WARM_UP_RATE))
    found = spread("turns", f"{case}, cold, {WARM_UP_RATE:g}/s", "added", [one.added for one in cold])
    for rate in rates:
        seen = await window(rig, chats, rate=rate, seconds=seconds, even=even, profile=profile)
        found += seen.figures("turns", f"{case}, {rate:g}/s", programs=list(rig.programs))
    return found
