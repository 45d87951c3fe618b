"""How large the windows of an endpoint's models are: as it lists them, and as its refusals have shown.

What is listed is asked once. A refusal that states a smaller window counts more, for every process that shares
``windows``, until something shows that it holds no more (:mod:`bot.estimate.learned_windows`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.errors import ModelOverflow
from bot.estimate.cuts import beginning
from bot.estimate.learned_windows import LONGEST_SAID, Learned, OwnWindows, Windows
from bot.history import Usage
from bot.model.base import Limits


class KnownLimits:
    """Those of one endpoint, which is called ``place`` in the book. ``look`` asks it for what it lists: None where it
    cannot be reached just now, and defaults that are not ``known`` where it lists nothing. ``fixed``: of a server that
    cannot tell, and whose refusals teach nothing."""

    def __init__(
        self,
        place: str,
        look: Callable[[str], Awaitable[Limits | None]],
        *,
        windows: Windows | None = None,
        fixed: Limits | None = None,
    ) -> None:
        self.place = place
        self._look = look
        self._windows = windows or OwnWindows()
        self._fixed = fixed
        self._listed: dict[str, Limits] = {}
        self._learned: dict[str, int] = {}
        """What was last read there, in tokens."""
        self._looking = asyncio.Lock()

    async def of(self, model: str) -> Limits:
        """See :meth:`bot.model.base.Model.limits`."""
        if self._fixed:
            return self._fixed
        listed = await self._limits_listed(model)
        learned = await self._windows.learned(self.place, model)
        if learned is None or (listed.known and learned.listed != listed.window):
            self._learned.pop(model, None)
            return listed
        self._learned[model] = learned.window
        window = min(learned.window, listed.window)
        return Limits(window, listed.answer, known=True, refusal=learned.said, listed=learned.listed)

    async def refused(self, model: str, overflow: ModelOverflow) -> None:
        """A refusal says how much would have fitted. One that states no number says that what is listed holds."""
        if self._fixed:
            return
        known, listed = await self.of(model), self._listed.get(model, Limits())
        window = overflow.window or (listed.window if listed.known else None)
        if window is None or window > known.window or (known.refusal and window == known.window):
            return
        said = beginning(str(overflow), LONGEST_SAID)
        await self._windows.learn(self.place, model, Learned(window, said, listed.window if listed.known else 0))

    async def answered(self, model: str, usage: Usage) -> None:
        """An answer to a request that was larger shows that what was learned was wrong, or that it has changed."""
        if usage.context > self._learned.get(model, usage.context):
            del self._learned[model]
            await self._windows.forget(self.place, model)

    async def _limits_listed(self, model: str) -> Limits:
        if known := self._listed.get(model):
            return known
        async with self._looking:  # a thousand agents that begin at once ask once
            if known := self._listed.get(model):
                return known
            found = await self._look(model)
            if found is None:
                return Limits()  # ask again next time
            self._listed[model] = found
            return found
