"""What people read of money: that a budget is spent and when it goes on, and how it stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.agent.money.saved import Saved
from bot.runtime.amounts import in_words
from bot.runtime.zones import local_time
from bot.store.money.budgets import Budget, Scope, Standing
from bot.store.money.spending import Total

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


def saving(standing: Standing, called: str, now: float, zone: str) -> str:
    """Why another model answers than usual."""
    whose, when = _WHOSE[standing.budget.scope], from_when(standing, now, zone)
    return f"{called} answers now, since most of {whose} is spent: {spent_of(standing)}. It begins anew {when}."


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


@dataclass(frozen=True)
class Spent:
    """Of somebody, today and in this month."""

    today: Total
    month: Total


BUDGET_FORMS = (
    "/budget chat 3 lets this chat spend $3.00 in a day, /budget telegram:12345 200k tokens a person so many tokens, "
    "/budget day 20 and /budget month 300 all together; off in place of an amount: without a limit, default: as the "
    "settings say."
)
NOT_YOURS = "Only those who run me choose budgets. /budget alone shows what is left."
NOBODY_STOPS_YOU = "Whoever runs me is not stopped by any of these; what they spend counts."


def spent_line(who: str, spent: Spent) -> str:
    """``You: $0.12 today, $3.40 this month (120,000 tokens)``."""
    return f"{who}: {money_of(spent.today)} today, {money_of(spent.month)} this month"


def money_of(total: Total) -> str:
    """What some requests came to. Where no price is known, or there were none, in tokens; where only some are, with
    those beside it."""
    tokens = in_words(total.tokens, "tokens")
    if not total.cost and (total.unpriced or not total.tokens):
        return tokens
    about = "about " if total.estimated else ""
    without = f", {total.unpriced} of {total.requests} requests without a known price" if total.unpriced else ""
    return f"{about}{in_words(total.cost)} ({tokens}{without})"


def left_line(standing: Standing, now: float, zone: str) -> str:
    """How a budget stands."""
    whose = _WHOSE[standing.budget.scope]
    if standing.is_used_up:
        return f"{whose[0].upper()}{whose[1:]} is used up ({spent_of(standing)}); it begins anew " + from_when(
            standing, now, zone
        )
    left = in_words(standing.left, standing.limit.unit)
    return f"{whose[0].upper()}{whose[1:]}: {left} left of {standing.limit.in_words}"


def saved_line(saved: Saved) -> str:
    """What compactions of this chat saved."""
    tokens = in_words(saved.tokens, "tokens")
    if saved.cost <= 0:
        return f"Compacting kept {tokens} out of requests here this month (estimate)"
    return f"Compacting saved about {in_words(saved.cost)} here this month (estimate: {tokens} not sent again)"


def top_line(what: str, totals: Mapping[str, Total]) -> str:
    """Those that spent most."""
    listed = ", ".join(f"{name or 'others'} {money_of(total)}" for name, total in totals.items())
    return f"Most this month, {what}: {listed or 'nobody'}"


def chosen(whose: Budget, now: Budget | None) -> str:
    """What was just chosen; None: what the settings say holds again."""
    return f"{_named(whose)}: {how_much(now) if now else 'as the settings say'}."


def how_much(one: Budget) -> str:
    """What may be spent by one budget: ``$3.00 in a day``."""
    if one.amount is None:
        return "without a limit"
    return f"{one.amount.in_words} in a {'month' if one.scope is Scope.MONTH else 'day'}"


def chosen_line(one: Budget) -> str:
    """What somebody chose before."""
    return f"{_named(one)}: {how_much(one)}"


def _named(whose: Budget) -> str:
    if whose.scope in (Scope.DAY, Scope.MONTH):
        return "The budget of all together"
    if whose.scope is Scope.CHAT:
        return f"The budget of {whose.subject}"
    return f"The budget of {whose.connector}:{whose.subject}"
