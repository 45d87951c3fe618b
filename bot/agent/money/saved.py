"""What compactions of a conversation saved, about: what the same requests would have cost with what they hid."""

from __future__ import annotations

from dataclasses import dataclass

from bot.messages import AgentId
from bot.runtime.utc_day import bounds_of
from bot.store import Tx
from bot.store.money import spending
from bot.store.money.stretches import after_compactions


@dataclass(frozen=True)
class Saved:
    """``tokens`` that were not sent again; ``cost``: what they would have cost, less what the summaries did, in
    nano-dollars."""

    tokens: int
    cost: int


async def saved_by_compacting(tx: Tx, agent_id: AgentId, *, since: str) -> Saved | None:
    """From this day on; None where no compaction has made anything smaller.

    Each request after a compaction would have held what that took away, up to the window; it is taken to cost what a
    token of that request did on average, and so mostly what reading from the cache does.
    """
    begins = bounds_of(since)[0]
    stretches = await after_compactions(tx, agent_id, since=begins)
    tokens = sum(one.requests * one.hidden for one in stretches)
    if not tokens:
        return None
    cost = sum(one.cost * one.hidden * one.requests // one.context for one in stretches if one.context)
    written = await spending.total(tx, spending.of_conversation(agent_id) & spending.of_summaries(), since, "99991231")
    return Saved(tokens, cost - written.cost)
