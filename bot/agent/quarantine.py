"""An agent that could not be set up, again and again: nobody can look at its history, but people can still reach it.

What waits is put aside, and /new hides the history from the agent, which then starts as ever. Nothing of what was said
is read here.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bot.agent.commands.parsing import parse
from bot.agent.context import Context
from bot.agent.turns.ending import end_unseen
from bot.bus import topics
from bot.bus.bus import Bus
from bot.compaction.plan import fresh_start
from bot.runtime.telemetry import telemetry
from bot.store import Database, Tx, agents, histories, inbox, outbox
from bot.store.inbox import Waiting
from bot.store.operators import parked

log = structlog.get_logger(__name__)

MOST_STARTS = 4
"""Of an agent that never comes to write anything; then it is not set up any more."""
STRANDED = (
    "⚠️ I cannot open this conversation any more: something in me breaks on it. What you wrote was put aside, and "
    "whoever runs me sees it. /new starts afresh."
)
AFRESH = "A fresh start: I no longer see what was said before."
_REASON = f"the agent could not be set up, {MOST_STARTS} times"


class Quarantine:
    """Stands in for one agent, for as long as something waits for it."""

    def __init__(self, context: Context, database: Database, bus: Bus) -> None:
        self._context = context
        self._database = database
        self._bus = bus

    async def run(self) -> None:
        """Put aside what waits, or begin afresh. Raises StaleEpoch, StoreUnavailable."""
        context = self._context
        log.error("agent_stranded", starts=MOST_STARTS)
        await end_unseen(context, self._database, self._bus, _REASON)
        while waiting := await self._waiting():
            async with self._database.fenced(context.agent_id, context.epoch) as tx:
                is_new = await self._answer(tx, waiting)
                await agents.set_starts(tx, context.agent_id, 0 if is_new else MOST_STARTS)
            rings = [topics.outbox(context.address.connector), topics.settled(context.agent_id)]
            self._bus.ring(*rings, *([topics.inbox(context.agent_id)] if is_new else []))
            if is_new:
                return

    async def _waiting(self) -> Sequence[Waiting]:
        async with self._database.read() as tx:
            return await inbox.waiting(tx, self._context.agent_id)

    async def _answer(self, tx: Tx, waiting: Sequence[Waiting]) -> bool:
        """Whether somebody wants to begin afresh; what came after that is left to the agent."""
        now, aside = self._database.clock(), list[Waiting]()
        for message in waiting:
            command = parse(message.text) if not message.files else None
            if command is None:
                aside.append(message)
                continue
            is_new = command.name == "new"
            if is_new:
                await self._hide_all(tx, now)
            await outbox.say(tx, self._context.address, AFRESH if is_new else STRANDED, answers=message.ref, now=now)
            await inbox.close(tx, [message.id])
            if is_new:
                await self._put_aside(tx, aside, now)
                return True
        await self._put_aside(tx, aside, now)
        return False

    async def _put_aside(self, tx: Tx, messages: Sequence[Waiting], now: float) -> None:
        """Who deleted something waits for no answer, and is told nothing."""
        if ids := [message.id for message in messages]:
            await parked.park(tx, ids, _REASON, now=now)
            if any(message.kind != "delete" for message in messages):
                await outbox.say(tx, self._context.address, STRANDED, now=now)
            telemetry.parked(len(ids))
            log.error("message_parked", messages=ids, tries=MOST_STARTS, reason=_REASON)

    async def _hide_all(self, tx: Tx, now: float) -> None:
        agent_id = self._context.agent_id
        upto = await histories.last_seq(tx, agent_id)
        layer, _ = fresh_start(upto).layer(await histories.next_layer(tx, agent_id), upto + 1, run=None)
        await histories.put(tx, agent_id, layer, (), now=now)
