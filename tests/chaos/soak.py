"""A fleet under fire for long: talk without a pause and a blow every few seconds, checked again and again."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.chaos.checker import faults
from tests.chaos.harness import open_house
from tests.chaos.leftovers import processes
from tests.chaos.plan import Act, Strike, some_strikes, some_talk
from tests.chaos.short import excuses_for, figures, how_often, known_to_discord, play, told

ROUND_SECONDS = 40.0
"""After so long everything is left to settle, and looked at."""
PEOPLE = 7
CHATS = PEOPLE + 2
_TALK_SECONDS = 0.8
_STRIKE_SECONDS = 5.0


async def soak(seed: int, longest: float, tell: Callable[[str], None]) -> list[str]:
    """Returns all that was ever wrong; ``tell`` gets a line for each round and each fault. The folder stays when there
    was one."""
    chance = random.Random(f"soak {seed}")
    folder = Path(tempfile.mkdtemp(prefix=f"palimpsest-soak-{seed}-"))
    began = time.monotonic()
    found: list[str] = []
    done: list[Act] = []
    struck = Counter[str]()
    tell(f"soak of {longest / 60:.0f} minutes, seed {seed}, in {folder}")
    async with open_house(folder, "fleet", people=PEOPLE, discord=True, chance=chance) as house:
        await known_to_discord(house)
        while time.monotonic() - began < longest:
            acts = list(some_acts(chance))
            done += [act for _, act in acts]
            try:
                struck.update(await play(house, acts, chance))
                settling = await house.settled()
                new = [fault for fault in await faults(house, excuses_for(done)) if fault not in found]
            except Exception as error:  # noqa: BLE001  # it is told, and the house goes on
                settling, new = 0.0, [told(error)]
            strikes = ", ".join(act.kind for _, act in acts if isinstance(act, Strike))
            tell(
                f"{time.monotonic() - began:6.0f} s, settled after {settling:4.1f} s: {await figures(house)}; {strikes}"
            )
            for fault in new:
                tell(f"- {fault}")
            found += new
        codes = await house.end()
        found += [f"{name} ended with {code}" for name, code in codes.items() if code != 0]
        found += await asyncio.to_thread(processes, house)
    tell(how_often(struck))
    tell(f"{len(done)} acts, {sum(isinstance(act, Strike) for act in done)} of them blows; {len(found)} faults")
    return found


def some_acts(chance: random.Random) -> Iterator[tuple[float, Act]]:
    """A round of talk, with a blow every few seconds."""
    seconds = strike_at = 0.0
    while seconds < ROUND_SECONDS:
        wait = chance.uniform(0, 2 * _TALK_SECONDS)
        seconds += wait
        yield wait, some_talk(chance, CHATS)
        if seconds > strike_at:
            yield 0.0, next(some_strikes("fleet", chance, 1))
            strike_at = seconds + chance.uniform(0.5, 1.5) * _STRIKE_SECONDS
