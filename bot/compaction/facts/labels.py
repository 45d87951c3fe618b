"""What a person's sentence is called where people read it: a rule or a decision, a goal. Pure.

The words are data of the package (``labels.toml``), loaded once, when the first sentence is looked at. They decide
nothing about what stays. A question is no rule.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from functools import cache

from bot.compaction.facts.fact import FactKind

_LISTS = {FactKind.CONSTRAINT: ("rules", "decisions"), FactKind.GOAL: ("goals",)}
_ASKS = ("?", "？", "؟", "՞")


def label_of(sentence: str) -> FactKind:
    """What a sentence of a person is called; a statement, where nothing says otherwise."""
    text, asks = sentence.casefold(), sentence.rstrip("\"'”’»)」 ").endswith(_ASKS)
    if not asks and _any(FactKind.CONSTRAINT).search(text):
        return FactKind.CONSTRAINT
    return FactKind.GOAL if _any(FactKind.GOAL).search(text) else FactKind.STATEMENT


@cache
def _any(kind: FactKind) -> re.Pattern[str]:
    """The words of this kind in any of the languages."""
    lists = tomllib.loads((pkgutil.get_data(__package__, "labels.toml") or b"").decode())
    return re.compile("|".join(_pattern(words) for name in _LISTS[kind] for words in lists[name].values()))


def _pattern(words: str) -> str:
    plain = " ".join(words.split())
    apart = ", " if ", " in plain else " "
    by_letter: dict[str, list[str]] = {}
    for part in (part.strip().replace("*", r"\w*") for part in plain.split(apart)):
        first = part[0] if part[0].isalpha() and part[1:2] not in ("?", "{") else ""
        by_letter.setdefault(first, []).append(part.removeprefix(first))
    either = "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in by_letter.items())  # a letter is tried once
    return rf"\b(?:{either})\b" if apart == ", " else f"(?:{either})"
