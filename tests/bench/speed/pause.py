"""The pause that a person sees when a conversation is compacted, beside the time that the model takes for the summary.

Conversations grow until they are compacted, in a context of `LIMIT` tokens; the model takes `SUMMARY_SECONDS` for a
summary and answers everything else at once. What is reported of a message is its `added` latency (see `turns.py`), so
it holds the wait for a summary. Three cases:

- **ahead** (the default): people write on and on. The summary is written while nobody waits.
- **jump** (the default): what is pasted takes the conversation from below the warning to critical at once.
- **at warning**: `AGENTS__COMPACT_AHEAD=false`, people write on and on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.bench.speed.figures import Figure, percentile
from tests.bench.speed.load import FIRST_CHAT, Outcome, one_by_one, outcomes, say, until_answered
from tests.bench.speed.rig import Rig
from tests.bench.speed.wire import Json

LIMIT = 12_000
SUMMARY_SECONDS = 2.0
CASES = ("ahead", "jump", "at warning")
CHATS = 4
_THINKING_SECONDS = 0.5
_FILLER = "and then we walked on through the garden and talked of this and that "
_STEP = 1_500
"""Characters of a message where people write on and on: 500 tokens or so."""
_STEPS = 26
_JUMP = (int(0.40 * LIMIT * 3), int(0.42 * LIMIT * 3))
"""Characters of what is pasted: twice two fifths of the limit, on top of the tools; more than Telegram takes in one
message, as if it came as a file."""


def settings_of(name: str) -> dict[str, str]:
    """What the program is told beside the usual."""
    ahead = "false" if name == "at warning" else "true"
    return {"AGENTS__EMERGENCY_CONTEXT_LIMIT": str(LIMIT), "AGENTS__COMPACT_AHEAD": ahead}


async def measure(rig: Rig, case: str, name: str) -> list[Figure]:
    """One of CASES, on a rig with its settings and a model server that is slow at summaries."""
    lengths = _JUMP if name == "jump" else [_STEP] * _STEPS
    chats = range(FIRST_CHAT, FIRST_CHAT + CHATS)
    await one_by_one(rig, [FIRST_CHAT - 1])  # what is imported on demand is in
    written = await asyncio.gather(*(_converse(rig, chat, lengths) for chat in chats))
    turns = [turn for numbers in written for turn in await outcomes(rig, numbers)]
    asked = (await rig.model.ask("/bench/records"))["asked"]
    summaries = [one for one in asked if one["kind"] == "summary"]
    if not summaries:
        raise RuntimeError(f"{name}: nothing was compacted")
    of_chat = dict(zip(chats, written, strict=True))
    waits = [(turn.added, taken) for turn in turns if (taken := _waited_for(turn, summaries, of_chat[turn.chat]))]
    where = f"{case}, {name}"
    found = [
        Figure("pause", where, "median of all messages", percentile([turn.added for turn in turns], 0.5) * 1e3, "ms"),
        Figure("pause", where, "summaries", len(summaries), ""),
        Figure("pause", where, "messages that waited for a summary", len(waits), ""),
    ]
    if waits:
        longest, taken = max(waits)
        found.append(Figure("pause", where, "longest wait for a summary", longest * 1e3, "ms"))
        found.append(Figure("pause", where, "of it, beside the model's time", (longest - taken) * 1e3, "ms"))
    return found


async def _converse(rig: Rig, chat: int, lengths: Sequence[int]) -> list[int]:
    """One person who writes texts of these lengths, each after the last was answered; returns their numbers."""
    numbers = []
    for length in lengths:
        numbers.append(await say(rig, chat, _FILLER * (length // len(_FILLER))))
        await until_answered(rig, numbers)
        await asyncio.sleep(_THINKING_SECONDS)  # a person reads
    return numbers


def _waited_for(turn: Outcome, summaries: Sequence[Json], of_chat: Sequence[int]) -> float:
    """Seconds that the model took for summaries of this conversation that were ready while this message waited."""
    own, end = {*of_chat}, turn.handed + turn.final
    meeting = [one for one in summaries if own & {*one["numbers"]} and turn.handed <= one["done"] <= end]
    return float(sum(one["done"] - one["arrived"] for one in meeting))
