"""The measurements by name: each opens what it runs on, and closes it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from bot.store import Database
from tests.bench.speed import abort, capacity, counts, growth, memory, pause, recovery, replay, start, turns
from tests.bench.speed.figures import Figure
from tests.bench.speed.rig import open_rig
from tests.bench.speed.stores import STORES

Part: TypeAlias = Callable[[Namespace, str], Awaitable[list[Figure]]]
"""Takes the arguments of the command line and the name of a store."""

_ACTIVE = 1_000


async def _start(chosen: Namespace, _: str) -> list[Figure]:
    return await start.measure(rounds=chosen.rounds, beside=chosen.beside)


async def _floor(chosen: Namespace, _: str) -> list[Figure]:
    async with open_rig(floor=True) as rig:
        return await turns.measure(
            rig, turns.FLOOR, rates=chosen.rate, seconds=chosen.seconds, even=chosen.even, profile=chosen.profile
        )


async def _turns(chosen: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store, apart=chosen.apart) as rig:
        return await turns.measure(
            rig, store, rates=chosen.rate, seconds=chosen.seconds, even=chosen.even, profile=chosen.profile
        )


async def _capacity(chosen: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store, apart=chosen.apart) as rig:
        return await capacity.measure(rig, store, seconds=chosen.seconds)


async def _counts(_: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store, counted=True) as rig:
        return await counts.measure(rig, store)


async def _memory(chosen: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store) as rig:
        found = await memory.active(rig, store, agents=min(_ACTIVE, chosen.agents))
    async with open_rig(store=store, command=memory.COMMAND, environment=memory.ENVIRONMENT) as rig:
        return found + await memory.idle(rig, store, agents=chosen.agents)


async def _abort(chosen: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store) as rig:
        return await abort.measure(rig, store, seconds=chosen.seconds)


async def _growth(_: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store, start=False) as rig:
        url = rig.environment.get("DATABASE_URL")
        database = Database(url) if url else Database.in_folder(rig.folder / "data")
        await database.open()
        await growth.write_histories(database)
        await database.close()
        await rig.start("all")
        await rig.until_it_polls()
        return await growth.measure(rig, store)


async def _pause(_: Namespace, store: str) -> list[Figure]:
    found: list[Figure] = []
    slow = ("--summary-seconds", str(pause.SUMMARY_SECONDS))
    for name in pause.CASES:
        async with open_rig(store=store, model=slow, environment=pause.settings_of(name)) as rig:
            found += await pause.measure(rig, store, name)
    return found


async def _recovery(_: Namespace, store: str) -> list[Figure]:
    found: list[Figure] = []
    slow = ("--summary-seconds", str(recovery.SUMMARY_SECONDS))
    for standby in (False, True):
        async with open_rig(store=store, start=False, model=slow) as rig:
            found += await recovery.measure(rig, store, standby=standby)
    return found


async def _replay(chosen: Namespace, store: str) -> list[Figure]:
    async with open_rig(store=store, command=replay.COMMAND, environment=replay.ENVIRONMENT) as rig:
        found, grown = await replay.measure(rig, store, turns=chosen.turns)
    if grown:
        raise SystemExit("\n".join(grown))
    return found


PARTS: Mapping[str, Part] = {
    "start": _start,
    "floor": _floor,
    "turns": _turns,
    "capacity": _capacity,
    "counts": _counts,
    "abort": _abort,
    "growth": _growth,
    "pause": _pause,
    "recovery": _recovery,
    "memory": _memory,
    "replay": _replay,
}


def stores_of(part: str, chosen: Sequence[str] | None) -> Sequence[str]:
    """What a part is measured on: what was chosen, or every store. How much memory the program takes hardly depends
    on it, and takes long to measure, so by default that is measured on the first alone."""
    if part in ("floor", "start"):
        return ("none",)
    return chosen or (STORES[:1] if part in ("memory", "replay") else STORES)
