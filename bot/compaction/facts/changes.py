"""What a newer sentence does to older ones: it corrects a value, takes a task back, says that it is done. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.compaction.facts.fact import FactStatus
from bot.compaction.facts.places import is_place
from bot.compaction.facts.rules import is_lifted, speaks_another_language
from bot.compaction.facts.sentences import FROM_TO, LOOSE, Sentence
from bot.compaction.facts.subjects import differ, names_another, owner_is_new
from bot.compaction.facts.words import Value, is_code, is_ideographic, terms_of, values_of
from bot.compaction.grammar import last_name

_WITHOUT_SUBJECT = 6
"""A correction that names no subject ("no, make that four") is about one of so many lines before it."""

_RETRACTED = 0.5
_RETRACTED_IDEOGRAPHS = 0.2
_REACHED = 0.6
_RELATED = 0.4
"""Share of the words of the shorter sentence that two sentences about one thing have in common."""

_SAME_THING = 0.5
_SAME_WORDS = 0.6
"""Share of the fewer words around two values of one type that both have, when they are values of one thing."""
_SOME_WORDS = 0.34
"""Likewise, where the newer sentence says that something changed, and of pairs of ideographs."""
_TASK_VERBS = frozenset(
    ("cance", "book", "plan", "отмен", "取消", "forge", "anymo", "long", "drop", "skip", "scrap", "mind", "нужн")
)
"""Stems of what one does with a task; the task itself is the rest of the sentence."""


_PLACES = re.compile(r"(?:https?://|~?/|[A-Za-z]:[\\/])[^\"`«»“”,;]{0,300}[\\/][^\s\"`«»“”,;]{0,100}")
_NUMBERED = re.compile(r"\w*\d\w*")
_TO_ITS_END = re.compile(r"[^\"`«»“”,;]{0,300}[\\/][^\s\"`«»“”,;]{0,100}")
"""From where a path begins: up to the last separator of the clause, and the name behind it."""


@dataclass(frozen=True)
class Change:
    """In an older sentence, this text is replaced by that."""

    old: str
    new: str


def restated(new: Sentence, old: Sentence) -> Change | None:
    """The value that ``new`` gives of what ``old`` gives another of, though it does not say that it changes it.

    Both values are of one type and stand among the same words, and nothing else that both name tells them apart.
    """
    if new.kinds.isdisjoint(old.kinds) or (not new.corrects and owner_is_new(new.text, old.text)):
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
            enough = _SOME_WORDS if new.corrects or is_ideographic(new.text) else _SAME_WORDS
            among = near and len(around & other_around) >= enough * fewest
            told = other_beside & new.subject and len(other_around & new.subject) >= _SAME_WORDS * len(other_around)
            if value.type == "name" and not _is_named_alike(new, old):
                continue
            if (counted or among or told or _share_much(new, old, value.type)) and not _name_others(new, old):
                return _of_one_subject(new, old, Change(other.text, value.text))
    return None


def _is_named_alike(new: Sentence, old: Sentence) -> bool:
    """Whether a name in each may be that of one thing: one word in common ("email Bob", "email Ann") is no sign."""
    same_key = bool(new.subject_key) and new.subject_key == old.subject_key
    return new.corrects or same_key or len(new.subject & old.subject) > 1


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
            return _of_one_subject(new, old, Change(bare, _instead(new, bare)))
    held = {value.text.casefold() for value in old.values}
    for value in new.values:
        if value.text.casefold() in held:
            continue
        others = [item for item in old.values if item.type == value.type and not new.repeats(item.text)]
        close = value.type.startswith("count:") or same_key or related
        near = value.type not in LOOSE and not new.subject and distance <= _WITHOUT_SUBJECT
        if value.type in LOOSE and not (same_key or _is_of_one_thing(new, old, value.type)):
            continue
        if others and (close or near):
            return _of_one_subject(new, old, Change(_nearest(others, shared, old.text), value.text))
    return None


def _of_one_subject(new: Sentence, old: Sentence, change: Change) -> Change | None:
    """The change, unless the sentences name different things, by a code ("order 4711 costs ...") or otherwise."""
    if _are_other_places(new, old, change):
        return None
    others = (new.kinds & old.kinds) - {"code"} - LOOSE
    if others and any(is_code(value) and value.text == change.old for value in old.values):
        return None
    return None if differ(new.text, old.text, (change.old, change.new)) else change


def _are_other_places(new: Sentence, old: Sentence, change: Change) -> bool:
    """Whether these are two places, and not two that one thing was at: folders are compared by what they are called,
    and sentences by their words beside the paths, in any language."""
    if not (is_place(change.old) and is_place(change.new)):
        return False
    if _folder(new.text, change.new) == _folder(old.text, change.old):
        return False
    mine, others = _beside_places(new), _beside_places(old)
    if new.corrects:
        return bool(mine and others) and mine.isdisjoint(others)
    return not (mine <= others or others <= mine)


def _folder(text: str, place: str) -> str:
    """What the place is called, where its name may go on behind a blank."""
    found = _TO_ITS_END.match(text, max(0, text.find(place)))
    return last_name((found[0] if found else place).rstrip(".!?。！？"))


def _beside_places(sentence: Sentence) -> frozenset[str]:
    beside = _PLACES.sub(" ", sentence.text)
    return terms_of(beside) | frozenset(_NUMBERED.findall(beside))


def _is_of_one_thing(new: Sentence, old: Sentence, kind: str) -> bool:
    """Whether two sentences that name one thing each speak of the same: most of the older one's words are shared."""
    single = all(sum(value.type == kind for value in sentence.values) == 1 for sentence in (new, old))
    names = frozenset(term for sentence in (new, old) for value in sentence.values for term in terms_of(value.text))
    about = old.subject - names
    return single and bool(about) and len(about & new.subject) >= _SAME_THING * len(about)


