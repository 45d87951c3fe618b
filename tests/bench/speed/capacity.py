"""How many turns a second it sustains: the highest rate at which the backlog does not grow.

First `AT_ONCE` messages are kept unanswered all the time, in chats that take turns, which shows the most that goes
through. Then messages are written evenly at shares of that rate, the highest first; a share is sustained when the
backlog at the end is no larger than it was after a third of the time, but for one message in twenty. Everything runs
on the same cores: the program, its stores, both servers and whoever writes.
"""

from __future__ import annotations

import asyncio
import itertools
import time

from tests.bench.speed.figures import Figure
from tests.bench.speed.load import FIRST_CHAT, once_each, outcomes, say, until_answered
from tests.bench.speed.rig import Rig
from tests.bench.speed.turns import WARM_UP_RATE, Window, spent

CHATS = 200
AT_ONCE = 40
SHARES = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
_GROWTH = 0.05
"""Of the messages written meanwhile: so much more backlog is chance."""
_LOOK_SECONDS = 0.01


async def measure(rig: Rig, case: str, *, seconds: float) -> list[Figure]:
    """The most that goes through, the highest rate that is sustained, and what a turn costs there."""
    chats = range(FIRST_CHAT, FIRST_CHAT + CHATS)
    await once_each(rig, chats, rate=WARM_UP_RATE)
    turns, took = await keep_busy(rig, chats, seconds=seconds)
    most = turns / took
    found = [Figure("capacity", case, f"turns a second with {AT_ONCE} waiting", most, "/s")]
    for share in SHARES:
        seen = await _at_rate(rig, chats, rate=share * most, seconds=seconds)
        if seen is not None:
            found.append(Figure("capacity", case, "sustained", share * most, "/s"))
            return found + seen.figures("capacity", case, programs=list(rig.programs))
    return [*found, Figure("capacity", case, "sustained, less than", SHARES[-1] * most, "/s")]


async def keep_busy(rig: Rig, chats: range, *, seconds: float, at_once: int = AT_ONCE) -> tuple[int, float]:
    """Keep so many messages unanswered for so long; returns how many were answered meanwhile, and the seconds."""
    waiting = itertools.cycle(chats)
    begin, before = time.monotonic(), (await rig.platform.ask("/bench/status"))["answered"]
    written: list[int] = []
    answered = 0
    while time.monotonic() < begin + seconds:
        while len(written) - answered < at_once:
            written.append(await say(rig, next(waiting)))
        await asyncio.sleep(_LOOK_SECONDS)
        answered = (await rig.platform.ask("/bench/status"))["answered"] - before
    took = time.monotonic() - begin
    await until_answered(rig, written)
    return answered, took


async def keep_busy_for(rig: Rig, chats: range, *, turns: int, at_once: int = AT_ONCE) -> None:
    """Keep so many messages unanswered until ``turns`` were written; returns when all have their answers."""
    waiting = itertools.cycle(chats)
    before = answered = (await rig.platform.ask("/bench/status"))["answered"]
    written = 0
    last: list[int] = []
    while written < turns:
        while written - (answered - before) < at_once and written < turns:
            last = [*last[-at_once:], await say(rig, next(waiting))]
            written += 1
        await asyncio.sleep(_LOOK_SECONDS)
        answered = (await rig.platform.ask("/bench/status"))["answered"]
    await until_answered(rig, last)


async def _at_rate(rig: Rig, chats: range, *, rate: float, seconds: float) -> Window | None:
    """Evenly at this rate; None when the backlog grew."""
    before, cpu = (await rig.platform.ask("/bench/status"))["answered"], rig.cpu()
    begin, numbers, backlogs = time.monotonic(), [], []
    for index, chat in zip(range(int(rate * seconds)), itertools.cycle(chats), strict=False):
        await asyncio.sleep(max(0.0, begin + index / rate - time.monotonic()))
        numbers.append(await say(rig, chat))
        if index % 10 == 0:
            backlogs.append(len(numbers) - ((await rig.platform.ask("/bench/status"))["answered"] - before))
    late = backlogs[-1] - backlogs[len(backlogs) // 3]
    await until_answered(rig, numbers)
    used, took = spent(rig, cpu), time.monotonic() - begin
    if late > _GROWTH * len(numbers):
        return None
    return Window(await outcomes(rig, numbers), used, took)
