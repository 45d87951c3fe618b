"""What people read of money: that a budget is spent and when it goes on, and how it stands. Pure."""

from __future__ import annotations

from bot.runtime.amounts import in_words
from bot.runtime.zones import local_time
from bot.store.money.budgets import Scope, Standing

_WHOSE = {
    Scope.PERSON: "your budget for today",
    Scope.CHAT: "this chat's budget for today",
    Scope.DAY: "what all chats together may spend today",
    Scope.MONTH: "what all chats together may spend this month",
}


def refusal(full: Standing, now: float, zone: str) -> str:
    """Why there is no answer, and from when on there will be some."""
    whose = _WHOSE[full.budget.scope]
    if not full.is_used_up:
        return (
            f"Other answers are being written that may use up {whose} ({full.limit.in_words}), so I did not begin this "
            "one. Try again in a moment."
        )
    return (
        f"{whose[0].upper()}{whose[1:]} is used up ({full.limit.in_words}). I can answer again "
        f"{from_when(full, now, zone)}; commands and reminders work meanwhile."
    )


def reached(standing: Standing, percent: int, now: float, zone: str) -> str:
    """So much of a budget is spent."""
    whose = _WHOSE[standing.budget.scope]
    if standing.is_used_up:
        return f"⚠️ {refusal(standing, now, zone)}"
    return f"⚠️ {percent} % of {whose} is spent: {spent_of(standing)}. It begins anew {from_when(standing, now, zone)}."


def spent_of(standing: Standing) -> str:
    """``$1.60 of $2.00``."""
    return f"{in_words(standing.spent, standing.limit.unit)} of {standing.limit.in_words}"


def from_when(standing: Standing, now: float, zone: str) -> str:
    """When the next day or month begins, by the clock of this zone."""
    at, here = local_time(standing.budget.ends(now), zone), local_time(now, zone)
    if standing.budget.scope is Scope.MONTH:
        day = f"on {at.day} {at:%B} "
    else:
        day = "" if at.date() == here.date() else "tomorrow "
    return f"{day}at {at:%H:%M} ({zone})"