def taken_back(new: Sentence, old: Sentence, *, is_task: bool, is_rule: bool = False) -> FactStatus | None:
    """What becomes of ``old`` if ``new`` says that nobody wants it any more: cancelled where it says so in plain words;
    replaced where it only says "no" in some way about the same thing. A rule ends when it is lifted.
    """
    if is_rule and is_lifted(new.text, old.text):
        return FactStatus.CANCELLED
    if is_rule and speaks_another_language(new.text, old.text):
        return FactStatus.REPLACED
    plain = new.retracts or (new.cancels and is_task and not old.cancels)
    if not plain and not (is_task and new.is_loose):
        return None
    if not is_retracted(new, old) and not shared_values(new, old):
        return None
    if names_another(new.taken, old.text) or _other_values(new, old) or differ(new.taken, old.text):
        return None
    return FactStatus.CANCELLED if plain else FactStatus.REPLACED


def _other_values(new: Sentence, old: Sentence) -> bool:
    """Whether the task is told by a code that the older line lacks, or both have a value of one type and no common."""
    mine, others = values_of(new.taken), old.values
    if any(is_code(value) and value.text not in old.text for value in mine):
        return True
    for kind in {value.type for value in mine} - LOOSE:
        held = {value.text.casefold() for value in others if value.type == kind}
        if held and held.isdisjoint(value.text.casefold() for value in mine if value.type == kind):
            return True
    return False


def is_retracted(new: Sentence, old: Sentence) -> bool:
    """Whether most of what ``new`` speaks of is what ``old`` speaks of."""
    if any(value.type in ("id", "email", "url") and value.text not in old.text for value in new.values):
        return False
    least = _RETRACTED_IDEOGRAPHS if is_ideographic(new.text) else _RETRACTED
    return any(_overlap(words, old.subject, words) >= least for words in (new.subject, new.subject_taken))


def is_reached(new: Sentence, goal: Sentence) -> bool:
    """Whether ``new`` reports the goal as reached."""
    most = len(new.subject & goal.subject) > 1 and _overlap(new.subject, goal.subject, goal.subject) >= _REACHED
    return most and not differ(new.text, goal.text)


def says_more(old: Sentence, new: Sentence) -> bool:
    """Whether ``old`` speaks of something that ``new`` does not, so that it is worth keeping with the new value."""
    others = [value for value in old.values if value.type not in {item.type for item in new.values}]
    return len(old.subject - new.subject) > 1 + len(old.subject) // 4 or bool(others)


def says_the_same(other: Sentence, old: Sentence, new: Sentence, change: Change) -> bool:
    """Whether ``other``, which holds the value that ``new`` corrects in ``old``, gives it of the same thing."""
    shared = other.subject & (old.subject | new.subject)
    apart = (change.old, change.new)
    return len(shared) >= _SAME_THING * len(other.subject) > 0 and not (
        differ(new.text, other.text, apart) or differ(old.text, other.text, apart)
    )


def _overlap(one: frozenset[str], other: frozenset[str], of: frozenset[str]) -> float:
    whole = of - _TASK_VERBS
    return len((one & other) - _TASK_VERBS) / len(whole) if whole else 0.0


def _instead(new: Sentence, old: str) -> str:
    """The value that the correction gives, or the correction's own words."""
    for found in FROM_TO.finditer(new.text):
        if found["a"] and found["b"] and old in found["a"]:
            return found["b"].strip()
    others = [value.text for value in new.values if value.text not in old and old not in value.text]
    return others[0] if others else ""


def _nearest(values: list[Value], shared: frozenset[str], text: str) -> str:
    """The value that stands nearest to a word that both sentences have."""
    low = text.casefold()
    anchors = [at for term in shared if (at := low.find(term)) >= 0]
    return min(values, key=lambda value: min((abs(text.find(value.text) - at) for at in anchors), default=0)).text
