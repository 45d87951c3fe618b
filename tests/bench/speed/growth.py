"""What a turn costs as the history grows, at equal size of what the model reads.

Histories of 100, 1,000 and 10,000 entries are written straight into the database, by the store's own functions; a
layer hides all but the last `VISIBLE` of each, as compactions do. `CHATS` conversations of each size are loaded by a
first turn (its latency is `first turn`), and then have `ROUNDS` turns each, one at a time.
"""

from __future__ import annotations

from bot.history import Entry, EntryKind, Layer
from bot.messages import Address, text_block
from bot.store import Database, agents, histories
from tests.bench.speed.figures import Figure, percentile, spread
from tests.bench.speed.load import FIRST_CHAT, one_by_one, outcomes
from tests.bench.speed.rig import Rig

SIZES = (100, 1_000, 10_000)
VISIBLE = 60
CHATS = 3
ROUNDS = 20
_BATCH = 1_000
_TEXT = "Tell me how the {}th part of the work goes, and what is left of it for the days to come."


def chats_of(size: int) -> range:
    """The chats whose histories have so many entries."""
    first = 100_000 * (SIZES.index(size) + 1)
    return range(first, first + CHATS)


async def write_histories(database: Database) -> None:
    """All conversations of all sizes."""
    for size in SIZES:
        for chat in chats_of(size):
            await _write(database, Address("telegram", str(chat)), size)


async def _write(database: Database, address: Address, size: int) -> None:
    now = database.clock()
    async with database.write() as tx:
        await agents.ensure(tx, address, now=now)
    for first in range(1, size + 1, _BATCH):
        batch = [_entry(seq) for seq in range(first, min(first + _BATCH, size + 1))]
        async with database.write() as tx:
            await histories.append(tx, address.agent_id, batch, now=now)
    hidden = size - VISIBLE
    layer = Layer(number=1, upto=hidden, hidden=((1, hidden),), floor=hidden + 1)
    async with database.write() as tx:
        await histories.put(tx, address.agent_id, layer, [], now=now)


def _entry(seq: int) -> Entry:
    blocks = (text_block(_TEXT.format(seq)),)
    if seq % 2:
        return Entry(seq, "user", blocks, EntryKind.SAID, tokens=25)
    return Entry(seq, "assistant", blocks, EntryKind.REPLY, tokens=25)


async def measure(rig: Rig, case: str) -> list[Figure]:
    """A rig whose database has the histories, and whose program runs; the ratio is that of the largest to the least."""
    found: list[Figure] = []
    medians, costs = [], []
    await one_by_one(rig, [FIRST_CHAT] * ROUNDS)  # what is imported or prepared on demand is in
    for size in SIZES:
        chats = chats_of(size)
        first = await outcomes(rig, await one_by_one(rig, chats))
        before = rig.cpu()
        turns = await outcomes(rig, await one_by_one(rig, [*chats] * ROUNDS))
        used = sum(rig.cpu()[role] - before[role] for role in rig.programs)
        medians.append(percentile([one.added for one in turns], 0.5))
        costs.append(used / len(turns) * 1e3)
        where = f"{case}, entry {size:,}"
        found.append(
            Figure("growth", where, "first turn p50", percentile([one.added for one in first], 0.5) * 1e3, "ms")
        )
        found += spread("growth", where, "added", [one.added for one in turns])
        found.append(Figure("growth", where, "CPU a turn, program", costs[-1], "ms"))
    found.append(Figure("growth", case, "CPU at entry 10,000 to entry 100", costs[-1] / costs[0], "times"))
    found.append(Figure("growth", case, "added p50 at entry 10,000 to entry 100", medians[-1] / medians[0], "times"))
    return found
