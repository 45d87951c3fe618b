"""A summary without a model: sentences of what was said, word for word. Pure.

It stands in for the model that writes summaries, so that the bench can be run by anybody and says the same each time.
It knows nothing of what is asked for later, and is worse at it than a model: what strategies with a summary keep here
is a lower bound, and owed to the exact details that a plan lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.estimate import Family, text_tokens
from bot.messages import Message, text_of

SUMMARY_SHARE = 0.2
"""Of the limit: what the program lets a summary take."""
_OPENING_SHARE = 1 / 3
"""Of the room: for how it began; the rest is for how it stands."""
_LONGEST = 240
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")


def extract(messages: Sequence[Message], room: float) -> str:
    """The first sentence of each text from the beginning, and from the end on backwards, in so many tokens.

    At least one sentence, so that there is a summary where anything was said.
    """
    firsts = [line for message in messages if (line := _first(message))]
    if not firsts:
        return "Tools were called; nobody said anything."
    opening = _within(firsts, room * _OPENING_SHARE)
    rest = firsts[max(1, len(opening)) :]
    latest = _within(reversed(rest), room - sum(map(_tokens, opening)))
    return "\n".join([*(opening or firsts[:1]), *reversed(latest)])


def _first(message: Message) -> str:
    sentences = (sentence.strip() for sentence in _END.split(text_of(message["content"])))
    sentence = next((sentence for sentence in sentences if sentence), "")
    who = "User" if message["role"] == "user" else "Assistant"
    return f"{who}: {sentence[:_LONGEST]}" if sentence else ""


def _within(lines: Iterable[str], room: float) -> list[str]:
    taken: list[str] = []
    for line in lines:
        room -= _tokens(line)
        if room < 0:
            break
        taken.append(line)
    return taken


def _tokens(line: str) -> float:
    return text_tokens(line, family=Family.NEWER) + 1
