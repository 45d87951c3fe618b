"""Measuring an agent's context. Pure.

The recipe: what the provider reported of the last request on the same stack of layers, plus a guess of what came
since. Without such a point everything is guessed, and corrected by what the provider counted over our guesses before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from bot.estimate import Family, Meter, Part, estimate_tokens
from bot.estimate.meter import PINNED_RULES, SYSTEM_PROMPT, TOOLS
from bot.estimate.text import text_tokens
from bot.history.entries import Anchor, History

_TRUSTED = (0.6, 3.0)
"""A provider that counts less or more than so many times our guess counts something else."""


def head_parts(system: str, tools: Sequence[Mapping[str, Any]], model: str | None) -> tuple[Part, Part]:
    """What stands before the messages, as this model's tokenizer would count it."""
    prompt = estimate_tokens([], system=system, model=model)
    both = estimate_tokens([], system=system, tools=list(tools), model=model) if tools else prompt
    return Part(SYSTEM_PROMPT, prompt), Part(TOOLS, both - prompt)


@lru_cache(maxsize=256)
def standing_part(text: str, family: Family) -> Part:
    """What stands behind the system prompt."""
    return Part(PINNED_RULES, math.ceil(text_tokens(text, family=family)) if text else 0)


def guess(head: Sequence[Part], history: History) -> int:
    """The size of a request as we guess it, in tokens, uncorrected."""
    return sum(part.tokens for part in head) + history.tally.total


NEW = "new"
"""The part of a meter that was guessed since the provider reported."""


def calibration(anchor: Anchor) -> float:
    """What the provider counted over what we guessed, within reason."""
    return trusted(anchor.usage.context / anchor.guessed) if anchor.guessed else 1.0


def trusted(factor: float) -> float:
    """A correction within reason."""
    low, high = _TRUSTED
    return min(high, max(low, factor))


@dataclass(frozen=True)
class Counted:
    """What the provider counted, asked for it, of the page up to ``seq`` on this stack of layers."""

    tokens: int
    stack: tuple[int, ...]
    seq: int


def measure(
    history: History, head: Sequence[Part], *, limit: int, factor: float = 1.0, counted: Counted | None = None
) -> Meter:
    """The meter of a history: tokens of the next request, were it sent as it stands. Takes the same time for a long
    history as for a short one, once its page was read."""
    tally, known = history.tally, _known(history, counted)
    if known is None:
        parts = (*head, Part("summary", tally.inserted), Part("conversation", tally.total - tally.inserted))
        return Meter.of([Part(part.name, round(part.tokens * factor)) for part in parts], limit=limit)
    reported, since = known
    talk = tally.total - tally.inserted - since
    base = Meter.anchored(reported, [*head, Part("summary", tally.inserted), Part("conversation", talk)], limit=limit)
    return Meter.of([*base.parts, Part(NEW, round(since * factor))], limit=limit, source="usage")


def _known(history: History, counted: Counted | None) -> tuple[int, int] | None:
    """What the provider reported, and our guess of what came since."""
    tally = history.tally
    anchored = tally.anchored
    if counted and counted.stack == history.stack and counted.seq >= (anchored.seq if anchored else 0):
        newer = takewhile(lambda entry: entry.seq > counted.seq and entry.layer is None, reversed(history.visible))
        return counted.tokens, sum(entry.tokens for entry in newer)
    if anchored is None or anchored.anchor is None:
        return None
    return anchored.anchor.usage.with_answer, tally.since
