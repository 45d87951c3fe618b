"""How much of a text may stand in a result. Pure."""

from __future__ import annotations

from bot.estimate.cuts import cut_after, cut_before
from bot.estimate.text import Family, text_tokens

MOST_TOKENS = 4_000
"""Of one result, unless a small window allows less."""

_HEAD = 2 / 3
"""Of what is shown of a long text: its beginning; the rest is its end, where programs say what came of it."""
_CAREFUL = 0.97


def tokens_of(text: str) -> int:
    """Guessed by the tokenizers that count more."""
    return round(text_tokens(text, family=Family.NEWER))


def fitting(text: str, tokens: int) -> int:
    """How many characters from its beginning take at most so many tokens; at least one. No value is cut."""
    length = _longest_of(text, tokens)
    return cut_before(text, length) or length


def _longest_of(text: str, tokens: int, *, from_end: bool = False) -> int:
    length = min(len(text), max(1, tokens * _MOST_CHARACTERS_A_TOKEN))
    while length > 1 and (taken := tokens_of(text[-length:] if from_end else text[:length])) > tokens:
        length = max(1, int(length * tokens / taken * _CAREFUL))
    return length


def head_and_tail(text: str, tokens: int) -> tuple[str, str]:
    """The beginning and the end of a text that together take at most so many tokens."""
    head = text[: fitting(text, int(tokens * _HEAD))]
    rest = text[len(head) :]
    backwards = _longest_of(rest, tokens - int(tokens * _HEAD), from_end=True) if rest else 0
    return head, rest[cut_after(rest, len(rest) - backwards) :] or rest[len(rest) - backwards :]


_MOST_CHARACTERS_A_TOKEN = 8
"""Blanks and repeated letters apart, no text has more; it bounds how much is counted."""
