"""Which models answer one conversation: those of the settings, or the one that was chosen here and those in its place.

The choice is in the book. Where nothing says any more how the chosen model is asked (its key is gone), the usual ones
answer, and `/model` says so.
"""

from __future__ import annotations

import structlog

from bot.agent.context import Context
from bot.errors import ConfigurationError, ModelError
from bot.model import Link
from bot.model.chain import Chain
from bot.model.chains import Chains

log = structlog.get_logger(__name__)


class ModelChoice:
    """Of one agent. ``chosen``: as the book has it, empty for none."""

    def __init__(self, context: Context, chains: Chains, chosen: str) -> None:
        self._context = context
        self._chains = chains
        self.chosen = "" if chains.insists else chosen
        """As it was written; empty where the usual ones answer."""
        self.chain = chains.usual
        """Who is asked, from the next turn on."""
        self.problem = ""
        """Why what was chosen does not answer, in a sentence for those who run the program."""

    @property
    def summaries(self) -> Chain:
        """Who writes this conversation's summaries."""
        return self._chains.summaries if self.problem else self._chains.summaries_of(self.chosen)

    async def take_up(self) -> None:
        """The conversation begins on this host: its context is measured for whom it chose."""
        try:
            self.chain = self._chains.of(self.chosen)
        except ConfigurationError as error:
            self.problem = str(error)
            log.warning("model_choice_lost", model=self.chosen, reason=self.problem)
        await self._context.change_to(self.chain.first)

    async def choose(self, written: str) -> None:
        """From the next answer on; empty: as all conversations. Raises ConfigurationError where there is no such model,
        and a ModelError where that cannot be found out."""
        is_known = self._chains.has(written) or not written
        chain = self._chains.of(written)
        link = chain.first
        try:
            await _see(link, written)
        except (ConfigurationError, ModelError):
            if not is_known:
                await self._chains.drop(written)
            raise
        await self._context.choose_model(written, link)
        self.chosen, self.chain, self.problem = written, chain, ""


async def _see(link: Link, written: str) -> None:
    """Raises ConfigurationError where nobody has such a model, and a ModelError where that cannot be found out."""
    if written and await link.model.look_up(link.name) is None:
        raise ConfigurationError(f"{link.called} is not listed where it would be asked.")
