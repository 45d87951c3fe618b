"""What a try of a request comes to in the ledger: the provider's figures, and what is missing in them by what was sent
and received.
"""

from __future__ import annotations

import math
from dataclasses import replace

from bot.estimate import family_of, text_tokens
from bot.history import Usage
from bot.model.base import Attempt
from bot.model.cache_marks import seconds_of
from bot.store.money.ledger import ESTIMATED, SETTLED, Charge

_MINUTES, _HOUR = seconds_of("5m"), seconds_of("1h")


def charge_of(spent: Attempt, asked: Charge, *, prompt: Usage) -> Charge:
    """``asked``: by whom, for what; ``prompt``: what was sent, by our own meter and as it is expected to be charged."""
    charge = replace(asked, model=spent.model, provider=spent.provider, request=spent.request)
    usage = spent.usage
    if spent.is_whole and (usage.context or usage.output):
        return replace(charge, usage=usage, state=SETTLED).priced(spent.nano)
    if not usage.context:
        usage = replace(prompt, output=usage.output, searches=usage.searches, fetches=usage.fetches)
    if not spent.is_whole or not usage.output:
        received = math.ceil(text_tokens(spent.received, family=family_of(spent.model))) if spent.received else 0
        usage = replace(usage, output=max(usage.output, received))
    return replace(charge, usage=usage, state=ESTIMATED).priced(spent.nano)


def reservation(asked: Charge, *, prompt: Usage, answer: int) -> Charge:
    """What a request may cost at most: all of what is sent as new, all of the answer that it may give. ``prompt``: how
    it is expected to be charged, which counts where nobody hears of it any more."""
    most = replace(asked, usage=Usage(input=prompt.context, output=answer)).priced()
    return replace(most, usage=replace(prompt, output=answer))


def expected(prompt: int, last: Charge | None, asked: Charge, *, kept: int | None = None) -> Usage:
    """How a prompt of so many tokens is likely to be charged, by the ``last`` request to this model: as far as
    the cache keeps what that one held, or only the first ``kept`` tokens where what follows is another page."""
    if last is None or not (last.usage.cache_read or last.usage.cache_creation):
        return Usage(input=prompt)
    told = last.usage
    alive = asked.at - last.at < (_HOUR if told.hourly else _MINUTES)
    read = min(prompt, told.context if kept is None else kept) if alive else 0
    if told.input and not told.cache_creation:  # nobody marks anything there
        return Usage(input=prompt - read, cache_read=read)
    return Usage(cache_read=read, cache_creation=prompt - read, hourly=prompt - read if told.hourly else 0)
