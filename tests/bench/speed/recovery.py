"""How long people wait after a `kill -9`.

Each role is a process of its own. From the kill to the answer of a message that is written right after it, the worst of
`CHATS` conversations that were just in use; of a worker, to the end of the compactions whose summaries it was writing
(the model takes `SUMMARY_SECONDS` for one). `restart`: the process is started again at once; `standby`: another one of
its role runs already.
"""

from __future__ import annotations

import asyncio
import time

from tests.bench.speed.figures import Figure
from tests.bench.speed.load import FIRST_CHAT, once_each, say, until_answered
from tests.bench.speed.rig import PATIENCE, ROLES, Rig

CHATS = 6
SUMMARY_SECONDS = 1.0
_RATE = 10.0
_ROUNDS = 3
_COMPACTED = "Compacted"
_SETTLING_SECONDS = 6.0


async def measure(rig: Rig, case: str, *, standby: bool) -> list[Figure]:
    """On a rig where nothing runs yet; everything is killed once."""
    for role in ROLES:
        await rig.start(role)
    await rig.until_it_polls()
    if standby:
        for role in ROLES:
            await rig.start(f"{role}-2")
    chats = range(FIRST_CHAT, FIRST_CHAT + CHATS)
    for _ in range(_ROUNDS):
        await once_each(rig, chats, rate=_RATE)
    await asyncio.sleep(_SETTLING_SECONDS)  # those who stand by have started
    how = "standby" if standby else "restart"
    found = []
    for role in ("worker", "agents", "gateway"):
        seconds = await (_worker if role == "worker" else _role)(rig, role, chats, standby=standby)
        found.append(Figure("recovery", f"{case}, {how}", f"after kill -9 of {role}", seconds, "s"))
        await once_each(rig, chats, rate=_RATE)
        await asyncio.sleep(_SETTLING_SECONDS)
    return found


async def _role(rig: Rig, role: str, chats: range, *, standby: bool) -> float:
    killed = time.monotonic()
    await rig.kill(role)
    numbers = [await say(rig, chat) for chat in chats]
    if not standby:
        await rig.start(role)
    await until_answered(rig, numbers)
    records = await rig.platform.ask("/bench/records")
    mine = {*numbers}
    finals = [float(at) for at, _, _, named, is_final, _, _ in records["calls"] if is_final and mine & {*named}]
    return max(finals) - killed


async def _worker(rig: Rig, role: str, chats: range, *, standby: bool) -> float:
    """Kill it while summaries are written."""
    before = (await rig.model.ask("/bench/records"))["next"]
    updates = {chat: await rig.platform.ask("/bench/say", chat=chat, text="/compact") for chat in chats}
    await rig.model.until("/bench/summarises", patience=PATIENCE, since=before)
    killed = time.monotonic()
    await rig.kill(role)
    if not standby:
        await rig.start(role)
    for chat, update in updates.items():
        await rig.platform.until("/bench/told", patience=PATIENCE, chat=chat, words=_COMPACTED, update=update)
    return time.monotonic() - killed
