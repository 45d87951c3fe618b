"""What requests to the provider met, for as long as it lasts: nobody asks it anything to find that out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.errors import OF_PROVIDER, Cause, ModelError

_OF_ALL_MODELS = frozenset({Cause.KEY, Cause.CREDIT, Cause.AWAY})
"""An answer of any model shows that it is over; each of the others may be of one model alone."""


@dataclass(frozen=True)
class Trouble:
    """``since``: of the first request that met it, and ``last``: of the latest, in seconds since 1970."""

    model: str
    cause: Cause
    sentence: str
    since: float
    last: float
    tries: int = 1


class Troubles:
    """Those of one process, one a model at most. ``clock``: seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._of: dict[str, Trouble] = {}

    @property
    def now(self) -> tuple[Trouble, ...]:
        """What no answer has shown to be over."""
        return tuple(self._of.values())

    def met(self, model: str, error: ModelError) -> None:
        """A try came to nothing. What one request alone has met says nothing of the next."""
        if error.cause not in OF_PROVIDER:
            return
        now, known = self._clock(), self._of.get(model)
        if known and known.cause is error.cause:
            self._of[model] = replace(known, sentence=str(error), last=now, tries=known.tries + 1)
        else:
            self._of[model] = Trouble(model, error.cause, str(error), now, now)

    def answered(self, model: str) -> None:
        """A request to this model was answered."""
        self._of.pop(model, None)
        for name in [name for name, one in self._of.items() if one.cause in _OF_ALL_MODELS]:
            del self._of[name]
