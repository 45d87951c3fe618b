"""How near entries of a history are to a question: in meaning by their embeddings, in words where there are none.

Pure and deterministic (FEATURES T3). Free of numpy, which would take longer to import than a page takes to compare.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from bot.compaction.stems import DENSE, beginning, is_dense, pairs
from bot.history import Entry
from bot.messages import text_of

LONGEST_TEXT = 1_000
"""Characters of an entry that are compared: most of them from its beginning, some from its end."""

_TAIL = 250
_MOST_TERMS = 24
_LETTERS = 6
"""Of a word, that are looked for: its forms differ at the end."""
_SHORTEST_WORD = 3

_WORD = re.compile(rf"[{DENSE}]+|[^\W_{DENSE}]+")


def comparable_text(entry: Entry) -> str:
    """What of an entry is compared: its words, its tool calls, its results; at most ``LONGEST_TEXT`` characters.

    Empty for an entry that holds nothing but pictures or thinking.
    """
    pieces: list[str] = []
    for block in entry.blocks:
        match block.get("type"):
            case "text":
                pieces.append(block["text"])
            case "tool_use":
                pieces.append(f"{block['name']} {json.dumps(block.get('input') or {}, ensure_ascii=False)}")
            case "tool_result":
                pieces.append(text_of(block.get("content") or ""))
    text = "\n".join(pieces).strip()
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - _TAIL]}\n{text[1 - _TAIL :]}"


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """From -1 to 1; 0 where one of them has no length or holds what is no finite number.

    Raises ``ValueError`` for vectors of different dimensions.
    """
    # |a - b|² = |a|² + |b|² - 2ab: both norms are computed in C, twice as fast as a product summed in Python.
    distance, length, other_length = math.dist(one, other), math.hypot(*one), math.hypot(*other)
    if not math.isfinite(distance) or not length * other_length:
        return 0.0
    product = (length * length + other_length * other_length - distance * distance) / 2
    return max(-1.0, min(1.0, product / (length * other_length)))


def _has_direction(vector: Sequence[float]) -> bool:
    """Whether an angle to it can be told: it has a length, and holds only finite numbers."""
    length = math.hypot(*vector)
    return bool(length) and math.isfinite(length)


def lexical(question: str, texts: Sequence[str]) -> list[float]:
    """For each text the share of the question's words that stand in it, from 0 to 1. Rare words count for more.

    Words are compared by their beginnings, Chinese and the like by pairs of characters.
    """
    terms = _terms(question)
    plain = [text.casefold() for text in texts]
    scores = [0.0] * len(texts)
    whole = 0.0
    for term in terms:
        hits = [at for at, text in enumerate(plain) if term in text]
        weight = math.log(1 + len(texts) / (1 + len(hits)))
        whole += weight
        for at in hits:
            scores[at] += weight
    return [score / whole if whole else 0.0 for score in scores]


def relevance(question: Entry, entries: Sequence[Entry], vectors: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """By seq, how near each entry is to the question; more is nearer.

    By cosine where both have a vector. An entry without one stands where its words would put it among the others;
    without a vector of the question, only words count. Vectors of other dimensions, or with NaN, count as missing.
    """
    near = _by_vectors(question, entries, vectors)
    missing = [entry for entry in entries if entry.seq not in near]
    texts = {entry.seq: comparable_text(entry) for entry in missing}
    if not any(texts.values()):
        worst = min(near.values(), default=0.0)
        return {**near, **dict.fromkeys(texts, worst)}
    texts |= {entry.seq: comparable_text(entry) for entry in entries if entry.seq in near}
    words = dict(zip(texts, lexical(comparable_text(question), list(texts.values())), strict=True))
    if not near:
        return words
    ladder, rungs = sorted(words[seq] for seq in near), sorted(near.values())
    for entry in missing:
        score = words[entry.seq]
        at = (bisect_left(ladder, score) + bisect_right(ladder, score)) // 2
        near[entry.seq] = rungs[min(at, len(rungs) - 1)]
    return near


def _by_vectors(question: Entry, entries: Sequence[Entry], vectors: Mapping[int, Sequence[float]]) -> dict[int, float]:
    asked = vectors.get(question.seq, ())
    if not _has_direction(asked):
        return {}
    known = ((entry.seq, vectors[entry.seq]) for entry in entries if entry.seq in vectors)
    return {seq: cosine(asked, vector) for seq, vector in known if len(vector) == len(asked) and _has_direction(vector)}


def _terms(question: str) -> list[str]:
    """The longest words as they begin, and pairs of ideographs; single characters where there is nothing else."""
    found: dict[str, None] = {}
    short: dict[str, None] = {}
    for word in _WORD.findall(question.casefold()):
        if is_dense(word) and len(word) > 1:
            found.update(dict.fromkeys(pairs(word)))
        elif len(word) >= _SHORTEST_WORD or word.isdigit():
            found[beginning(word, _LETTERS)] = None
        else:
            short[word] = None
    signs = dict.fromkeys(sign for sign in question if not sign.isspace())
    terms = list(found or short or signs)
    return sorted(terms, key=len, reverse=True)[:_MOST_TERMS]
