"""Decides, before each request and after each reply, whether to compact. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from bot.compaction.plan import Strategy
from bot.estimate import Level, Meter

COOLDOWN = 2
"""Messages that automatic and ahead compactions skip after the last one (FEATURES T5)."""
AHEAD_BELOW_WARNING = 0.05
"""Of the limit: so much below its first level a strategy is asked after a reply, unless it begins at its own alone."""


class Gate(Enum):
    """What comes before the next request."""

    GO_ON = "go on"
    COMPACT = "compact"
    JOIN = "join"
    """Wait for the compaction that runs already."""


@dataclass(frozen=True)
class Restraint:
    """What speaks against an automatic compaction: an undo (``paused``), or one that was just made (``cooldown``
    messages are still to be skipped; ``skipping``: the current message is one of them)."""

    paused: bool = False
    cooldown: int = 0
    skipping: bool = False

    def next_message(self) -> Restraint:
        """A message of a person begins a turn."""
        return replace(self, skipping=self.cooldown > 0, cooldown=max(0, self.cooldown - 1))

    def compacted(self) -> Restraint:
        """A compaction ended, however it ended."""
        return Restraint(paused=False, cooldown=COOLDOWN, skipping=True)

    def undone(self) -> Restraint:
        """A layer was taken off: leave it so until it is critical."""
        return Restraint(paused=True)

    def begun_afresh(self) -> Restraint:
        """Nothing of what was said before is in view any more: what held compactions back was about that."""
        return Restraint()


def is_automatic(warning: float) -> bool:
    """A warning level of 0 or less, or of 1 or more, turns automatic compaction off (FEATURES A1)."""
    return 0 < warning < 1


def ahead_margin(strategy: Strategy) -> float:
    """Of the limit: how far below its first level this strategy is asked after a reply."""
    return AHEAD_BELOW_WARNING if getattr(strategy, "begins_early", True) else 0.0


def before_request(meter: Meter, level: Level, restraint: Restraint, *, running: bool, automatic: bool) -> Gate:
    """``running``: a compaction of this agent is under way."""
    if meter.over and automatic:
        return Gate.JOIN if running else Gate.COMPACT
    if level is Level.OK or not automatic:
        return Gate.GO_ON
    if level is Level.WARNING:
        return Gate.GO_ON if running or restraint.paused or restraint.skipping else Gate.COMPACT
    if running:
        return Gate.JOIN
    return Gate.GO_ON if restraint.skipping else Gate.COMPACT


def after_reply(soon: Level, restraint: Restraint, *, automatic: bool) -> bool:
    """Whether to compact now that nobody waits. ``soon``: the level of a meter that shows a little more than it does
    (:func:`ahead_margin`)."""
    held = restraint.paused or restraint.skipping or restraint.cooldown > 0
    return automatic and not held and soon is not Level.OK
