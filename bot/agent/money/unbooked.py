"""What was spent and is not in the ledger yet: the next step of the agent writes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.messages import AgentId
from bot.store import Tx
from bot.store.money import ledger
from bot.store.money.ledger import SETTLED, Charge


@dataclass
class Unbooked:
    """Of one agent, in memory. ``released``: ids of reservations for what was not sent after all."""

    charges: list[Charge] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    last: dict[str, Charge] = field(default_factory=dict)
    """Of each model the last request here of which it is known what its cache had, by the model's name."""

    def add(self, charge: Charge) -> None:
        """This was spent."""
        self.charges.append(charge)
        if charge.state == SETTLED or charge.usage.cache_read or charge.usage.cache_creation:
            self.last[charge.model] = charge

    async def write(self, tx: Tx, agent_id: AgentId) -> Unbooked:
        """Into this transaction; returns what that was. It is written once, however often this is tried."""
        some = Unbooked([*self.charges], [*self.released])
        if some.charges:
            await ledger.record(tx, some.charges)
        if some.released:
            await ledger.release(tx, agent_id, some.released)
        return some

    def forget(self, written: Unbooked) -> None:
        """The transaction is committed. Another one may have written the same, and more have come since."""
        done = {id(one) for one in written.charges}
        self.charges[:] = [one for one in self.charges if id(one) not in done]
        self.released[:] = [one for one in self.released if one not in written.released]
