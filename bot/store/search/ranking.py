"""How well an entry answers a query: BM25, with lengths compared to a fixed one. Pure.

A word tells the more, the fewer entries hold it; each further time that it stands in a text adds less than the one
before; and the longer a text is, the less each word in it says. Textbooks compare a text with the average of its
collection. In a conversation with a model, that is the model's long answers, which repeat every word of the subject:
measured by them, the short message that stated the fact ends below. So a text is compared with a message of a few
sentences, whatever else is said there, and no average has to be kept.

Two orders are added up. One is of words without their endings, and of telling ones only: it finds what was said in
other forms. The other is of all words as they were asked for, among the texts that the first one found: "where did I
say that I met Laura" is answered by what has "I" and "met" in it, and not by whatever speaks of Laura.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

K1 = 1.2
"""How much a word's further times add."""
B = 0.9
"""How much length counts, from 0 to 1."""
PLAIN_LENGTH = 30
"""Words of a text whose length changes nothing."""
SHORT = 20
"""Shorter ones are all alike: of two short messages not the one with fewer words is better, but the newer."""
AS_WRITTEN = 0.5
"""What the order of the words as they were asked for counts, beside that of the words without their endings."""


def rarity(entries: float, holding: float) -> float:
    """What a word tells that so many of these entries hold."""
    return math.log(1 + (entries - holding + 0.5) / (holding + 0.5))


def weight(telling: float, times: int, length: int) -> float:
    """Of a word of this rarity, in a text that has it so often and is so long."""
    longer = max(length, SHORT) / PLAIN_LENGTH
    return telling * times * (K1 + 1) / (times + K1 * (1 - B + B * longer))


def as_written(times: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[float]:
    """Of each of these texts, what the words of a query weigh that stand in it so often as they were asked for. How
    rare a word is, these texts tell: what nearly all of them have does not tell them apart."""
    holding = [sum(map(bool, of_word)) for of_word in zip(*times, strict=True)]
    telling = [rarity(len(times), count) for count in holding]
    return [
        AS_WRITTEN * sum(weight(tells, count, length) for tells, count in zip(telling, own, strict=True) if count)
        for own, length in zip(times, lengths, strict=True)
    ]
