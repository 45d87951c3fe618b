"""The budgets of an installation, as each process of it sees them: those of its settings, and those chosen in chats.

Where there are none, nothing is reserved, and nobody reads the book for them but now and then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from bot.errors import StoreUnavailable
from bot.messages import AgentId
from bot.runtime.settings import BudgetSettings
from bot.store.database import Database
from bot.store.money import budgets, ledger
from bot.store.money.budgets import Budget, Scope, Standing, Usual
from bot.store.money.ledger import Charge
from bot.store.money.lines import Key, Lines
from bot.store.tx import Tx

_LOOK_SECONDS = 2.0
"""What somebody chose elsewhere is known here so much later."""


class Limits:
    """``usual``: what holds for whom nobody chose another amount."""

    def __init__(self, database: Database, usual: Usual) -> None:
        self._database = database
        self.usual = usual
        self.lines = Lines()
        """Who waits here until others have said what they spent."""
        self._are_chosen = False
        self._looked_at = float("-inf")

    async def are_any(self, tx: Tx | None = None) -> bool:
        """Whether anything is limited for anybody. ``tx``: of whoever is in a transaction; to take a second connection
        then would be to wait for others who do the same. While the book is away, what was known last counts."""
        if not self.usual.is_any and time.monotonic() - self._looked_at > _LOOK_SECONDS:
            if tx is not None:
                await self._look(tx)
            else:
                with suppress(StoreUnavailable):
                    async with self._database.glance() as own:
                        await self._look(own)
        return self.usual.is_any or self._are_chosen

    async def _look(self, tx: Tx) -> None:
        self._are_chosen = await budgets.are_chosen(tx)
        self._looked_at = time.monotonic()

    def look_again(self) -> None:
        """Something was chosen here."""
        self._looked_at = float("-inf")

    async def holding(self, tx: Tx, connector: str, person: str, agent_id: AgentId) -> Sequence[Budget]:
        """Those that hold for a request of this person in this conversation."""
        return await budgets.holding(tx, self.usual, connector, person, agent_id)

    async def standings(self, tx: Tx, connector: str, person: str, agent_id: AgentId) -> Sequence[Standing]:
        """How they stand."""
        holds = await self.holding(tx, connector, person, agent_id)
        return await budgets.standings(tx, holds, now=self._database.clock())

    async def one_by_one(self, tx: Tx) -> None:
        """Before anything is written in a transaction that reserves: see :func:`bot.store.money.budgets.one_by_one`."""
        if self.usual.is_any or self._are_chosen:
            await budgets.one_by_one(tx)

    async def reserve(self, tx: Tx, charge: Charge, *, passes: bool) -> Standing | None:
        """Reserve what a request may cost; returns the budget in whose way that is. What nobody goes on with is
        settled first, where it may be what is in the way."""
        now = self._database.clock()
        holds = await self.holding(tx, charge.connector, charge.person, charge.agent_id)
        full = await budgets.reserve(tx, holds, charge, now=now, passes=passes)
        if full is not None and not full.is_used_up and await ledger.close_stranded(tx, before=now - STRANDED_SECONDS):
            full = await budgets.reserve(tx, holds, charge, now=now, passes=passes)
        return full

    def waited_for(self, charge: Charge) -> Key | None:
        """A budget that may hold for this and that others wait for here; what costs nothing does not wait behind
        them."""
        if not charge.cost:
            return None
        own: tuple[Key, ...] = (
            (Scope.PERSON, charge.connector, charge.person),
            (Scope.CHAT, "", charge.agent_id),
            (Scope.DAY, "", ""),
            (Scope.MONTH, "", ""),
        )
        return self.lines.busy(own)


def limits_of(settings: BudgetSettings, database: Database) -> Limits:
    """As the settings say."""
    return Limits(database, Usual(settings.person_day, settings.chat_day, settings.day, settings.month))


STRANDED_SECONDS = 3_600.0
"""No request takes so long."""
