"""Fills an empty book: so many conversations, entries and compactions with long results. Always the same one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.history import Entry, EntryKind
from bot.messages import Address, AgentId, text_block
from bot.store import Database, agents, histories
from bot.store.schema import compactions
from tests.unit.one_run import PLAN, a_meter, meter_json

_WORDS = (
    "the", "train", "to", "Rome", "leaves", "at", "noon", "and", "nobody", "knows", "whether", "it", "will", "rain",
    "on", "the", "hill", "behind", "our", "house",
)  # fmt: skip
_TRIGGERS = ("auto", "ahead", "ahead", "manual", "recovery")
_STATES = ("done",) * 8 + ("empty", "failed")
_A_DAY = 86_400.0
_AT_ONCE = 200


@dataclass(frozen=True)
class Size:
    """How large the book is; ``result``: characters of what a compaction was asked and answered."""

    conversations: int = 1_000
    entries: int = 100_000
    compactions: int = 5_000
    result: int = 100_000


async def fill(database: Database, size: Size, *, now: float) -> None:
    """Write all of it, the newest at ``now`` (seconds since 1970). The first conversation has a tenth of the
    entries."""
    rng = random.Random(7)
    addresses = [Address("telegram", str(1_000 + number)) for number in range(size.conversations)]
    for some in _some(addresses):
        async with database.write() as tx:
            for address in some:
                await agents.ensure(tx, address, now=now - rng.random() * 30 * _A_DAY)
                await agents.remember(tx, address.agent_id, meter=a_meter(rng.randint(50, 990)))
    for address, count in zip(addresses, _shares(size), strict=True):
        async with database.write() as tx:
            await histories.append(tx, address.agent_id, list(_talk(rng, address, count)), now=now)
    runs = [_run(rng, number, rng.choice(addresses).agent_id, now, size.result) for number in range(size.compactions)]
    for rows in _some(runs):
        async with database.write() as tx:
            await tx.execute(compactions.insert(), rows)


def _shares(size: Size) -> Iterator[int]:
    first = size.entries // 10
    yield first
    for _ in range(size.conversations - 1):
        yield (size.entries - first) // max(1, size.conversations - 1)


def _talk(rng: random.Random, address: Address, count: int) -> Iterator[Entry]:
    for seq in range(1, count + 1):
        words = " ".join(rng.choices(_WORDS, k=30)) + f" {seq}"
        if seq % 2:
            yield Entry(seq, "user", (text_block(words),), EntryKind.SAID, tokens=40, person=address.chat)
        else:
            yield Entry(seq, "assistant", (text_block(words),), EntryKind.REPLY, tokens=40)


def _run(rng: random.Random, number: int, agent_id: AgentId, now: float, result: int) -> dict[str, Any]:
    began, state, trigger = now - rng.random() * 30 * _A_DAY, rng.choice(_STATES), rng.choice(_TRIGGERS)
    usage = {"input": rng.randint(1_000, 90_000), "cache_read": 0, "cache_creation": 0, "output": 900}
    asked = " ".join(rng.choices(_WORDS, k=200))
    long = (asked * (result // len(asked) + 1))[:result]
    return {
        "id": f"{number:08x}{rng.getrandbits(96):024x}",
        "agent_id": agent_id,
        "trigger": trigger,
        "strategy": rng.choice(("reset", "tiered", "two_phase")),
        "focus": "",
        "state": state,
        "turn_id": f"turn{number}" if trigger in ("auto", "recovery") else None,
        "status_slot": number,
        "stack": [],
        "head": "hash",
        "model": "claude-sonnet-4-5",
        "limit_tokens": 1_000,
        "jobs": 1,
        "meter_before": meter_json(900),
        "meter_after": meter_json(rng.randint(50, 400)) if state == "done" else None,
        "usage": usage,
        "reason": "" if state == "done" else "the summary came back empty",
        "started_at": began,
        "enqueued_at": began,
        "finished_at": began + rng.random() * 20,
        "traced": True,
        "plan": PLAN.as_json(),
        "result": {"outcome": "summary", "summary": "s", "reason": "", "usage": usage,
                   "inference": [{"mode": "conversation", "reply": long}]},
        "trace": f"## section of {number}\n\n- **run**: {number}\n\n{long[: result // 2]}\n\n",
    }  # fmt: skip


def _some(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for at in range(0, len(items), _AT_ONCE):
        yield items[at : at + _AT_ONCE]
