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


def label_of(sentence: str) -> FactKind:
    """What a sentence of a person is called; a statement, where nothing says otherwise."""
    text = sentence.casefold()
    if not asks(sentence) and _words(FactKind.CONSTRAINT).search(text):
        return FactKind.CONSTRAINT
    return FactKind.GOAL if _words(FactKind.GOAL).search(text) else FactKind.STATEMENT


def asks(text: str) -> bool:
    """Whether a text ends in a question, in whatever writing."""
    return text.rstrip(" \t\n\"'”’»)」*_").endswith(("?", "？", "؟", "՞"))


@cache
def _words(kind: FactKind) -> re.Pattern[str]:
    """The words of this kind in any of the languages; those without blanks between them stand anywhere."""
    lists = tomllib.loads((pkgutil.get_data(__package__, "labels.toml") or b"").decode())
    words, signs = list[str](), list[str]()
    for given in (" ".join(given.split()) for name in _LISTS[kind] for given in lists[name].values()):
        if ", " in given:
            words += given.replace("*", r"\w*").split(", ")
        else:
            signs += given.split()
    return re.compile(rf"\b(?:{'|'.join(words)})\b|{'|'.join(signs)}")
