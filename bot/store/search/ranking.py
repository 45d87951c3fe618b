"""How well an entry answers a query: BM25, with lengths compared to a fixed one. Pure.

A word tells the more, the fewer entries hold it; each further time that it stands in a text adds less than the one
before; and the longer a text is, the less each word in it says. Textbooks compare a text with the average of its
collection. In a conversation with a model, that is the model's long answers, which repeat every word of the subject:
measured by them, the short message that stated the fact ends below. So a text is compared with a message of a few
sentences, whatever else is said there, and no average has to be kept.
"""

from __future__ import annotations

import math

K1 = 1.2
"""How much a word's further times add."""
B = 0.9
"""How much length counts, from 0 to 1."""
PLAIN_LENGTH = 30
"""Words of a text whose length changes nothing."""
SHORT = 20
"""Shorter ones are all alike: of two short messages not the one with fewer words is better, but the newer."""
AS_WRITTEN = 0.2
"""What a word adds to its weight where it stands as it was asked for, and not only in another form."""


def rarity(entries: float, holding: float) -> float:
    """What a word tells that so many of these entries hold."""
    return math.log(1 + (entries - holding + 0.5) / (holding + 0.5))


def weight(telling: float, times: int, length: int) -> float:
    """Of a word of this rarity, in a text that has it so often and is so long."""
    longer = max(length, SHORT) / PLAIN_LENGTH
    return telling * times * (K1 + 1) / (times + K1 * (1 - B + B * longer))
