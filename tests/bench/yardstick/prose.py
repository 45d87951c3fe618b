"""What people lay down in plain sentences, in the middle of talk about other things, in many languages. Pure but for
reading prose.toml.

The talk is about paragraphs that somebody wrote: the person asks about one and is told it, or hands it over. Between
that they say what must hold (``constraints``), and what holds instead of what they said before (``updates``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bot.messages import Message, text_block
from tests.bench.yardstick.planted import Score

PROSE: Mapping[str, Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("prose.toml").read_text(encoding="utf-8")
)
"""By language and set of wordings."""
_TURNS = 30
_PASTED = 0.5
_LEAST = 0.6
"""What is cut must still be this share of a sentence, from its beginning on."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph and questions about it."""

    text: str
    questions: Sequence[str]


@dataclass(frozen=True)
class Prose:
    """A conversation, and what was laid down in it. ``updates``: what was said first, and what holds."""

    messages: list[Message]
    constraints: Sequence[str]
    updates: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ProseVerdict:
    """What a request makes of it: constraints and updates that stand (high), and old sentences as current (low)."""

    constraints: Score
    updates: Score
    stale: Score


def talk(language: str, wordings: str, texts: Sequence[Paragraph], seed: int, *, turns: int = _TURNS) -> Prose:
    """A conversation with everything of this set in it. The same arguments give the same conversation."""
    words = PROSE[language][wordings]
    dice = Random(f"{seed} {language} {wordings}")
    updates = [(old, new) for old, new in words["updates"]]
    said: dict[int, str] = {}
    for text, among in [
        *((old, range(turns // 3)) for old, _ in updates),
        *((new, range(turns // 3, turns * 2 // 3)) for _, new in updates),
        *((text, range(turns * 2 // 3)) for text in words["constraints"]),
    ]:
        said[dice.choice([turn for turn in among if turn not in said])] = text
    messages: list[Message] = []
    for turn, paragraph in enumerate(dice.sample(list(texts), turns)):
        request, answer = _turn(words, paragraph, dice)
        if turn in said:
            request, answer = _with(said[turn], request, answer, dice.choice(words["told"]), dice)
        messages += [_message("user", request), _message("assistant", answer)]
    return Prose(messages, words["constraints"], updates)


def judged(prose: Prose, text: str) -> ProseVerdict:
    """The text of a request, held against what was laid down."""
    flat = _flat(text)
    stale = [_flat(old) in flat and not _follows(old, new, flat) for old, new in prose.updates]
    return ProseVerdict(
        Score(sum(stands(sentence, flat) for sentence in prose.constraints), len(prose.constraints)),
        Score(sum(stands(new, flat) for _, new in prose.updates), len(prose.updates)),
        Score(sum(stale), len(stale)),
    )


def stands(sentence: str, text: str) -> bool:
    """Whether it is there word for word, or the larger part of its beginning is."""
    return _beginning(sentence) in _flat(text)


def _beginning(sentence: str) -> str:
    flat = _flat(sentence)
    return flat[: max(1, round(_LEAST * len(flat)))]


def _follows(old: str, new: str, flat: str) -> bool:
    return _beginning(new) in flat[flat.rfind(_flat(old)) :]


def _turn(words: Mapping[str, Any], paragraph: Paragraph, dice: Random) -> tuple[str, str]:
    if dice.random() < _PASTED:
        return f"{dice.choice(words['paste'])}\n{paragraph.text}".strip(), dice.choice(words["told"])
    return dice.choice(paragraph.questions), paragraph.text


def _with(said: str, request: str, answer: str, told: str, dice: Random) -> tuple[str, str]:
    """Said alone, before or after what is asked anyway."""
    match dice.randrange(3):
        case 0:
            return said, told
        case 1:
            return f"{said} {request}", answer
        case _:
            return f"{request}\n{said}", answer


def _message(role: Any, text: str) -> Message:
    return Message(role=role, content=[text_block(text)])


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)
