"""Which model of a chain is asked now. Pure: no request is made here, and the clock is passed in.

::

    up ── fails ──▶ down ── its pause is over ──▶ one request as a probe ── answered ──▶ up
                     ▲                                │ fails
                     └──────── a longer pause ◀───────┘

The first link that is not known to be down is asked. One that is down is asked again by whoever comes first after its
pause, and by nobody else until that has shown something; pauses grow while it goes on failing. Where all are down,
pauses are short: there is nobody else to ask. What is known is known to one process, and of this moment.

A :class:`Search` is one question of one conversation: asked of a link, of the next one, and again, until somebody
answers or its patience is over. What a request meets that another model would meet too (a bad request, too much of it,
a refusal of its content) is none of this module's: :func:`is_outage` tells them apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from bot.errors import OF_PROVIDER, Cause, ModelError, ModelRefused, ModelUnavailable
from bot.model.base import Link

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds that a link is asked nothing after it failed; each time twice as many."""
PAUSE_OF_ALL = 5.0
"""Seconds at most where all are down."""
PROBE_SECONDS = 30.0
"""A probe that shows nothing for so long holds up nobody else's."""
STEADY_SECONDS = 120.0
"""Who was up for so long is new to failing."""
SHORT_PATIENCE = 5.0
"""Seconds for which a link is tried again where another one could be asked."""
_LOOK_SECONDS = 1.0
"""Who waits looks again so often."""
_PASSING = frozenset({Cause.BUSY, Cause.AWAY})
"""What may be over in a moment, without anybody doing anything."""


def is_outage(error: ModelError) -> bool:
    """Whether it is the provider's, whatever was sent: then another one may do better."""
    return error.cause in OF_PROVIDER and not (isinstance(error, ModelRefused) and error.of_content)


@dataclass(frozen=True)
class Asked:
    """A link that is being asked. ``number``: of its changes, at the moment that this began."""

    link: Link
    number: int = 0


@dataclass
class _Health:
    """What is known of one link. ``failures``: in a row, 0 while it is up; times on the chain's clock."""

    failures: int = 0
    strikes: int = 0
    """Failures that came soon after each other, those after which it was up for a while counted too."""
    since: float = 0.0
    """When it was met last, down or up."""
    wait: float = 0.0
    """What the provider asked for then."""
    probed: float = float("-inf")
    """When a probe began."""
    number: int = 0
    error: ModelError | None = None
    met_by: str = ""
    """The conversation that met the last of them."""


class Chain:
    """Models in the order in which they are wanted, at least one. ``clock``: seconds that only grow."""

    def __init__(self, links: Sequence[Link], clock: Callable[[], float] = time.monotonic) -> None:
        self.links = tuple(links)
        self.clock = clock
        self._health = [_Health() for _ in self.links]

    @property
    def first(self) -> Link:
        """Which is wanted most."""
        return self.links[0]

    @property
    def down(self) -> tuple[Link, ...]:
        """Those that are known to be."""
        return tuple(link for link, health in zip(self.links, self._health, strict=True) if health.failures)

    def why(self, link: Link) -> ModelError | None:
        """What a link that is down has met last."""
        health = self._health[self.links.index(link)]
        return health.error if health.failures else None

    def choose(self, *, surely: bool = False, besides: Collection[Link] = ()) -> Asked | None:
        """Who is asked now, ``besides`` these; None where all are down and nobody's pause is over. ``surely``: then the
        one whose pause is over first, as long as there is any."""
        due = {at: self._due_in(self._health[at]) for at, link in enumerate(self.links) if link not in besides}
        at = next((at for at, seconds in due.items() if seconds <= 0), None)
        if at is None and surely and due:
            at = min(due, key=lambda one: due[one])
        if at is None:
            return None
        health = self._health[at]
        if health.failures:
            health.probed = self.clock()
        return Asked(self.links[at], health.number)

    @property
    def pause(self) -> float:
        """Seconds until somebody may be asked; 0: at once."""
        return max(0.0, min(self._due_in(health) for health in self._health))

    def has_other(self, link: Link) -> bool:
        """Whether another one is not known to be down."""
        return any(one is not link and one not in self.down for one in self.links)

    def answered(self, asked: Asked) -> None:
        """It is up."""
        health = self._health[self.links.index(asked.link)]
        if health.failures:
            health.failures, health.error, health.since = 0, None, self.clock()
            health.probed = float("-inf")
            health.number += 1

    def failed(self, asked: Asked, error: ModelError, who: str = "") -> None:
        """It met an outage, in this conversation. What began before the last change was known says nothing new; and
        where one conversation alone meets it again and again, its words may be why: others wait no longer for that."""
        health = self._health[self.links.index(asked.link)]
        if asked.number != health.number:
            return
        now = self.clock()
        soon = health.failures or (now - health.since < STEADY_SECONDS and (not who or who != health.met_by))
        health.strikes = health.strikes + 1 if soon else 1
        health.failures += 1
        health.since, health.error, health.probed = now, error, float("-inf")
        health.met_by = who
        health.wait = wait_of(error)
        health.number += 1

    def due_in(self, link: Link) -> float:
        """Seconds until it may be asked; 0 or less: at once."""
        return self._due_in(self._health[self.links.index(link)])

    def _due_in(self, health: _Health) -> float:
        if not health.failures:
            return 0.0
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(health.strikes - 1, 10))
        if all(one.failures for one in self._health):
            pause = min(pause, PAUSE_OF_ALL)
        now = self.clock()
        return max(health.since + max(pause, health.wait) - now, health.probed + PROBE_SECONDS - now)


