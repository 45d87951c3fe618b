"""How many tokens a text takes in one of the tokenizer families that are known, guessed from its characters.

A linear estimate: every character is charged by its class and those of its neighbours (:mod:`bot.estimate.rates`);
but no text takes fewer tokens than it has words, which counts where the same few are repeated. Looking up and adding up
is done for many texts at once, so that a megabyte takes milliseconds.

Pure: no I/O, no clock, no settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from bot.estimate.characters import ASCII_CLASSES, CLASSES, EDGE, classes
from bot.estimate.rates import KINDS, NEWER, OLDER, charges, codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Family(Enum):
    """A tokenizer family. Newer models need up to a third more tokens for the same English."""

    OLDER = "older"
    """Claude 3 to Claude 4.6, and what came before."""
    NEWER = "newer"
    """Claude 4.7 and later; also what is assumed of a model that is not known."""
    O200K = "o200k"
    """OpenAI's models since GPT-4o, and gpt-oss."""
    GEMINI = "gemini"
    """Gemini and Gemma."""
    LLAMA = "llama"
    """Llama 3 and 4. Grok is counted so as well, which is a guess: its tokenizer is not published."""
    QWEN = "qwen"
    MISTRAL = "mistral"
    """Those that cut by Tekken: Mistral Nemo and later."""
    DEEPSEEK = "deepseek"


_VERSION = re.compile(r"claude[-_ ]?(?:[a-z]+[-_ ])?v?(\d{1,2})(?!\d)(?:[-._](\d{1,2})(?!\d))?", re.IGNORECASE)
_LAST_OLDER = (4, 6)
_OTHERS = tuple(
    (re.compile(rf"(?<![a-z])(?:{names})", re.IGNORECASE), family)
    for names, family in (
        (r"(?:meta-?)?llama[-_ ]?[34](?!\d)|grok", Family.LLAMA),
        (r"qwen|qwq", Family.QWEN),
        (r"deepseek", Family.DEEPSEEK),
        (r"(?:[a-z]*gemini|[a-z]*gemma)", Family.GEMINI),
        (r"mistral(?![-:_]?7b)|ministral|magistral|codestral|devstral|pixtral", Family.MISTRAL),
        (r"(?:chat)?gpt-?(?:4o|4\.[1-9]|[5-9]|oss)|chatgpt|o[1-9](?![\da-z])", Family.O200K),
    )
)
"""The first that fits: a model that was made of another one's has the tokenizer of that one, as a rule."""

_NUMBER = b"000"
_ONE_TOKEN = b"011"
"""Three digits in a row, counted from a number's beginning."""

_PLAIN, _OTHER = 1, 2
_LETTERS = bytes(
    _PLAIN if chr(one).isascii() and chr(one).isalpha() else _OTHER * (one >= min(CLASSES.values()))
    for one in range(256)
)
"""Which classes are plain letters, and which may be others."""

_BATCH = 1 << 16
"""Characters that are counted at once: what they need fits a processor's cache."""


def family_of(model: str | None) -> Family:
    """The family of a model's name, with or without providers before it, as ``openrouter/meta-llama/llama-4-scout``;
    unknown names: Claude's newest.
    """
    found = _VERSION.search(model or "")
    if found is None:
        name = (model or "").rpartition("/")[2]
        return next((family for names, family in _OTHERS if names.search(name)), Family.NEWER)
    return Family.OLDER if (int(found[1]), int(found[2] or 0)) <= _LAST_OLDER else Family.NEWER


def text_tokens(text: str, *, family: Family) -> float:
    """The tokens of ``text`` alone, without the framing of a message. Not rounded, so that parts can be
    added.
    """
    if not text:
        return 0.0
    row = _row(f"\n{text}\n", plain=text.isascii())
    row[0] = row[-1] = EDGE
    return float(max(_charged(row, family).sum(dtype="float64"), _begun(row).sum()))


def texts_tokens(texts: Iterable[str], *, family: Family) -> dict[str, float]:
    """The tokens of each of these texts, as :func:`text_tokens` counts them, in one go."""
    found = {"": 0.0}
    waiting: dict[bool, list[str]] = {True: [], False: []}
    characters = {True: 0, False: 0}
    for text in texts:
        if not text:
            continue
        plain = text.isascii()
        waiting[plain].append(text)
        characters[plain] += len(text)
        if characters[plain] >= _BATCH:
            found.update(_counted(waiting[plain], family, plain=plain))
            waiting[plain], characters[plain] = [], 0
    for plain, rest in waiting.items():
        found.update(_counted(rest, family, plain=plain))
    return found


def _counted(texts: Sequence[str], family: Family, *, plain: bool) -> Iterable[tuple[str, float]]:
    """Each of these texts, none of them empty, with its tokens."""
    import numpy as np

    if not texts:
        return ()
    # Laid end to end with an edge around each, where no character is looked at together with another text's.
    row = _row("\n".join(("", *texts, "")), plain=plain)
    edges = np.cumsum([0, *(len(text) + 1 for text in texts)])
    row[edges] = EDGE
    tokens = np.add.reduceat(_charged(row, family), edges[:-1], dtype=np.float64)
    tokens = np.maximum(tokens, np.add.reduceat(_begun(row), edges[:-1], dtype=np.int64))
    return zip(texts, tokens.tolist(), strict=True)


def _row(text: str, *, plain: bool) -> NDArray[np.uint8]:
    """The class of every character; ``plain``: they are all ASCII."""
    import numpy as np

    if plain:
        found = text.encode().translate(ASCII_CLASSES)
    else:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        found = np.take(classes(), points, mode="clip").tobytes()
    return np.frombuffer(bytearray(found.replace(_NUMBER, _ONE_TOKEN)), np.uint8)


def _charged(row: NDArray[np.uint8], family: Family) -> NDArray[np.float32]:
    """The charge of every character but the first and the last, which are edges."""
    import numpy as np

    table = _charges(family)
    kinds = np.frombuffer(row.tobytes().translate(KINDS), np.uint8)
    charged = np.empty(len(row) - 2, np.float32)
    for start in range(0, len(charged), _BATCH):
        part = slice(start, start + _BATCH + 2)
        np.take(table, codes(row[part], kinds[part]), mode="clip", out=charged[start : start + _BATCH])
    return charged


def _begun(row: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a word of Latin letters begins, for every character but the first and the last. No tokenizer joins two."""
    import numpy as np

    kinds = np.frombuffer(row.tobytes().translate(_LETTERS), np.uint8)
    begun: NDArray[np.bool_] = (kinds[1:-1] == _PLAIN) & (kinds[:-2] == 0)
    return begun


@cache
def _charges(family: Family) -> NDArray[np.float32]:
    if family in {Family.OLDER, Family.NEWER}:
        return charges(OLDER if family is Family.OLDER else NEWER)
    from bot.estimate import other_rates

    return charges(getattr(other_rates, family.name))
