"""Words that are compared without their endings, in every language at once. Pure.

Nothing here knows in which language a text is: what people write to an assistant changes it from line to line, and a
library of stemmers would take longer to import than a page takes to compare. So a stem is the beginning of a word, and
writing without blanks is compared by pairs of characters. Whoever compares chooses how much of a word that is:

- :func:`stem` for the facts, where each sentence has few words: endings that are known go first, or "cost" and "costs"
  would be two things;
- :func:`beginning` for a summary, where a word stands among many: endings stay, or "price" and "prices" would be two;
- :func:`beginning` with a letter more where it is looked for within a whole text, and not among its words.

The index of what was said (:mod:`bot.store.search.words`) has the real stemmers of a dozen languages beside the words
themselves: people look for "doors" and mean "door", and there a wrong ending is a line too many and no wrong fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

DENSE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Kana, ideographs and Hangul, for a class: they are compared by pairs."""

LETTERS = 5
"""Of a word, that are compared."""

_IS_DENSE = re.compile(rf"[{DENSE}]")
_ENDING = re.compile(
    r"(?:ings?|ed|es|s|е?ние|ения|ами|ями|ого|его|ому|ему|ов|ев|ей|ах|ях|ам|ям|ой|ый|ий|ая|ое|ые|ую|[аяыиуюеоь])\Z"
)
_SHORTEST = 3
_KEPT = 8_192
"""Answers that are kept: a word is looked at several times."""


@lru_cache(maxsize=_KEPT)
def stem(word: str) -> str:
    """The first letters of a word without its ending: forms of one word mostly share them."""
    plain = word.casefold()
    short = _ENDING.sub("", plain)
    return beginning(short if len(short) >= _SHORTEST else plain)


def beginning(word: str, letters: int = LETTERS) -> str:
    """The first letters of a word, whatever its ending."""
    return word[:letters]


def is_dense(text: str) -> bool:
    """Whether a text begins in writing that is compared by pairs."""
    return bool(_IS_DENSE.match(text))


def pairs(run: str) -> Iterator[str]:
    """Each character of a run with the next."""
    return map("".join, pairwise(run))
