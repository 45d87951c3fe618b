"""Facts: what a conversation established, found in it without a model. Pure and deterministic.

An entry yields *candidates*; merging them accepts or rejects each with a reason, and the accepted ones are the facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_NO_WORD = re.compile(r"\W+")
_KEPT = 16_384
"""Answers that are kept: of every fact that is known, at every turn."""


class FactKind(StrEnum):
    """What a fact is about (FEATURES A7)."""

    GOAL = "goal"
    """What the person wants."""
    CONSTRAINT = "constraint"
    """A rule, preference or decision of the person."""
    STATEMENT = "statement"
    """What somebody said besides: a finding, a value in a sentence, an answer to a question."""
    ACTION = "action"
    """An action that was carried out, and is known to have succeeded; or the last failure of one that never did."""
    VALUE = "value"
    """A record of values that later steps may need, each under its name (:mod:`bot.compaction.facts.records`)."""
    GIVEN = "given"
    """What a call was given (:mod:`bot.compaction.facts.tools`)."""
    PATH = "path"
    """A key path, URL or other place."""

    is_prose: bool
    """Whether its text is what somebody said, word for word."""
    is_record: bool
    """Whether its text is names with values."""


for _kind in FactKind:  # no properties: they are asked of every fact at every turn
    _kind.is_prose = _kind in (FactKind.GOAL, FactKind.CONSTRAINT, FactKind.STATEMENT)
    _kind.is_record = _kind in (FactKind.VALUE, FactKind.ACTION)


class FactStatus(StrEnum):
    """What became of a fact."""

    ACTIVE = "active"
    """It holds; of a goal: it is open."""
    DONE = "done"
    """A goal that was reached."""
    CANCELLED = "cancelled"
    """It was taken back."""
    REPLACED = "replaced"
    """A newer line says otherwise; what else it says may hold."""
    FAILED = "failed"
    """An action whose last try went wrong."""
    REMARK = "remark"
    """What tells nothing alone, and may take back what was said after the entry that its ``key`` names, or in it."""


class Speaker(StrEnum):
    """Whose words a fact is made of."""

    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"


class Source(StrEnum):
    """Who put a fact into the book."""

    AUTO = "cfpm_auto"
    """It was found in what was said."""
    PERSON = "person"
    """A person added it, or pinned it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of memory. ``seqs``: the entries that it stands in, oldest first."""

    kind: FactKind
    text: str
    seqs: tuple[int, ...] = ()
    pinned: bool = False
    key: str = ""
    """What it is about, where that is not what it says (:func:`about`)."""
    status: FactStatus = FactStatus.ACTIVE
    speaker: Speaker = Speaker.PERSON
    weight: float = 5.0
    """Of what was said: how much it tells by its form."""
    number: int = 0
    """What it is called in the book of its agent, also when it says something newer; 0: it is in none yet."""
    source: Source = Source.AUTO
    forgotten: bool = False
    """A tombstone; it is shown to nobody, and keeps others like it out."""

    @property
    def last(self) -> int:
        """The newest entry that it stands in; 0: it stands in none."""
        return self.seqs[-1] if self.seqs else 0

    @property
    def protected(self) -> bool:
        """Whether only a person may take it out."""
        return self.pinned or self.source is Source.PERSON

    @property
    def is_listed(self) -> bool:
        """Whether people are shown it, and it counts."""
        return not self.forgotten and self.status is not FactStatus.REMARK


class Reason(StrEnum):
    """Why a candidate was accepted or rejected (FEATURES A8; for people: :mod:`bot.compaction.memory_report`)."""

    NEW = "new"
    UPDATE = "update"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    LOW_VALUE = "low_value"
    REDUNDANT = "redundant"
    ERROR_NOISE = "error_noise"
    RETRIED = "retried"
    DATE_LIKE = "date_like"
    FORGOTTEN = "forgotten"
    OVER_CAP = "over_cap"
    NOT_SAID = "not_said"
    NO_SUCH_FACT = "no_such_fact"
    PROTECTED = "protected"
    NOT_THEIRS = "not_theirs"
    NO_OPERATION = "no_operation"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may become a fact, as it was found in one entry, and what was decided about it."""

    kind: FactKind
    text: str
    seq: int
    key: str = ""
    speaker: Speaker = Speaker.PERSON
    status: FactStatus = FactStatus.ACTIVE
    weight: float = 5.0
    reason: Reason = Reason.NEW

    @property
    def fact(self) -> Fact:
        """What it is if it is accepted."""
        seqs, key, status = (self.seq,), self.key, self.status
        return Fact(self.kind, self.text, seqs, key=key, status=status, speaker=self.speaker, weight=self.weight)

    @property
    def is_accepted(self) -> bool:
        """As the reason has it."""
        return self.reason in (Reason.NEW, Reason.UPDATE)


PART = "part:"
"""How the keys of rows begin that belong to one list of one thing: they stand beside each other."""
OF_A_CALL = f"{PART}call:"
"""And of those that belong to one call, since they have no id: another call may return the same."""


def about(said: Candidate | Fact) -> str:
    """What it is about: of two that are about the same the newer holds. Records and places are compared as they stand;
    they hold marks (an equals sign, a stroke, a point), and what :func:`plain` leaves of a sentence has none."""
    if said.key:
        return f"{said.key}\n{said.text}" if said.key.startswith(PART) else said.key
    return plain(said.text) if said.kind.is_prose else said.text


@lru_cache(maxsize=_KEPT)
def plain(text: str) -> str:
    """What two texts have in common that say the same."""
    return _NO_WORD.sub(" ", text.casefold()).strip() or text
