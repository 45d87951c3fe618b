"""One run: a house, a plan, and what the checker finds when all has settled."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.blows import Blows
from tests.chaos.checker import Excuses, faults
from tests.chaos.harness import House, open_house
from tests.chaos.leftovers import processes
from tests.chaos.plan import Act, Commands, Edits, Plan, Repeats, Says, Strike

LONGEST_SECONDS = 240.0
_OF_THE_MODEL = frozenset(
    {
        "rate limit", "overloaded", "broken model", "silent model", "cut stream", "error in stream", "garbage",
        "empty answer",
    }
)  # fmt: skip
"""Strikes that may end a turn or a compaction with a sentence that says why."""


@dataclass
class Result:
    """What became of a run. ``phases``: the seconds for which it started, was struck, settled, was looked at, ended."""

    plan: Plan
    seconds: float = 0.0
    phases: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    figures: str = ""
    folder: Path | None = None

    @property
    def line(self) -> str:
        """The run in one line."""
        strikes = [act.kind for _, act in self.plan.acts if isinstance(act, Strike)]
        verdict = f"FAILED ({len(self.faults)} faults)" if self.faults else "ok"
        phases = " + ".join(f"{seconds:.0f}" for seconds in self.phases)
        return (
            f"{self.plan.seed:>6} {self.plan.house:<8} {verdict:<6} {self.seconds:5.1f} s ({phases}); "
            f"{self.figures}; {', '.join(strikes)}"
        )

    def tick(self, began: float) -> None:
        """A phase is over; ``began``: when the run did, in seconds of the monotonic clock."""
        self.phases.append(time.monotonic() - began - sum(self.phases))


async def run(plan: Plan) -> Result:
    """Carry out a plan in a house of its own. The folder of a run with faults stays."""
    folder = Path(tempfile.mkdtemp(prefix=f"palimpsest-chaos-{plan.seed}-"))
    result = Result(plan, folder=folder)
    began = time.monotonic()
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            await _run(plan, folder, result)
    except Exception as error:  # noqa: BLE001  # whatever it is, this run failed and the next one begins
        result.faults.append(told(error))
    result.seconds = time.monotonic() - began
    if not result.faults:
        await asyncio.to_thread(shutil.rmtree, folder)
        result.folder = None
    return result


async def _run(plan: Plan, folder: Path, result: Result) -> None:
    chance = random.Random(f"run {plan.seed}")
    began = time.monotonic()
    async with open_house(folder, plan.house, webhook=plan.webhook, chance=chance) as house:
        result.tick(began)
        await play(house, plan.acts, chance)
        result.tick(began)
        await house.settled()
        result.tick(began)
        result.faults += await faults(house, excuses_for([act for _, act in plan.acts]))
        result.figures = await figures(house)
        result.tick(began)
        codes = await house.end()
        if any(code != 0 for code in codes.values()):
            result.faults.append(f"the processes ended with {codes}")
        result.faults += await asyncio.to_thread(processes, house)
        result.tick(began)


def told(error: Exception) -> str:
    """What came of it: sentences for what a test expects to happen, all there is for anything else."""
    causes = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    if all(isinstance(cause, OSError | AssertionError) for cause in causes):  # a time-out is an OSError
        return "; ".join(f"{type(cause).__name__}: {cause}" for cause in causes)
    return "".join(traceback.format_exception(error))


async def play(house: House, acts: Sequence[tuple[float, Act]], chance: random.Random) -> None:
    """Talk goes on while blows last; returns when all are over and mended."""
    blows = Blows(house, chance)
    async with asyncio.TaskGroup() as tasks:
        for wait, act in acts:
            await asyncio.sleep(wait)
            match act:
                case Says(chat, wish):
                    house.people.says(chat, wish)
                case Commands(chat, text):
                    house.people.commands(chat, text)
                case Edits(chat, swapped):
                    house.people.edits(chat, swapped=swapped)
                case Repeats(count):
                    house.people.repeats(count)
                case Strike():
                    tasks.create_task(blows.strike(act))
    await blows.mend()


def excuses_for(acts: Sequence[Act]) -> Excuses:
    """How turns and compactions may have ended otherwise than well."""
    return Excuses(
        model=any(isinstance(act, Strike) and (act.kind in _OF_THE_MODEL or act.target == "model") for act in acts),
        aborts=any(isinstance(act, Commands) and act.text == "/abort" for act in acts),
    )


async def figures(house: House) -> str:
    """How much happened."""
    turns, runs, layers = [
        await house.ledger.count(f"SELECT count(*) FROM {table}") for table in ("turns", "compactions", "layers")
    ]
    return f"{len(house.people.said)} messages, {turns} turns, {runs} compactions, {layers} layers"
