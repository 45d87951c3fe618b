"""What is gone in a moment, for all chat pages that this process serves: who writes, what is written so far, how full
a context is. Every gateway hears it, whichever of them works for the connector.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from bot.bus import topics
from bot.bus.bus import Bus
from bot.bus.events import AtWork, LiveEvent, Marked, Measured, MeterFacts, Written
from bot.bus.live_events import RENEW_SECONDS
from bot.messages import Address, AgentId

_TYPING_SECONDS = 2 * RENEW_SECONDS
_MOST_AGENTS = 1_000
_MOST_SLOTS = 4
"""Replies that one conversation writes at once; what was written before is in the book by then."""


@dataclass
class Moment:
    """One conversation. ``texts``: what stands so far in the place of each reply, by its slot; ``facts``: the last
    ones, None before any came."""

    texts: dict[int, str] = field(default_factory=dict)
    facts: MeterFacts | None = None
    typing_until: float = 0.0
    """In the loop's time."""

    @property
    def is_typing(self) -> bool:
        """Whether somebody writes there."""
        return asyncio.get_running_loop().time() < self.typing_until


class Moments:
    """Of the conversations of one connector. Each change rings ``live:<agent>``; a mark on a message, which stands in
    the book, ``marked:<agent>``; both in this process alone."""

    def __init__(self, bus: Bus, connector: str) -> None:
        self._bus = bus
        self._connector = connector
        self._moments: dict[AgentId, Moment] = {}
        bus.on_live(self._hear)

    def of(self, address: Address) -> Moment:
        """What is known of a conversation."""
        return self._moments.get(address.agent_id) or Moment()

    def _hear(self, event: LiveEvent) -> None:
        address = event.address
        if address.connector != self._connector:
            return
        moment = self._moments.pop(address.agent_id, None) or Moment()
        self._moments[address.agent_id] = moment  # now the newest
        if len(self._moments) > _MOST_AGENTS:
            del self._moments[next(iter(self._moments))]
        match event:
            case Written():
                moment.texts.pop(event.slot, None)
                moment.texts[event.slot] = event.text
                if len(moment.texts) > _MOST_SLOTS:
                    del moment.texts[next(iter(moment.texts))]
            case AtWork():
                loop = asyncio.get_running_loop()
                moment.typing_until = loop.time() + _TYPING_SECONDS if event.on else 0.0
            case Measured():
                moment.facts = event.facts
            case Marked():
                self._bus.wake(topics.marked(address.agent_id))
        self._bus.wake(topics.live(address.agent_id))
