"""A sentence of memory: its words and values, and how it is meant. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from bot.compaction.facts.cues import CANCELLING, COMPLETION, CORRECTION, DOUBT, ENDING, RETRACTION
from bot.compaction.facts.places import without_places
from bot.compaction.facts.quotes import is_note
from bot.compaction.facts.rules import may_end_a_rule
from bot.compaction.facts.stances import ASKED_FOR, CONDITION, KEEPING, SUPPOSITION
from bot.compaction.facts.words import Value, anchors_of, is_code, terms_of, values_of

FROM_TO = re.compile(
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
_CLAUSE = re.compile(r"[,;:—–]\s|[，；。]|\b(?:because|since|but)\b|\bно\b|\bпотому\b|因为")
_LONGEST_SUBJECT = 4
_MOST_VALUES = 8
_NAMING = frozenset({"id", "name", "quote", "path", "url", "email", "host", "phone"})
LOOSE = frozenset({"name", "quote", "id", "path", "url"})
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
        exact = frozenset(term for value in self.values if value.type not in LOOSE for term in terms_of(value.text))
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
    def changes_nothing(self) -> bool:
        """Whether it only asks, supposes or sets a condition, or is nobody's own word."""
        if is_note(self.text) or CONDITION.marks(self.text):
            return True
        thought = self.text.endswith(("?", "？", "吗", "吗。")) or SUPPOSITION.marks(self.text)
        return thought and not ASKED_FOR.marks(self.text)

    @cached_property
    def taking(self) -> str:
        """Its clauses without those that ask to leave something as it is ("don't cancel")."""
        if not KEEPING.marks(self.text):
            return self.text
        return ", ".join(clause for clause in _CLAUSE.split(self.text) if clause and not KEEPING.marks(clause))

    @cached_property
    def taken(self) -> str:
        """Those of its clauses that take something back; all if none does by itself."""
        clauses = [clause for clause in _CLAUSE.split(self.taking) if clause]
        marked = [clause for clause in clauses if RETRACTION.marks(clause) or CANCELLING.marks(clause)]
        return ", ".join(marked) or self.taking

    @cached_property
    def subject_taken(self) -> frozenset[str]:
        """What is taken back."""
        return self.subject & terms_of(self.taken)

    @cached_property
    def is_loose(self) -> bool:
        """Whether it may be the end of something: it says "no" in one of many ways."""
        return ENDING.marks(self.taking)

    @cached_property
    def ends_rules(self) -> bool:
        """Whether it may lift a rule, or say in which language to answer."""
        return may_end_a_rule(self.text)

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
        return CORRECTION.marks(without_places(self.text))

    @cached_property
    def retracts(self) -> bool:
        """Whether it says that something is not wanted any more."""
        return RETRACTION.marks(self.taking)

    @cached_property
    def cancels(self) -> bool:
        """Whether it asks to cancel something, which may be a task of this conversation or a thing of the world."""
        return CANCELLING.marks(self.taking)

    @cached_property
    def completes(self) -> bool:
        """Whether it reports something as done."""
        return COMPLETION.marks(self.text) and not DOUBT.marks(self.text)

    @cached_property
    def replaced_words(self) -> tuple[str, ...]:
        """What it names itself as the old: "from X to Y", "Y instead of X", "not X but Y"."""
        found = (item for match in FROM_TO.finditer(self.text) for item in match.groupdict().items())
        return tuple(words.strip() for name, words in found if words and name != "b")

    def repeats(self, value: str) -> bool:
        """Whether it says a value of another sentence again, and not as the old one."""
        return value in self.text and value not in " ".join(self.replaced_words)
