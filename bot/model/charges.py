"""What a try of a request comes to in the ledger: the provider's figures, and what is missing in them by what was sent
and received.
"""

from __future__ import annotations

import math
from dataclasses import replace

from bot.estimate import family_of, text_tokens
from bot.history import Usage
from bot.model.base import Attempt
from bot.store.money.ledger import ESTIMATED, SETTLED, Charge


def charge_of(spent: Attempt, asked: Charge, *, prompt: int) -> Charge:
    """``asked``: by whom, for what; ``prompt``: tokens of what was sent, by our own meter."""
    charge = replace(asked, model=spent.model, provider=spent.provider, request=spent.request)
    usage = spent.usage
    if spent.is_whole and (usage.context or usage.output):
        return replace(charge, usage=usage, state=SETTLED).priced(spent.nano)
    if not usage.context:
        usage = replace(usage, input=prompt)
    if not spent.is_whole or not usage.output:
        received = math.ceil(text_tokens(spent.received, family=family_of(spent.model))) if spent.received else 0
        usage = replace(usage, output=max(usage.output, received))
    return replace(charge, usage=usage, state=ESTIMATED).priced(spent.nano)


def reservation(asked: Charge, *, prompt: int, answer: int) -> Charge:
    """What a request may cost at most, by our own meter: all of what is sent as new, all of the answer that it may
    give."""
    return replace(asked, usage=Usage(input=prompt, output=answer)).priced()
