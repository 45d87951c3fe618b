"""The chains of a process: the one that its settings name, and one for each model that a conversation chose.

Whoever was chosen is asked first there, and in its place those of the settings, in their order. All conversations of
a process that chose the same model share its chain, so that what one of them learns of an outage all others know.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.model.base import Link
from bot.model.chain import Chain


class Chains:
    """``usual``: that of the settings; ``open_link`` makes a client for a model, written as `MODEL` names one, and
    raises a ConfigurationError where nothing says how it is asked."""

    def __init__(self, usual: Chain, open_link: Callable[[str], Link]) -> None:
        self.usual = usual
        self.insists = False
        """The usual one was asked for, for this process: what conversations chose before does not count."""
        self._open_link = open_link
        self._chosen: dict[str, Chain] = {}
        self._opened: list[Link] = []

    def of(self, chosen: str) -> Chain:
        """With this model first; empty: the usual one. Raises ConfigurationError."""
        if not chosen:
            return self.usual
        if chosen not in self._chosen:
            link = self._open_link(chosen)
            there = next((one for one in self.usual.links if (one.name, one.title) == (link.name, link.title)), None)
            self._opened.append(link)
            first = there or link
            others = (one for one in self.usual.links if one is not first)
            self._chosen[chosen] = (
                self.usual if first is self.usual.first else Chain([first, *others], self.usual.clock)
            )
        return self._chosen[chosen]

    async def close(self) -> None:
        """Let go of the clients that were made here."""
        for link in self._opened:
            await link.model.close()
