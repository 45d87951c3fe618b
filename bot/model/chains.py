"""The chains of a process: those that its settings name, and one for each model that a conversation chose.

Whoever was chosen is asked first there, and in its place those of the settings, in their order. All conversations of
a process that chose the same model share its chain, so that what one of them learns of an outage all others know.
Summaries are written by whoever talks, unless the settings name somebody for them.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.model.base import Link
from bot.model.chain import Chain
from bot.runtime.telemetry import telemetry


class Chains:
    """``usual``: that of the settings; ``summaries``: theirs, where others write them than those that talk;
    ``open_link`` makes a client for a model, written as `MODEL` names one, and raises a ConfigurationError where
    nothing says how it is asked."""

    def __init__(self, usual: Chain, open_link: Callable[[str], Link], summaries: Chain | None = None) -> None:
        self.usual = usual
        self.summaries = summaries or usual
        self.insists = False
        """The usual one was asked for, for this process: what conversations chose before does not count."""
        self._open_link = open_link
        self._chosen: dict[str, Chain] = {}
        self._writing: dict[str, Chain] = {}
        self._opened: dict[str, Link] = {}

    @property
    def all(self) -> tuple[Chain, ...]:
        """Each once, those of the settings first."""
        return tuple(dict.fromkeys((self.usual, self.summaries, *self._chosen.values(), *self._writing.values())))

    @property
    def links(self) -> tuple[Link, ...]:
        """Whoever may be asked, each once."""
        return tuple(dict.fromkeys(link for chain in self.all for link in chain.links))

    def of(self, chosen: str) -> Chain:
        """With this model first; empty: the usual one. Raises ConfigurationError."""
        if not chosen:
            return self.usual
        if chosen not in self._chosen:
            link = self._open_link(chosen)
            there = next((one for one in self.usual.links if (one.name, one.title) == (link.name, link.title)), None)
            self._opened[chosen] = link
            telemetry.model_known(link.name)
            first = there or link
            others = (one for one in self.usual.links if one is not first)
            self._chosen[chosen] = (
                self.usual if first is self.usual.first else Chain([first, *others], self.usual.clock)
            )
        return self._chosen[chosen]

    def summaries_of(self, chosen: str) -> Chain:
        """Those that write the summaries of conversations that chose this one. Raises ConfigurationError."""
        talkers, writer = self.of(chosen), self.summaries.first
        if talkers is self.usual:
            return self.summaries
        if writer is self.usual.first:
            return talkers
        if chosen not in self._writing:
            self._writing[chosen] = Chain([writer, *talkers.links], talkers.clock)
        return self._writing[chosen]

    def has(self, chosen: str) -> bool:
        """Whether it was chosen before."""
        return chosen in self._chosen

    async def drop(self, chosen: str) -> None:
        """Nobody asks it after all."""
        del self._chosen[chosen]
        self._writing.pop(chosen, None)
        model = self._opened.pop(chosen).model
        if all(link.model is not model for link in self.links):
            await model.close()

    async def close(self) -> None:
        """Let go of the clients that were made here."""
        for link in [*self._opened.values()]:  # one may be opened meanwhile
            await link.model.close()
