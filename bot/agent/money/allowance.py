"""Whether anything is left for what a model would be asked though nobody waits for it: a compaction ahead of need, the
running summary, facts.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from bot.agent.context import Context
from bot.history import Usage
from bot.model import Link
from bot.model.charges import reservation
from bot.runtime.access import Access
from bot.runtime.telemetry import telemetry
from bot.store import Database, runs
from bot.store.money import budgets, ledger
from bot.store.money.ledger import Charge
from bot.store.money.limits import Limits

log = structlog.get_logger(__name__)


class Allowance:
    """Of one agent. ``writer``: who would be asked."""

    def __init__(
        self, context: Context, database: Database, limits: Limits, access: Access, writer: Callable[[], Link]
    ) -> None:
        self._context = context
        self._database = database
        self._limits = limits
        self._access = access
        self._writer = writer

    async def is_left(self) -> bool:
        """For whoever wrote last, since they would pay for it. What is only reserved may be given back; that is seen
        when the request is made. Raises StoreUnavailable."""
        if not await self._limits.are_any():
            return True
        context, now = self._context, self._database.clock()
        async with self._database.read() as tx:
            connector, person = await runs.last_asked_by(tx, context.agent_id)
            if self._access.passes(connector, person):
                return True
            stand = await self._limits.standings(tx, connector, person, context.agent_id)
        writer = self._writer()
        would_be = Charge(
            ledger.new_id(now), context.agent_id, now, "summary", writer.name, provider=writer.model.provider
        )
        asked = reservation(would_be, prompt=Usage(input=context.meter.total), answer=0)
        full = budgets.in_the_way(stand, is_free=not asked.cost)
        if full is None or not full.is_used_up:
            return True
        telemetry.budget_refused("compaction", full.budget.scope)
        log.info("budget_used_up", scope=full.budget.scope.value, limit=full.limit.in_words)
        return False
