"""What a newer sentence does to older ones: it corrects a value, takes a task back, says that it is done. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from bot.compaction.fact_cues import CANCELLING, COMPLETION, CORRECTION, DOUBT, ENDING, RETRACTION
from bot.compaction.fact_words import Value, anchors_of, is_code, terms_of, values_of
from bot.compaction.facts import FactStatus

_DENSE = re.compile(r"[\u3400-\u9fff]")
_FROM_TO = re.compile(
    r"""
    \bfrom\ (?P<a>\S.{0,40}?)\ (?:over\ )?to\ (?P<b>\S.{0,40}?)(?:[.,;!?]|\Z)
    | \b(?:instead\ of|rather\ than|no\ longer|replac(?:e|es|ed|ing)|not)\ (?P<c>\S.{0,40}?)
      (?:[.,;!?]|\ (?:but|any|with|by|for|is|to)\b|\Z)
    | вместо\ (?P<d>\S.{1,40}?)(?:[.,;!?]|\Z)
    | 不是(?P<e>.{1,20}?)[，,。]?而?是 | 把(?P<f>.{1,20}?)(?:换成|改成|改为)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SUBJECT = re.compile(
    r"""
    ^(?:(?:so|and|also|but|actually|well|ok|okay|note|fyi|update|correction|no|wait|hi|hello|by\ the\ way
      |remember)[,:]?\s
      |(?:note\ )?that\ ){0,3}
      (?:(?:the|my|our|his|her|their|your|its|new|current|updated|total|final|now)\ ){0,3}
      ([^,.;:!?]{2,60}?)(?:\ (?:is|are|was|were|will\ be|should\ be|equals)(?:\ now)?(?=\ )|\ ?[:=])
    | ^(?:теперь\ )?(?:(?:мой|моя|моё|наш|наша|наше|новый|новая)\ )?
      ([А-яЁё\ -]{3,40}?)(?:\ теперь)?(?:\ ?[—–:-]\ |\ (?:это|составляет|будет)\ |\ (?=\d))
    | ^(?:我的?|我们的?)?([\u4e00-\u9fff]{2,10}?)(?:现在)?(?:是|为|改为|改成|推迟到|提前到|:|：)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WITHOUT_SUBJECT = 6
"""A correction that names no subject ("no, make that four") is about one of so many lines before it."""

_RETRACTED = 0.5
_RETRACTED_IDEOGRAPHS = 0.2
_LONGEST_SUBJECT = 4
_REACHED = 0.6
_RELATED = 0.4
"""Share of the words of the shorter sentence that two sentences about one thing have in common."""

_SAME_THING = 0.5
_SAME_WORDS = 0.6
"""Share of the fewer words around two values of one type that both have, when they are values of one thing."""
_SOME_WORDS = 0.34
"""Likewise, where the newer sentence says that something changed, and of pairs of ideographs."""
_MOST_VALUES = 8
_NAMING = frozenset({"id", "name", "quote", "path", "url", "email", "host", "phone"})
_TASK_VERBS = frozenset(
    ("cance", "book", "plan", "отмен", "取消", "forge", "anymo", "long", "drop", "skip", "scrap", "mind", "нужн")
)
"""Stems of what one does with a task; the task itself is the rest of the sentence."""
_LOOSE = frozenset({"name", "quote", "id", "path", "url"})
"""Types of values that a sentence may hold for many reasons: they are only corrected where the subject is the same."""


@dataclass(frozen=True)
class Sentence:
    """A sentence with its words and values."""

    text: str

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Its exact values."""
        return values_of(self.text)

    @cached_property
    def subject(self) -> frozenset[str]:
        """What it is about: its words without those of its values."""
        exact = frozenset(term for value in self.values if value.type not in _LOOSE for term in terms_of(value.text))
        return terms_of(self.text) - exact

    @cached_property
    def anchors(self) -> tuple[tuple[Value, frozenset[str], frozenset[str]], ...]:
        """Its first values, each with the words right beside it and the few around it."""
        others = frozenset(term for value in self.values for term in terms_of(value.text))
        found = ((value, *anchors_of(self.text, value)) for value in self.values[:_MOST_VALUES])
        return tuple(
            (value, (beside - others) or (around - others), around - others) for value, beside, around in found
        )

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The types of its values, all codes as one."""
        return frozenset("code" if is_code(value) else value.type for value in self.values)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """What it calls by an id, a name, an address or a quote."""
        return tuple(value.text for value in self.values if value.type in _NAMING and len(value.text) > 1)

    @cached_property
    def is_loose(self) -> bool:
        """Whether it may be the end of something: it says "no" in one of many ways."""
        return ENDING.marks(self.text)

    @cached_property
    def subject_key(self) -> str:
        """The subject of "my budget is ...", as stems; empty for other sentences."""
        found = _SUBJECT.match(self.text)
        name = next((group for group in found.groups() if group), "") if found else ""
        stems = sorted(terms_of(name))
        return " ".join(stems) if 0 < len(stems) <= _LONGEST_SUBJECT else ""

    @cached_property
    def corrects(self) -> bool:
        """Whether it says that something is otherwise than it was said."""
        return CORRECTION.marks(self.text)

    @cached_property
    def retracts(self) -> bool:
        """Whether it says that something is not wanted any more."""
        return RETRACTION.marks(self.text)

    @cached_property
    def cancels(self) -> bool:
        """Whether it asks to cancel something, which may be a task of this conversation or a thing of the world."""
        return CANCELLING.marks(self.text)

    @cached_property
    def completes(self) -> bool:
        """Whether it reports something as done."""
        return COMPLETION.marks(self.text) and not DOUBT.marks(self.text)

    @cached_property
    def replaced_words(self) -> tuple[str, ...]:
        """What it names itself as the old: "from X to Y", "Y instead of X", "not X but Y"."""
        found = (item for match in _FROM_TO.finditer(self.text) for item in match.groupdict().items())
        return tuple(words.strip() for name, words in found if words and name != "b")

    def repeats(self, value: str) -> bool:
        """Whether it says a value of another sentence again, and not as the old one."""
        return value in self.text and value not in " ".join(self.replaced_words)


@dataclass(frozen=True)
class Change:
    """In an older sentence, this text is replaced by that."""

    old: str
    new: str


def restated(new: Sentence, old: Sentence) -> Change | None:
    """The value that ``new`` gives of what ``old`` gives another of, though it does not say that it changes it.

    Both values are of one type and stand among the same words, and nothing else that both name tells them apart.
    """
    if new.kinds.isdisjoint(old.kinds):
        return None
    held = {value.text.casefold() for value in old.values}
    for value, beside, around in new.anchors:
        if value.text.casefold() in held:
            continue
        for other, other_beside, other_around in old.anchors:
            if new.repeats(other.text) or not (value.type == other.type or (is_code(value) and is_code(other))):
                continue
            fewest = min(len(around), len(other_around))
            counted = value.type.startswith("count:") and not fewest
            near = beside & other_around or other_beside & around
            enough = _SOME_WORDS if new.corrects or _is_dense(new) else _SAME_WORDS
            among = near and len(around & other_around) >= enough * fewest
            told = other_beside & new.subject and len(other_around & new.subject) >= _SAME_WORDS * len(other_around)
            if (counted or among or told or _share_much(new, old, value.type)) and not _name_others(new, old):
                return Change(other.text, value.text)
    return None


def _name_others(new: Sentence, old: Sentence) -> bool:
    """Whether each has a name besides its value, and they are not the same."""
    mine, others = ({value.text for value in line.values if value.type == "name"} for line in (new, old))
    kinds = {value.type for line in (new, old) for value in line.values}
    return bool(mine and others and kinds - {"name"} and mine.isdisjoint(others))


def _share_much(new: Sentence, old: Sentence, kind: str) -> bool:
    """Whether two sentences that hold one value of a type each have much in common besides."""
    single = all(sum(value.type == kind for value in line.values) == 1 for line in (new, old))
    shared = len(new.subject & old.subject)
    return (
        single
        and not kind.startswith("count:")
        and shared > 1
        and shared >= _RELATED * min(len(new.subject), len(old.subject))
    )


def shared_values(new: Sentence, old: Sentence) -> bool:
    """Whether both name one thing: an id, a name, an address, a quote."""
    return any(_says(name, old.text) for name in new.named) or any(_says(name, new.text) for name in old.named)


def _says(name: str, text: str) -> bool:
    at = text.find(name)
    return at >= 0 and not text[at + len(name) : at + len(name) + 1].isdigit()


def change_between(new: Sentence, old: Sentence, distance: int) -> Change | None:
    """What ``new`` corrects in ``old``, which was said ``distance`` lines before; None if they do not contradict."""
    same_key = bool(new.subject_key) and new.subject_key == old.subject_key
    if not (same_key or new.corrects):
        return None
    shared = new.subject & old.subject
    related = len(shared) >= _RELATED * min(len(new.subject), len(old.subject)) > 0
    for words in new.replaced_words:
        bare = words.removeprefix("the ").removeprefix("a ")
        if bare.casefold() in old.text.casefold() and (shared or any(v.text in bare for v in old.values)):
            return Change(bare, _instead(new, bare))
    held = {value.text.casefold() for value in old.values}
    for value in new.values:
        if value.text.casefold() in held:
            continue
        others = [item for item in old.values if item.type == value.type and not new.repeats(item.text)]
        close = value.type.startswith("count:") or same_key or related
        near = value.type not in _LOOSE and not new.subject and distance <= _WITHOUT_SUBJECT
        if value.type in _LOOSE and not (same_key or _is_of_one_thing(new, old, value.type)):
            continue
        if others and (close or near):
            return Change(_nearest(others, shared, old.text), value.text)
    return None


def _is_of_one_thing(new: Sentence, old: Sentence, kind: str) -> bool:
    """Whether two sentences that name one thing each speak of the same: most of the older one's words are shared."""
    single = all(sum(value.type == kind for value in sentence.values) == 1 for sentence in (new, old))
    names = frozenset(term for sentence in (new, old) for value in sentence.values for term in terms_of(value.text))
    about = old.subject - names
    return single and bool(about) and len(about & new.subject) >= _SAME_THING * len(about)


def taken_back(new: Sentence, old: Sentence, *, is_task: bool) -> FactStatus | None:
    """What becomes of ``old`` if ``new`` says that nobody wants it any more: cancelled where it says so in plain words;
    replaced where it only says "no" in some way about the same thing.
    """
    plain = new.retracts or (new.cancels and is_task and not old.cancels)
    if not plain and not (is_task and new.is_loose):
        return None
    if not is_retracted(new, old) and not shared_values(new, old):
        return None
    return FactStatus.CANCELLED if plain else FactStatus.REPLACED


def is_retracted(new: Sentence, old: Sentence) -> bool:
    """Whether most of what ``new`` speaks of is what ``old`` speaks of."""
    if any(value.type in ("id", "email", "url") and value.text not in old.text for value in new.values):
        return False
    return _overlap(new.subject, old.subject, new.subject) >= (_RETRACTED_IDEOGRAPHS if _is_dense(new) else _RETRACTED)


def is_reached(new: Sentence, goal: Sentence) -> bool:
    """Whether ``new`` reports the goal as reached."""
    return len(new.subject & goal.subject) > 1 and _overlap(new.subject, goal.subject, goal.subject) >= _REACHED


def says_more(old: Sentence, new: Sentence) -> bool:
    """Whether ``old`` speaks of something that ``new`` does not, so that it is worth keeping with the new value."""
    others = [value for value in old.values if value.type not in {item.type for item in new.values}]
    return len(old.subject - new.subject) > 1 + len(old.subject) // 4 or bool(others)


def _overlap(one: frozenset[str], other: frozenset[str], of: frozenset[str]) -> float:
    whole = of - _TASK_VERBS
    return len((one & other) - _TASK_VERBS) / len(whole) if whole else 0.0


def _is_dense(sentence: Sentence) -> bool:
    return _DENSE.search(sentence.text) is not None


def _instead(new: Sentence, old: str) -> str:
    """The value that the correction gives, or the correction's own words."""
    for found in _FROM_TO.finditer(new.text):
        if found["a"] and found["b"] and old in found["a"]:
            return found["b"].strip()
    others = [value.text for value in new.values if value.text not in old and old not in value.text]
    return others[0] if others else ""


def _nearest(values: list[Value], shared: frozenset[str], text: str) -> str:
    """The value that stands nearest to a word that both sentences have."""
    low = text.casefold()
    anchors = [at for term in shared if (at := low.find(term)) >= 0]
    return min(values, key=lambda value: min((abs(text.find(value.text) - at) for at in anchors), default=0)).text
