"""From `/abort` to quiet, while others are answered.

Some people read an answer that comes slowly, and stop it; the others are answered at `RATE` turns a second. Each
figure begins when the platform hands out the update with `/abort`:

- **stream closed**: until the model server sees the connection of that answer closed.
- **reply seen**: until the words of the program about it have arrived at the platform.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from tests.bench.speed.figures import Figure, spread
from tests.bench.speed.load import FIRST_CHAT, once_each, say, until_answered, write
from tests.bench.speed.marks import SLOWLY
from tests.bench.speed.rig import PATIENCE, Rig

RATE = 10.0
VICTIMS = 4
_FIRST_VICTIM = 900_001
_CHATS = 100
_STOPPED = "(stopped)"
_PAUSE_SECONDS = 0.3


async def measure(rig: Rig, case: str, *, seconds: float) -> list[Figure]:
    """Abort again and again for so long."""
    others = range(FIRST_CHAT, FIRST_CHAT + _CHATS)
    await once_each(rig, others, rate=RATE)
    ended = asyncio.Event()
    stopping = [asyncio.create_task(_victim(rig, _FIRST_VICTIM + index, ended)) for index in range(VICTIMS)]
    numbers = await write(rig, rate=RATE, seconds=seconds, chats=others)
    ended.set()
    pairs = [pair for pairs in await asyncio.gather(*stopping) for pair in pairs]
    await until_answered(rig, numbers)
    closed, seen = await _durations(rig, pairs)
    found = spread("abort", f"{case}, {RATE:g}/s beside it", "stream closed", closed)
    found += spread("abort", f"{case}, {RATE:g}/s beside it", "reply seen", seen)
    return [*found, Figure("abort", case, "aborts", len(pairs), "")]


async def _victim(rig: Rig, chat: int, ended: asyncio.Event) -> Sequence[tuple[int, int]]:
    """Asks, reads the first words, aborts; returns each message's number and the update that aborted its answer."""
    pairs: list[tuple[int, int]] = []
    while not ended.is_set():
        number = await say(rig, chat, SLOWLY.decode())
        await rig.platform.until("/bench/seen", patience=PATIENCE, number=number)
        await asyncio.sleep(_PAUSE_SECONDS)  # somewhere in the middle of it
        update = await rig.platform.ask("/bench/say", chat=chat, text="/abort")
        await rig.platform.until("/bench/told", patience=PATIENCE, chat=chat, words=_STOPPED, update=update)
        pairs.append((number, update))
    return pairs


async def _durations(rig: Rig, pairs: Sequence[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Seconds until the streams were closed, and until the replies were seen; infinity for a stream that was not."""
    noted, asked = await rig.platform.ask("/bench/records"), await rig.model.ask("/bench/records")
    given = {update: (at, chat) for at, update, chat, _ in noted["said"]}
    streams = {number: one["closed"] for one in asked["asked"] if one["kind"] == "slow" for number in one["numbers"]}
    told: dict[int, list[float]] = {}
    for at, _, chat, _, _, _, words in noted["calls"]:
        if _STOPPED in words:
            told.setdefault(chat, []).append(at)
    closed, seen = [], []
    for number, update in pairs:
        at, chat = given[update]
        closed.append(streams[number] - at if streams[number] else math.inf)
        seen.append(next(time for time in told[chat] if time >= at) - at)
    return closed, seen
