"""What a person's sentence is called where people read it: a rule or a decision, a goal. Pure.

The words are data of the package (``labels.toml``), loaded once, when the first sentence is looked at. They decide
nothing about what stays. A question is no rule.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterable
from functools import cache

from bot.compaction.facts.fact import FactKind

_LISTS = {FactKind.CONSTRAINT: ("rules", "decisions"), FactKind.GOAL: ("goals",)}
_ASKS = ("?", "？", "؟", "՞")


def label_of(sentence: str) -> FactKind:
    """What a sentence of a person is called; a statement, where nothing says otherwise."""
    text, asks = sentence.casefold(), sentence.rstrip("\"'”’»)」 ").endswith(_ASKS)
    if not asks and _holds(text, FactKind.CONSTRAINT):
        return FactKind.CONSTRAINT
    return FactKind.GOAL if _holds(text, FactKind.GOAL) else FactKind.STATEMENT


def _holds(text: str, kind: FactKind) -> bool:
    words, signs = _any(kind)
    return bool(words.search(text) or (not text.isascii() and signs.search(text)))


@cache
def _any(kind: FactKind) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The words of this kind in any of the languages; and those that are written without blanks."""
    lists = tomllib.loads((pkgutil.get_data(__package__, "labels.toml") or b"").decode())
    words, signs = list[str](), list[str]()
    for name in _LISTS[kind]:
        for plain in (" ".join(given.split()) for given in lists[name].values()):
            if ", " in plain:
                words += plain.split(", ")
            else:
                signs += plain.split(" ")
    return re.compile(rf"\b(?:{_either(words)})\b"), re.compile(_either(signs))


def _either(parts: Iterable[str]) -> str:
    """Any of these; a letter that several begin with is tried once."""
    by_letter: dict[str, list[str]] = {}
    for part in (part.strip().replace("*", r"\w*") for part in parts):
        first = part[0] if part[0].isalpha() and part[1:2] not in ("?", "{") else ""
        by_letter.setdefault(first, []).append(part.removeprefix(first))
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in by_letter.items())
