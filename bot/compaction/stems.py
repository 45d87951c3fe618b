"""Words that are compared without their endings, in every language at once. Pure.

Nothing here knows in which language a text is: what people write to an assistant changes it from line to line, and a
library of stemmers would take longer to import than a page takes to compare. So a word is compared by its beginning,
and writing without blanks is compared by pairs of characters. Whoever compares chooses how much of a word that is:

- :func:`beginning` where a word stands among many: "price" and "prices" are one;
- :func:`beginning` with a letter more where it is looked for within a whole text, and not among its words.

The index of what was said (:mod:`bot.store.search.words`) has the real stemmers of a dozen languages beside the words
themselves: people look for "doors" and mean "door", and there a wrong ending is a line too many and no wrong fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

DENSE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Kana, ideographs and Hangul, for a class: they are compared by pairs."""

LETTERS = 5
"""Of a word, that are compared."""

_IS_DENSE = re.compile(rf"[{DENSE}]")


def beginning(word: str, letters: int = LETTERS) -> str:
    """The first letters of a word, whatever its ending."""
    return word[:letters]


def is_dense(text: str) -> bool:
    """Whether a text begins in writing that is compared by pairs."""
    return bool(_IS_DENSE.match(text))


def pairs(run: str) -> Iterator[str]:
    """Each character of a run with the next."""
    return map("".join, pairwise(run))
