"""One run: a house, a plan, and what the checker finds when all has settled."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.blows import Blows
from tests.chaos.checker import Excuses, faults
from tests.chaos.harness import House, open_house
from tests.chaos.leftovers import processes
from tests.chaos.plan import CHATS, Act, Commands, Edits, Plan, Presses, Repeats, Says, Strike
from tests.chaos.processes import START_SECONDS, eventually

LONGEST_SECONDS = 300.0
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
    struck: Counter[str] = field(default_factory=Counter)
    """How often each blow was struck, and what stood around."""

    @property
    def line(self) -> str:
        """The run in one line."""
        strikes = [str(act.kind) for _, act in self.plan.acts if isinstance(act, Strike)]
        verdict = f"FAILED ({len(self.faults)} faults)" if self.faults else "ok"
        phases = " + ".join(f"{seconds:.0f}" for seconds in self.phases)
        return (
            f"{self.plan.seed:>6} {self.plan.surroundings:<8} {verdict:<6} {self.seconds:5.1f} s ({phases}); "
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
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(
            open_house(folder, plan.house, webhook=plan.webhook, discord=True, chance=chance, pooler=plan.pooler)
        )
        houses = {"": (house, plan.acts)}
        if plan.guest:
            guest = open_house(folder / "guest", "guest", chance=random.Random(f"guest {plan.seed}"), host=house)
            houses["the guest: "] = (await stack.enter_async_context(guest), plan.guest)
        await known_to_discord(house)
        result.tick(began)
        async with asyncio.TaskGroup() as tasks:
            played = [tasks.create_task(play(one, acts, chance)) for one, acts in houses.values()]
        result.struck.update(kind for task in played for kind in task.result())
        result.struck.update([plan.surroundings])
        result.tick(began)
        for one, _ in houses.values():
            await one.settled()
        result.tick(began)
        excuses = excuses_for([act for _, acts in houses.values() for _, act in acts])
        for name, (one, _) in houses.items():
            result.faults += [name + fault for fault in await faults(one, excuses)]
        result.figures = await figures(house)
        result.tick(began)
        for name, (one, _) in reversed(houses.items()):
            codes = await one.end()
            if any(code != 0 for code in codes.values()):
                result.faults.append(f"{name}the processes ended with {codes}")
            result.faults += await asyncio.to_thread(processes, one)
        result.tick(began)


async def known_to_discord(house: House) -> None:
    """A bot gets to know of a private channel at Discord by what is said there while it listens, and not otherwise."""
    assert house.discord
    await house.discord.wait_for(lambda discord: discord.connected, timeout=START_SECONDS)
    house.people.says(CHATS - 1)
    await eventually(house.is_settled, START_SECONDS, house.describe)


def how_often(struck: Mapping[str, int]) -> str:
    """What was struck, the most frequent first."""
    return ", ".join(f"{kind} {count}" for kind, count in sorted(struck.items(), key=lambda item: (-item[1], item[0])))


def told(error: Exception) -> str:
    """What came of it: sentences for what a test expects to happen, all there is for anything else."""
    causes = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    if all(isinstance(cause, OSError | AssertionError) for cause in causes):  # a time-out is an OSError
        return "; ".join(f"{type(cause).__name__}: {cause}" for cause in causes)
    return "".join(traceback.format_exception(error))


async def play(house: House, acts: Sequence[tuple[float, Act]], chance: random.Random) -> Sequence[str]:
    """Talk goes on while blows last; returns when all are over and mended, with what was struck."""
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
                case Presses(chat):
                    house.people.presses(chat)
                case Repeats(count):
                    house.people.repeats(count)
                case Strike():
                    tasks.create_task(blows.strike(act))
    await blows.mend()
    return [strike.kind for _, strike in blows.took]


def excuses_for(acts: Sequence[Act]) -> Excuses:
    """How turns and compactions may have ended otherwise than well."""
    return Excuses(
        model=any(isinstance(act, Strike) and (act.kind in _OF_THE_MODEL or act.target == "model") for act in acts),
        aborts=any(isinstance(act, Presses) or (isinstance(act, Commands) and act.text == "/abort") for act in acts),
    )


async def figures(house: House) -> str:
    """How much happened."""
    turns, runs, layers = [
        await house.ledger.count(f"SELECT count(*) FROM {table}") for table in ("turns", "compactions", "layers")
    ]
    return f"{len(house.people.said)} messages, {turns} turns, {runs} compactions, {layers} layers"
