"""What was planted in a generated conversation: what of it a compacted request holds, and what it gets wrong. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from bot.messages import Message
from tests.bench.yardstick.reading import occurs, places, request_text

MOST_WORDS = 0.6
"""A sentence is kept when this share of its significant words stands near its value."""
NEARLY_ALL_WORDS = 0.9
"""Likewise, where it has to be the sentence itself: a bare new value does not say that it replaces another."""
_REACH = 160
"""Characters on each side of a value in which its sentence is looked for."""
_NEAR = 80
"""Characters on each side of a value in which a mark counts, within its sentence."""
_STEM = 5
_SHORTEST = 4

_PAST = r"""\b(?:was|were|formerly|previous(?:ly)?|old|earlier|instead\ of|rather\ than|changed|stale)\b|->|→|⇒
    |\b(?:был[аои]?|раньше|прежн\w+|стар(?:ый|ая|ое|ого)|вместо)\b|原来|之前|以前|旧|改为|改成"""
_GONE = r"""\b(?:replace[sd]?|no\ longer|not\ any\ ?more|supersede[sd]?|cancel(?:s|l?ed)?|drop(?:ped)?|obsolete|outdated
    |withdrawn|forget|called\ off|never\ mind)\b|~~
    |\b(?:замен[её]н\w*|больше\ не|отмен\w+|устарел\w*|не\ нужн\w+|забудь)\b|不再|取消|替换|作废|不用"""
_IS_GONE = re.compile(_GONE, re.VERBOSE | re.IGNORECASE)
"""Words by which a reader knows that what stands beside them holds no more."""
_IS_PAST = re.compile(f"{_PAST}|{_GONE}", re.VERBOSE | re.IGNORECASE)
"""Words that are enough for a value, but do not say of a task that nobody wants it any more."""
_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s")
_SENTENCE = re.compile(r"[^\n。！？]*?(?:[.!?…](?=\s)|[。！？\n]|\Z)", re.DOTALL)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+")


class PlantKind(StrEnum):
    """What somebody will rely on later."""

    FACT = "fact"
    RULE = "rule"
    DECISION = "decision"
    TASK = "task"
    """Asked for and then cancelled."""


@dataclass(frozen=True)
class Plant:
    """Something planted. ``sentence`` says what holds at the end, in the words in which it was said last."""

    kind: PlantKind
    value: str
    """What holds at the end; of a cancelled task, what it was about."""
    sentence: str
    replaced: str = ""
    """The value before, of a fact that was updated."""


@dataclass(frozen=True)
class Score:
    """How many there were, and how many of those were."""

    hits: int = 0
    of: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.hits + other.hits, self.of + other.of)

    @property
    def share(self) -> float | None:
        """None where nothing was counted."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True)
class Verdict:
    """What a request makes of what was planted: the first two are to be high, the others low."""

    facts: Score = Score()
    rules: Score = Score()
    """Rules and decisions."""
    stale: Score = Score()
    """Replaced values shown as current."""
    revived: Score = Score()
    """Cancelled tasks shown as open."""

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            self.facts + other.facts,
            self.rules + other.rules,
            self.stale + other.stale,
            self.revived + other.revived,
        )


def judged(plants: Sequence[Plant], request: Sequence[Message]) -> Verdict:
    """This request, held against what was planted."""
    text = request_text(request)
    facts = [plant for plant in plants if plant.kind is PlantKind.FACT]
    rules = [plant for plant in plants if plant.kind in (PlantKind.RULE, PlantKind.DECISION)]
    updated = [plant for plant in facts if plant.replaced]
    tasks = [plant for plant in plants if plant.kind is PlantKind.TASK]
    return Verdict(
        Score(sum(occurs(plant.value, text) for plant in facts), len(facts)),
        Score(sum(is_said(plant, text) for plant in rules), len(rules)),
        Score(sum(is_shown_as_current(plant.replaced, plant, text) for plant in updated), len(updated)),
        Score(sum(is_shown_as_current(plant.value, plant, text) for plant in tasks), len(tasks)),
    )


def lost(plants: Sequence[Plant]) -> Verdict:
    """Where there is no request: nothing is kept, and nothing is shown."""
    return replace(judged(plants, []), stale=Score(), revived=Score())


def is_said(plant: Plant, text: str, share: float = MOST_WORDS) -> bool:
    """Whether the value stands in the text with this share of the significant words of its sentence around it."""
    words = significant(plant.sentence)
    for at in places(plant.value, text):
        near = significant(text[max(0, at - _REACH) : at + len(plant.value) + _REACH])
        if len(words & near) >= share * len(words):
            return True
    return False


def is_shown_as_current(gone: str, plant: Plant, text: str) -> bool:
    """Whether a value or a task that holds no more stands somewhere as if it did.

    It does not where its sentence has the new value or a mark ("was", "cancelled", "->") near it, where it is an item
    of a list whose heading says so, nor where the sentence that replaces or cancels it follows later in the text.
    """
    for at in places(gone, text):
        sentence, offset = _sentence(text, at)
        near = sentence[max(0, offset - _NEAR) : offset + len(gone) + _NEAR]
        has_new = bool(plant.replaced) and occurs(plant.value, near)
        is_marked = has_mark(near, plant.kind) or bool(_IS_GONE.search(_heading(text, at)))
        if not has_new and not is_marked and not is_said(plant, text[at + len(gone) :], NEARLY_ALL_WORDS):
            return True
    return False


def has_mark(text: str, kind: PlantKind) -> bool:
    """Whether a reader takes what this says for something that holds no more."""
    return bool((_IS_GONE if kind is PlantKind.TASK else _IS_PAST).search(text))


def significant(text: str) -> frozenset[str]:
    """Stems of words of four letters or more, and pairs of ideographs."""
    words = _WORD.findall(text.casefold())
    stems = {word[:_STEM] for word in words if len(word) >= _SHORTEST}
    pairs = {a + b for a, b in pairwise(words) if len(a) == len(b) == 1 and a > "\u3000" < b}
    return frozenset(stems | pairs)


def _sentence(text: str, at: int) -> tuple[str, int]:
    """The sentence or line around a place, and where in it the place is."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    for found in _SENTENCE.finditer(line):
        if found.start() <= at - start < found.end():
            return found[0], at - start - found.start()
    return line, at - start


def _heading(text: str, at: int) -> str:
    """The line over the list that this place is in; empty where it is in none."""
    lines = text[: text.find("\n", at) if "\n" in text[at:] else len(text)].splitlines()
    is_item = bool(lines) and bool(_ITEM.match(lines[-1]))
    return next((line for line in reversed(lines) if line.strip() and not _ITEM.match(line)), "") if is_item else ""
