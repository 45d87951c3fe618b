"""What a worker works with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bot.app.resources import Resources
from bot.bus.bus import Bus
from bot.errors import ConfigurationError
from bot.messages import AgentId
from bot.model import Link
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.runtime.access import Access
from bot.store import Database, agents, runs
from bot.store.money.budgets import Usual
from bot.store.money.limits import Limits, limits_of
from bot.store.runs import Run
from workers.bill import RunBill


@dataclass(frozen=True)
class Desk:
    """The book, the bell, the models that write summaries, and where the files of conversations are. ``talkers``: the
    models of conversations; ``chains``: both, where conversations may have chosen others; ``patience``: seconds for
    which a summary is tried again where nobody writes one; ``secrets``: our own, which no summary repeats."""

    database: Database
    bus: Bus
    summaries: Chain
    data_dir: Path
    talkers: tuple[Link, ...] = ()
    patience: float = 0.0
    secrets: tuple[str, ...] = ()
    chains: Chains | None = None
    limits: Limits | None = None
    """What may be spent; None: any amount."""
    access: Access | None = None
    bill_of_run: RunBill | None = None
    """Of the run that is worked on."""

    async def for_conversation(self, agent_id: AgentId) -> Desk:
        """With the models of this one, as :mod:`bot.agent.model_choice` has them."""
        if self.chains is None or self.chains.insists:
            return self
        async with self.database.read() as tx:
            chosen = await agents.chosen_model(tx, agent_id)
        try:
            talkers, summaries = self.chains.of(chosen), self.chains.summaries_of(chosen)
        except ConfigurationError:  # of which its agent tells
            return self
        return replace(self, summaries=summaries, talkers=talkers.links)

    async def bill(self, run: Run) -> RunBill:
        """What its requests cost, and for whom they are made."""
        async with self.database.read() as tx:
            connector, person = await runs.asked_by(tx, run)
        passes = self.access is None or self.access.passes(connector, person)
        return RunBill(run, self.limits or Limits(self.database, Usual()), connector, person, passes)

    @classmethod
    def of(cls, resources: Resources) -> Desk:
        """With what is open in this process."""
        settings = resources.settings
        return cls(
            resources.database,
            resources.bus,
            resources.summaries,
            settings.data_dir,
            talkers=resources.chain.links,
            patience=settings.model_patience,
            secrets=settings.secrets,
            chains=resources.chains,
            limits=limits_of(settings.budget, resources.database),
            access=Access(settings.access, settings.allow, settings.admins),
        )