@dataclass
class Search:
    """One question of a conversation, until somebody has answered it. ``patience``: seconds from the first failure on
    for which it is asked again where nobody answers; 0: each link is asked once."""

    chain: Chain
    patience: float = 0.0
    who: str = ""
    asked: Asked | None = None
    """Who is asked now."""
    _began: float | None = None
    """When the first one failed, on the chain's clock."""
    _met: dict[Link, ModelError] = field(default_factory=dict)
    """How those failed that were asked, the last time."""

    def choose(self) -> Link | None:
        """Who is asked now; None: nobody before :attr:`pause` is over. The first time there is always somebody, and
        when the patience is over whoever was not asked yet."""
        if self.is_over:
            self.asked = self.chain.choose(surely=True, besides=self._met)
        else:
            # However soon its pause is over, who has just failed comes behind those who might do better.
            self.asked = self.chain.choose(besides=self._met) or self.chain.choose(surely=not self._met)
        return self.asked.link if self.asked else None

    @property
    def is_over(self) -> bool:
        """Whether nobody is asked a second time any more."""
        return self._began is not None and self.chain.clock() >= self._began + self.patience

    @property
    def short_patience(self) -> float | None:
        """Seconds for which the one that is asked now is tried again; None: as long as any request is."""
        return SHORT_PATIENCE if self.asked and self.chain.has_other(self.asked.link) else None

    @property
    def pause(self) -> float:
        """Seconds until :meth:`choose` is worth another call: somebody else may show in between that one is up."""
        return min(_LOOK_SECONDS, max(0.05, self.chain.pause))

    def answered(self) -> None:
        """There is an answer."""
        if self.asked:
            self.chain.answered(self.asked)

    def failed(self, error: ModelError) -> bool:
        """Whoever is asked met this; whether it is worth it to choose again."""
        if self.asked is None or not is_outage(error):
            return False
        self.chain.failed(self.asked, error, self.who)
        self._met[self.asked.link] = error
        if self._began is None:
            self._began = self.chain.clock()
        if any(link not in self._met for link in self.chain.links):
            return True
        return self._seconds_until_better() <= self._began + self.patience - self.chain.clock()

    def _seconds_until_better(self) -> float:
        """Until one may be asked again whose trouble may pass by itself."""
        passing = [link for link, error in self._met.items() if error.cause in _PASSING]
        return min(map(self.chain.due_in, passing), default=float("inf"))

    @property
    def error(self) -> ModelError:
        """Why there is no answer: what whoever was asked met, each by its name where there are several."""
        met = [(link.called, self._met[link]) for link in self.chain.links if link in self._met]
        first = met[0][1]
        if len(met) == 1:
            return first
        sentence = " ".join(f"{called}: {error}" for called, error in met)
        return ModelUnavailable(sentence, cause=first.cause, wait=self.wanted_wait)

    @property
    def wanted_wait(self) -> float:
        """Seconds for which everybody who was asked wants no calls; 0 where one did not say so."""
        return min((wait_of(error) for error in self._met.values()), default=0.0)


def wait_of(error: ModelError) -> float:
    """Seconds that the provider asked for; 0 where it did not."""
    return error.wait if isinstance(error, ModelUnavailable) else 0.0
