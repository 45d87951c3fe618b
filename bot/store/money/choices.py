"""Whose budget is meant, and what may be spent, as it is written in a chat and on the page. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.messages import AgentId
from bot.runtime.amounts import Amount, amount
from bot.store.money.budgets import Budget, Scope

_PERSON = re.compile(r"(?P<connector>[a-z]\w*):(?P<person>\S+)", re.IGNORECASE)
_ALL = {"day": Scope.DAY, "month": Scope.MONTH}
_NO_LIMIT = frozenset({"off", "none", "unlimited", "no"})
_AS_SET = frozenset({"default", "reset"})
_LONGEST = {"connector": 40, "subject": 120}


@dataclass(frozen=True)
class Choice:
    """``budget``: with what may be spent from now on; None: what holds for all (what the settings say) holds again."""

    whose: Budget
    budget: Budget | None


def whose_budget(word: str, here: AgentId | None = None) -> Budget | None:
    """``day`` and ``month`` are of all together, ``chat`` is the conversation ``here``, ``telegram:12345`` a person;
    None where it is none of these."""
    if scope := _ALL.get(word.lower()):
        return Budget(scope, None)
    if word.lower() == "chat":
        return Budget(Scope.CHAT, None, "", here) if here else None
    found = _PERSON.fullmatch(word)
    if found is None or len(found["connector"]) > _LONGEST["connector"] or len(found["person"]) > _LONGEST["subject"]:
        return None
    return Budget(Scope.PERSON, None, found["connector"].lower(), found["person"])


def choice(whose: Budget, written: str) -> Choice:
    """An amount, ``off`` for no limit, or ``default``. Raises ValueError with the end of a sentence that begins with
    what was written."""
    word = written.strip().lower()
    if word in _AS_SET:
        return Choice(whose, None)
    given: Amount | None = None if word in _NO_LIMIT else amount(written)
    return Choice(whose, Budget(whose.scope, given, whose.connector, whose.subject))
