"""What people and the model said, sentence by sentence: goals, rules, decisions, statements, small talk. Pure.

The words of the sentence are kept as they are. A sentence is judged by what marks it (``must``, ``I want``, an exact
value), in English, Russian and Chinese, and some marks of German, Spanish and French.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from bot.compaction.facts.cues import DECISION, FINDING, IGNORANCE, OWN, REQUEST, RULE, TALK
from bot.compaction.facts.fact import Candidate, Decision, FactKind, Reason, Speaker
from bot.compaction.facts.quotes import QUOTED, own_words, parts_of
from bot.compaction.facts.splits import split_sentences
from bot.compaction.facts.words import terms_of, values_of
from bot.estimate.cuts import head_and_end_of, one_line

LONGEST_SENTENCE = 320
"""Characters of one line of memory."""

MOST_OF_ONE_ENTRY = 60
"""Sentences of one message that are looked at as facts: those that weigh most."""

_LONGEST_TEXT = 24_000
"""Characters of one message that are searched, half of them from its end."""

_LINE_ITEM = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)]|#{1,6})\s+")
_INDENTED = re.compile(r"\s{2,}")
_ENDED = re.compile(r"[.!?。！？]\Z")
_PART_OF_ITEM = re.compile(
    r"^\s{2,}(?:[-*•–]|\d{1,3}[.)])\s+|^\s*[-*•–]\s+(?:\*\*)?[\w /]{2,40}(?:\*\*)?\s*[:：]",
)
_BACK = re.compile(
    r"\b(?:it|its|it['’]s|that|this|them|they|these|those|one|instead|он[аои]?|это|его|её|их|там)\b|它|这|那|该|其",
    re.IGNORECASE,
)
_SAYS = re.compile(r"\w|[^\x00-\u2fff]")
"""A line of nothing but marks says nothing."""
_WEIGHT_OF_QUOTED = 4.0
_LONGEST_LEANING = 120
_FEW_WORDS = 3
_MARKUP = re.compile(r"\*\*|__|^>\s?|^#{1,6}\s+")
_NOISE = re.compile(
    r"^\s*(?:Traceback \(|File \"[^\"]+\", line|at [\w.$<>]+\(|\.{3} \d+ more|Caused by:"
    r"|\w{0,40}(?:Error|Exception)\b[:(]|\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\s+\[?(?:ERROR|WARN|DEBUG|TRACE|INFO))"
)


def sentences_in(text: str) -> list[str]:
    """The sentences and list items of a text, each one line; nested items stay with what they belong to."""
    units: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        item = " ".join(_MARKUP.sub("", _LINE_ITEM.sub("", line)).split())
        belongs = units and (not _ENDED.search(units[-1]) or _INDENTED.match(line)) and _PART_OF_ITEM.match(line)
        if belongs and len(units[-1]) + len(item) < LONGEST_SENTENCE:
            units[-1] = f"{units[-1]}; {item}"
        else:
            units.extend(split_sentences(item))
    return units


def speech_candidates(text: str, seq: int, speaker: Speaker) -> Iterator[Candidate]:
    """Every sentence of a message as a candidate; those without use are rejected at once, with the reason."""
    bounded = head_and_end_of(text, _LONGEST_TEXT, "\n")
    found = [
        _quoted(sentence, seq, speaker) if quoted else _judged(sentence, seq, speaker)
        for quoted, part in parts_of(bounded)
        for sentence in _joined(sentences_in(part))
        if _SAYS.search(sentence)
    ]
    if len(found) > MOST_OF_ONE_ENTRY:
        floor = sorted((item.weight for item in found), reverse=True)[MOST_OF_ONE_ENTRY]
        crowded = replace
        found = [
            item
            if item.weight > floor or item.decision is Decision.REJECTED
            else crowded(item, decision=Decision.REJECTED, reason=Reason.OVER_CAP)
            for item in found
        ]
    yield from found


def _joined(sentences: list[str]) -> Iterator[str]:
    """A value in a sentence that does not say of what ("It is 650 now.") stands with the sentence before it."""
    before = ""
    for sentence in sentences:
        if before and len(before) + len(sentence) < LONGEST_SENTENCE and _leans_back(sentence):
            before = f"{before} {sentence}"
            continue
        if before:
            yield before
        before = sentence
    if before:
        yield before


def _leans_back(sentence: str) -> bool:
    if len(sentence) > _LONGEST_LEANING:
        return False
    values = values_of(sentence)
    if not values:
        return False
    own = terms_of(sentence) - {term for value in values for term in terms_of(value.text)}
    return not own or (len(own) <= _FEW_WORDS and bool(_BACK.search(sentence)))


def _judged(sentence: str, seq: int, speaker: Speaker) -> Candidate:
    text = clipped(sentence)
    if _NOISE.match(sentence):
        return _rejected(text, seq, speaker, Reason.ERROR_NOISE)
    kind, weight = _person(sentence) if speaker is Speaker.PERSON else _model(sentence)
    if not weight:
        return _rejected(text, seq, speaker, Reason.LOW_VALUE)
    return Candidate(kind, text, seq, speaker=speaker, weight=weight)


def _quoted(sentence: str, seq: int, speaker: Speaker) -> Candidate:
    """What is pasted or quoted: its values may be of use, but it wants nothing and forbids nothing."""
    text = clipped(f"{QUOTED}{sentence}")
    if _NOISE.match(sentence):
        return _rejected(text, seq, speaker, Reason.ERROR_NOISE)
    if not any(value.type != "name" for value in values_of(sentence)):
        return _rejected(text, seq, speaker, Reason.LOW_VALUE)
    return Candidate(FactKind.STATEMENT, text, seq, speaker=speaker, weight=_WEIGHT_OF_QUOTED)


def _person(whole: str) -> tuple[FactKind, float]:
    exact = bool(values_of(whole))
    sentence = own_words(whole)
    if TALK.marks(sentence) and not exact and not RULE.marks(sentence):
        return FactKind.STATEMENT, 0.0
    asks = sentence.endswith(("?", "？"))
    if (DECISION.marks(sentence) or RULE.marks(sentence)) and not asks:
        return FactKind.CONSTRAINT, 9.0 if exact else 8.5
    if REQUEST.marks(sentence) and (exact or len(terms_of(sentence)) > 1):
        return FactKind.GOAL, 8.0 if exact else 6.5
    if exact:
        return FactKind.STATEMENT, 4.0 if asks else 8.0
    if asks and len(terms_of(sentence)) > 1:
        return FactKind.STATEMENT, 1.5
    if asks or len(terms_of(sentence)) <= 1:
        return FactKind.STATEMENT, 0.0 if asks else 1.0
    return FactKind.STATEMENT, 5.0 if OWN.marks(sentence) else 3.0


def _model(whole: str) -> tuple[FactKind, float]:
    exact = bool(values_of(whole))
    sentence = own_words(whole)
    asks = sentence.endswith(("?", "？", ":", "："))
    if asks or TALK.marks(sentence) or IGNORANCE.marks(sentence):
        return FactKind.STATEMENT, 1.5 if exact else 0.0
    if DECISION.marks(sentence):
        return FactKind.CONSTRAINT, 5.5
    if RULE.marks(sentence):
        return FactKind.CONSTRAINT, 4.5 if exact else 3.5
    if exact:
        return FactKind.STATEMENT, 4.5 if FINDING.marks(sentence) else 3.5
    if len(terms_of(sentence)) <= 1:
        return FactKind.STATEMENT, 0.0
    return FactKind.STATEMENT, 3.0 if FINDING.marks(sentence) else 1.0


def _rejected(text: str, seq: int, speaker: Speaker, reason: Reason) -> Candidate:
    return Candidate(
        FactKind.STATEMENT, text, seq, speaker=speaker, weight=0.0, decision=Decision.REJECTED, reason=reason
    )


def clipped(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """One line of about so many characters, cut between words, with a mark where it is."""
    return one_line(text, longest)
