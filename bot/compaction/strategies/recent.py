"""How much of the end of a page stays word for word: a number of messages, and a number of tokens. Pure.

Both bound it, and whichever is less counts, as long as nobody chose one of them. One that somebody chose counts alone:
who wants the last 50 messages gets them, and who wants 20,000 tokens of the latest talk (as the Codex CLI keeps, see
FEATURES E5) gets as many messages as that takes. Of two that were chosen, whichever is less counts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from bot.compaction.plan import Scale
from bot.estimate import Meter

MOST_SHARE = 0.5
"""Of what the head leaves of the limit: a number of tokens that somebody chose may take so much, or in a small window
nothing would be left to compact."""


class Preset(int):
    """A number of an option that nobody chose."""


class PresetShare(float):
    """A share of an option that nobody chose."""


RECENT_TOKENS = Preset(20_000)


@dataclass(frozen=True)
class Recent:
    """``tokens``: guessed tokens of entries that the end may take, None: as many as its number of messages takes;
    ``counted``: whether that number bounds it."""

    tokens: float | None
    counted: bool

    @classmethod
    def of(cls, number: float, tokens: int, scale: Scale, meter: Meter) -> Recent:
        """What two options come to: a number or a share, and tokens as the meter counts."""
        chose_number = not isinstance(number, Preset | PresetShare)
        if isinstance(tokens, Preset):
            room: float | None = None if chose_number else _guessed(tokens, scale)
            return cls(room, counted=True)
        most = min(tokens, MOST_SHARE * max(0, meter.limit - scale.head))
        return cls(_guessed(most, scale), counted=chose_number)

    def at_most(self, tokens: float) -> float:
        """These guessed tokens, or the bound if that is less, or if it alone counts."""
        if self.tokens is None:
            return tokens
        return min(tokens, self.tokens) if self.counted else self.tokens

    def number(self, most: int, sizes: Sequence[int]) -> int:
        """How many of the last stay, of things of which each takes so many guessed tokens, in reading order. The number
        itself where the tokens bound nothing, also if there are not so many."""
        if self.tokens is None:
            return most
        taken = accumulate(reversed(sizes))
        fitting = sum(1 for _ in takewhile(lambda tokens: tokens <= (self.tokens or 0), taken))
        if not self.counted:
            return fitting
        return most if fitting == len(sizes) else min(most, fitting)


def _guessed(tokens: float, scale: Scale) -> float:
    return tokens / scale.ratio if scale.ratio else tokens
