"""Measuring an agent's context. Pure.

The recipe: what the provider reported of the last request on the same stack of layers, plus a guess of what came
since. Without such a point everything is guessed, and corrected by what the provider counted over our guesses before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bot.estimate import Family, Meter, Part, estimate_tokens, message_tokens
from bot.history import ASKED, Anchor, Entry, History
from bot.messages import Block, Role
from bot.meter import SYSTEM_PROMPT, TOOLS

_TRUSTED = (0.6, 3.0)
"""A provider that counts less or more than so many times our guess counts something else."""


def entry_tokens(role: Role, blocks: Sequence[Block], family: Family) -> int:
    """What an entry takes, guessed once, when it is written."""
    return math.ceil(message_tokens({"role": role, "content": list(blocks)}, family=family))


def head_parts(system: str, tools: Sequence[Mapping[str, Any]], model: str | None) -> tuple[Part, Part]:
    """What stands before the messages, as this model's tokenizer would count it."""
    prompt = estimate_tokens([], system=system, model=model)
    both = estimate_tokens([], system=system, tools=list(tools), model=model) if tools else prompt
    return Part(SYSTEM_PROMPT, prompt), Part(TOOLS, both - prompt)


def guess(head: Sequence[Part], visible: Sequence[Entry]) -> int:
    """The size of a request as we guess it, in tokens, uncorrected."""
    return sum(part.tokens for part in head) + sum(entry.tokens for entry in visible)


def calibration(anchor: Anchor) -> float:
    """What the provider counted over what we guessed, within reason."""
    low, high = _TRUSTED
    return min(high, max(low, anchor.usage.context / anchor.guessed)) if anchor.guessed else 1.0


def measure(history: History, head: Sequence[Part], *, limit: int, factor: float = 1.0) -> Meter:
    """The meter of a history: tokens of the next request, were it sent as it stands."""
    visible = history.visible
    summaries = sum(e.tokens for e in visible if e.layer is not None and e.kind not in ASKED)
    anchored = next((e for e in reversed(visible) if e.anchor and e.anchor.stack == history.stack), None)
    if anchored is None or anchored.anchor is None:
        talk = sum(entry.tokens for entry in visible) - summaries
        parts = (*head, Part("summary", summaries), Part("conversation", talk))
        return Meter.of([Part(part.name, round(part.tokens * factor)) for part in parts], limit=limit)
    known = [entry for entry in visible if entry.seq <= anchored.seq or entry.layer is not None]
    new = round(sum(e.tokens for e in visible if e.seq > anchored.seq and e.layer is None) * factor)
    reported = anchored.anchor.usage.context + anchored.anchor.usage.output
    talk = sum(entry.tokens for entry in known) - summaries
    base = Meter.anchored(reported, [*head, Part("summary", summaries), Part("conversation", talk)], limit=limit)
    parts_now = [part for part in base.parts if part.name != "new"]
    return Meter.of([*parts_now, Part("new", new)], limit=limit, source="usage")
