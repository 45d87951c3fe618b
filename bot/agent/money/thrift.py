"""Who answers once most of a budget is spent: the model that `BUDGET__CHEAPER_MODEL` names, and those in its place.

::

    a turn's first question ─▶ 80 % of a budget in dollars is spent? ─▶ the cheaper one first, the usual ones behind it
                                        └ no, or nothing stops whoever asks, or it is not cheaper ─▶ the usual ones
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from bot.agent.context import Context
from bot.agent.money import texts
from bot.errors import ConfigurationError
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.model.saving import is_cheaper, nearly_spent
from bot.store import Database
from bot.store.money.limits import Limits

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Saving:
    """``why``: what people read once, below the first answer of the cheaper one."""

    chain: Chain
    why: str


class Thrift:
    """Of one turn, which is ``person``'s. ``written``: the cheaper model, as the setting has it; empty for none.
    ``passes``: nothing is limited for them."""

    def __init__(
        self,
        context: Context,
        database: Database,
        limits: Limits,
        chains: Chains,
        *,
        written: str,
        person: str,
        passes: bool,
    ) -> None:
        self._context = context
        self._database = database
        self._limits = limits
        self._chains = chains
        self._written = "" if chains.insists else written
        self._person = person
        self._passes = passes

    def is_of_it(self, name: str) -> bool:
        """Whether that is what the cheaper model is called."""
        chain = self._chain()
        return chain is not None and chain.first.name == name

    async def saving(self, usual: Chain) -> Saving | None:
        """Who is asked in the place of ``usual``; None where that is asked. Raises StoreUnavailable."""
        if not self._written or self._passes or not await self._limits.are_any():
            return None
        chain = self._chain()
        if chain is None or not is_cheaper(chain.first, usual.first):
            return None
        context = self._context
        async with self._database.read() as tx:
            stand = await self._limits.standings(tx, context.address.connector, self._person, context.agent_id)
        spent = nearly_spent(stand)
        if spent is None:
            return None
        log.info("budget_saved", scope=spent.budget.scope.value, model=chain.first.name)
        return Saving(chain, texts.saving(spent, chain.first.called, self._database.clock(), context.zone))

    def _chain(self) -> Chain | None:
        try:
            return self._chains.of(self._written) if self._written else None
        except ConfigurationError as error:  # of which the settings' check tells
            log.warning("cheaper_model_lost", model=self._written, reason=str(error))
            return None
