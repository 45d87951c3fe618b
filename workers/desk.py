"""What a worker works with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bot.app.resources import Resources
from bot.bus.bus import Bus
from bot.errors import ConfigurationError
from bot.model import Link
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.model.saving import is_cheaper, nearly_spent
from bot.runtime.access import Access
from bot.store import Database, Tx, agents, runs
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
    cheaper: str = ""
    """Who is asked once most of a budget is spent, as the setting has it; empty for nobody else."""
    bill_of_run: RunBill | None = None
    """Of the run that is worked on."""

    async def for_conversation(self, bill: RunBill) -> Desk:
        """With the models of the one that a run is of, as :mod:`bot.agent.model_choice` has them, or where most of a
        budget is spent those of :mod:`bot.agent.money.thrift`."""
        if self.chains is None or self.chains.insists:
            return replace(self, bill_of_run=bill)
        async with self.database.read() as tx:
            chosen = await agents.chosen_model(tx, bill.run.agent_id)
            is_short = await self._is_short(tx, bill)
        own = replace(self, bill_of_run=bill)
        with suppress(ConfigurationError):  # of which its agent tells
            own = replace(own, summaries=self.chains.summaries_of(chosen), talkers=self.chains.of(chosen).links)
        if is_short:
            with suppress(ConfigurationError):
                chain = self.chains.of(self.cheaper)
                if is_cheaper(chain.first, own.talkers[0] if own.talkers else self.chains.usual.first):
                    own = replace(own, summaries=self.chains.summaries_of(self.cheaper), talkers=chain.links)
        return own

    async def _is_short(self, tx: Tx, bill: RunBill) -> bool:
        """Whether most of a budget is spent of whoever it is for."""
        if not self.cheaper or bill.passes or not await bill.limits.are_any(tx):
            return False
        return nearly_spent(await bill.limits.standings(tx, bill.connector, bill.person, bill.run.agent_id)) is not None

    async def bill(self, run: Run) -> RunBill:
        """What its requests cost, and for whom they are made."""
        async with self.database.read() as tx:
            connector, person = await runs.asked_by(tx, run)
            factors = await agents.factors(tx, run.agent_id)
        passes = self.access is None or self.access.passes(connector, person)
        return RunBill(run, self.limits or Limits(self.database, Usual()), connector, person, passes, factors)

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
            cheaper=settings.budget.cheaper_model or "",
            access=Access(settings.access, settings.allow, settings.admins),
        )
