"""Finding and reading what was said before, in the original words (FEATURES B3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.agent.commands.recalling import MOST_HITS, hits_for_model, range_for_model
from bot.agent.tools.tool import Occasion, ToolError, schema
from bot.history.entry_text import RECALL
from bot.messages import AgentId
from bot.runtime.zones import UTC_NAME
from bot.store import Database, Tx, zones
from bot.store.search import recall

_DESCRIPTION = (
    "Find what was said earlier in this conversation, or returned by a tool, and is no longer in front of you, in the "
    "original words. Use it before you say that you do not know or remember something, and when a summary lacks a "
    "detail. Give a few telling words as query, or from_seq and to_seq to read the messages with these numbers in full."
)
_MOST_AT_ONCE = 20
"""Messages that are read when only the last of them is named."""


@dataclass(frozen=True)
class Recall:
    """Searches the history of one agent, and no other."""

    database: Database
    agent_id: AgentId
    usual_zone: str = UTC_NAME
    """The time zone of conversations that chose none."""
    name: str = RECALL
    description: str = _DESCRIPTION
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: schema([], query="string", from_seq="integer", to_seq="integer", offset="integer")
    )
    idempotent: bool = True

    async def run(self, arguments: Mapping[str, Any], occasion: Occasion) -> str:
        """Hits for a query, within the numbers if there are any; else the messages with these numbers, the first of
        them from ``offset`` (characters) on."""
        query = arguments.get("query") or ""
        if not isinstance(query, str):
            raise ToolError("query is a text: a few words.")
        low, high = _number(arguments, "from_seq"), _number(arguments, "to_seq")
        if low is not None and high is not None and low > high:
            raise ToolError("from_seq is at most to_seq.")
        if query.strip():
            return await self._search(query, low, high, occasion)
        if low is None and high is None:
            raise ToolError("Give a query of a few words, or from_seq and to_seq.")
        return await self._read(low, high, _number(arguments, "offset") or 0, occasion)

    async def _search(self, query: str, low: int | None, high: int | None, occasion: Occasion) -> str:
        async with self.database.read() as tx:
            found = await recall.search(
                tx,
                self.agent_id,
                query,
                audience=recall.MODEL,
                low=low or 1,
                high=high,
                unseen=True,
                most=MOST_HITS,
            )
            zone = await self._zone(tx)
        return hits_for_model(query, found, zone, characters=occasion.characters, tokens=occasion.tokens)

    async def _read(self, low: int | None, high: int | None, offset: int, occasion: Occasion) -> str:
        async with self.database.read() as tx:
            last = await recall.last(tx, self.agent_id)
            high = last if high is None else min(high, last)
            low = max(1, high - _MOST_AT_ONCE + 1) if low is None else low
            found = await recall.read(tx, self.agent_id, audience=recall.MODEL, low=low, high=high)
            zone = await self._zone(tx)
        return range_for_model(found, high, zone, offset=offset, characters=occasion.characters, tokens=occasion.tokens)

    async def _zone(self, tx: Tx) -> str:
        return (await zones.of_conversation(tx, self.agent_id)).zone or self.usual_zone


def _number(arguments: Mapping[str, Any], name: str) -> int | None:
    """A whole number, also as a text: some models write it so."""
    value = arguments.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().lstrip("#").isascii() and value.strip().lstrip("#").isdigit():
        value = int(value.strip().lstrip("#"))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ToolError(f"{name} is a whole number, 0 or more.")
    return value
