"""Plain talk of people with questions about it: whether what answers them is still there. Pure but for reading files.

A question counts where the words of its answer, but for those of the question, stand in the messages that are named
as its evidence; it is kept where one line of the request has as large a share of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.messages import Message, text_of
from tests.bench.yardstick.planted import Score
from tests.bench.yardstick.reading import request_text

_SHARE = 0.6
_STEM = 5
_WORD = re.compile(r"[^\W_]+(?:[.,:]\d+)*")


@dataclass(frozen=True)
class Question:
    """A question, its answer, and the messages that say it."""

    question: str
    answer: str
    evidence: Sequence[int]


@dataclass(frozen=True)
class Chat:
    """A conversation without tools."""

    messages: list[Message]
    questions: Sequence[Question]


def read(path: Path) -> list[Chat]:
    """The chats of a file. Raises ``ValueError`` for a line that is none."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        try:
            chat = json.loads(line)
            messages = [Message(role=item["role"], content=item["content"]) for item in chat["messages"]]
            asked = [Question(each["question"], each["answer"], each["evidence"]) for each in chat["questions"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"Line {number} of {path} is no object with messages and questions.") from error
        found.append(Chat(messages, asked))
    return found


def answerable(chat: Chat) -> list[frozenset[str]]:
    """For each question that counts, the words that answer it."""
    found = []
    for each in chat.questions:
        wanted = words(each.answer) - words(each.question)
        said = words(" ".join(text_of(chat.messages[at]["content"]) for at in each.evidence))
        if wanted and len(wanted & said) >= _SHARE * len(wanted):
            found.append(wanted & said)
    return found


def kept(wanted: Sequence[frozenset[str]], request: Sequence[Message]) -> Score:
    """Of these, those that one line of the request has."""
    lines = [words(line) for line in request_text(request).splitlines()]
    return Score(sum(any(len(each & line) >= _SHARE * len(each) for line in lines) for each in wanted), len(wanted))


def words(text: str) -> frozenset[str]:
    """Stems of words of four letters or more, and whatever has a digit."""
    found = _WORD.findall(text.casefold())
    return frozenset(word[:_STEM] if word.isalpha() else word for word in found if len(word) > 3 or not word.isalpha())
