"""The conversations of this machine's terminal: which there are, in words, and what a session took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import TYPE_CHECKING

from bot.estimate.meter import percent
from bot.messages import Address

if TYPE_CHECKING:
    from bot.store import Database
    from bot.store.operators.terminal import Used

DEFAULT = "me"
"""The conversation of whoever names none."""
ONCE = "once-"
"""How conversations begin that were opened for one message."""
_MOST = 1_000
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_CENT = 0.01


@dataclass(frozen=True)
class Known:
    """One of them. ``last``: what was said last; ``at`` in seconds since 1970; ``full``: of its context, in words."""

    name: str
    last: str
    at: float
    full: str


def new_once() -> Address:
    """A conversation for one message."""
    return Address("terminal", f"{ONCE}{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(2)}")


async def listed(database: Database) -> Sequence[Known]:
    """The latest first."""
    from bot.store.operators import talk
    from bot.store.operators.terminal import last_exchange

    found: list[Known] = []
    async with database.read() as tx:
        for one in await talk.conversations(tx, "terminal", most=_MOST):
            last = await last_exchange(tx, one.address.agent_id)
            full = f"{one.meter.total:,} tokens ({percent(one.meter.share)})" if one.meter else ""
            found.append(Known(one.address.chat, last.said if last else "", one.touched_at, full))
    return found


def ago(at: float, now: float | None = None) -> str:
    """``3 hours ago``, ``yesterday``."""
    passed = (time.time() if now is None else now) - at
    for size, name in _UNITS:
        count = round(passed / size)
        if passed >= 0.95 * size:
            if name == "day" and count <= 1:
                return "yesterday"
            return f"{count} {name}s ago" if count > 1 else f"{'an' if name == 'hour' else 'a'} {name} ago"
    return "just now"


def left_behind(reminders: int, here: Address) -> str:
    """What becomes of so many reminders when this conversation is left; empty for none."""
    if not reminders:
        return ""
    one = reminders == 1
    count = "1 reminder is set: it comes" if one else f"{reminders} reminders are set: they come"
    back = "palimpsest chat" if here.chat == DEFAULT else f"palimpsest chat --agent {here.chat}"
    return f"{count} while this conversation is open here. What is due meanwhile comes with the next `{back}`."


def in_words(used: Used) -> str:
    """What a session took: ``3 answers · 12,345 tokens in (80% from the cache), 678 out · $0.04``; empty where nothing
    was asked. Without what models cost whose prices are not known."""
    from bot.history import Usage
    from bot.runtime.prices import cost

    total = sum(used.by_model.values(), Usage())
    if not used.answers or total == Usage():
        return ""
    cached = f" ({percent(total.cache_read / total.context)} from the cache)" if total.cache_read else ""
    answers = f"{used.answers} answer{'' if used.answers == 1 else 's'}"
    if used.messages > used.answers:  # several may be answered together
        answers += f" to {used.messages} messages"
    prices = [cost(model, usage) for model, usage in used.by_model.items()]
    known = [price for price in prices if price is not None]
    sent = f"{total.context:,} tokens in{cached}, " if total.context else ""  # the local model's are not counted
    parts = [answers, f"{sent}{total.output:,} {'out' if sent else 'tokens out'}"]
    if dollars := sum(known):
        shown = f"${dollars:.2f}" if dollars >= _CENT else "less than $0.01"
        parts.append(shown if len(known) == len(prices) else f"{shown}, without what has no known price")
    return f"This session: {' · '.join(parts)}"
