"""Which models answer one conversation: those of the settings, or the one that was chosen here and those in its place.

The choice is in the book. Where nothing says any more how the chosen model is asked (its key is gone), the usual ones
answer, and `/model` says so.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from contextlib import suppress

import structlog

from bot.agent.context import Context
from bot.errors import ConfigurationError, ModelError
from bot.model import Link
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.runtime.providers import ANTHROPIC, CUSTOM, providers

log = structlog.get_logger(__name__)

_LIST_SECONDS = 2.0
"""Whoever gave the command waits for it."""
_MOST_NAMED = 8


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

    async def listed(self) -> str:
        """Where a bare name is asked, and which models there are; empty where nobody says so soon."""
        link = self._chains.usual.first
        names = await _names_at(link)
        return f"At {_endpoint_of(link)}: {_some_of(names, like=link.name)}." if names else ""

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
    if not written or await link.model.look_up(link.name) is not None:
        return
    names = await _names_at(link)
    if link.name in names:  # some answer for all of them, and not for one
        return
    if not names:
        raise ConfigurationError(f"{_endpoint_of(link)} lists no model {link.name}.")
    named = _some_of([written.removesuffix(link.name) + name for name in names], like=written)
    raise ConfigurationError(f"{_endpoint_of(link)} has no model {link.name}. It has {named}.")


async def _names_at(link: Link) -> Sequence[str]:
    """The models that can be chosen where this one is asked; empty where nobody says so soon."""
    provider = providers().get(link.model.provider)
    lists_others = provider is not None and bool(provider.version_setting)  # Azure's deployments have other names
    if link.is_local or lists_others:
        return ()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LIST_SECONDS):
            return await link.model.names()
    return ()


def _endpoint_of(link: Link) -> str:
    """Who has this model, for people, within a sentence."""
    provider = providers().get(link.model.provider)
    if provider is None or provider.name == CUSTOM or (provider.name == ANTHROPIC and not link.is_by_anthropic):
        return "your endpoint"
    return provider.title


def _some_of(names: Sequence[str], *, like: str) -> str:
    """Names for a sentence; of many those that are written most ``like`` this one, and how many more there are."""
    if len(names) > _MOST_NAMED:
        shown = difflib.get_close_matches(like, names, n=_MOST_NAMED, cutoff=0.0)
        return f"{', '.join(shown)} and {len(names) - _MOST_NAMED:,} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
