"""What people and the model said, line by line as it was said: candidates in their own words. Pure.

A line is a piece of a message, word for word: a sentence, a list with what introduces it, or so much of a long one as
fits. It is told from its form alone whether it says anything by itself; nothing here knows a language. What a line is
called (a goal, a rule) is :mod:`bot.compaction.facts.labels`' business, and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from bot.compaction.coverage import form_of, terms_of
from bot.compaction.facts.fact import Candidate, Decision, FactKind, Reason, Speaker
from bot.compaction.facts.labels import label_of
from bot.compaction.facts.quotes import QUOTED, own_words, parts_of
from bot.estimate.cuts import MARK, cut_before, head_and_end_of, one_line

LONGEST_SENTENCE = 320
"""Characters of one line of memory."""
LEAST = 1.6
"""What a line has to tell by its form alone, as much as a long word and a half: less is a nod, or thanks."""

_LONGEST_TEXT = 24_000
"""Characters of one message that are searched, half of them from its end."""
_LONGEST_LIST = 200
_OF_THE_MODEL = 0.6
"""What the model says is worth less than what a person says: it knows it, or can work it out again."""
_OF_OTHERS = 0.5
_ANSWER = 2.0

_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)]|#{1,6})\s+")
_INTRODUCES = re.compile(r"[:：]\s*\Z")
_END = re.compile(r"([.!?…][\"”’»')\]*]?(?=\s)|[。！？；।॥۔؟])\s*")
_LAST = re.compile(r"(?:\A|[\s(\[\"'«“/-])((?:[^\W\d_]{1,20}\.)+|\d{1,2}\.)\Z")
_LONGEST_LAST = 40
_INITIAL, _SHORT = 2, 3
"""Letters of a word before a point that is an abbreviation, in whatever language; and where the next word is small."""
_NOISE = re.compile(
    r"^\s*(?:Traceback \(|File \"[^\"]+\", line|at [\w.$<>]+\(|\.{3} \d+ more|Caused by:"
    r"|\w{0,40}(?:Error|Exception)\b[:(]|\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\s+\[?(?:ERROR|WARN|DEBUG|TRACE|INFO))"
)


def sentences_in(text: str, *, joined: bool = True) -> list[str]:
    """The lines of a text, each word for word. ``joined``: an item stands in one with what introduces the list."""
    found: list[str] = []
    in_list = False
    for line in filter(str.strip, text.splitlines()):
        marker = _ITEM.match(line)
        plain = " ".join(line.split())
        in_list = joined and bool(marker and found) and (in_list or bool(_INTRODUCES.search(found[-1])))
        if in_list and len(found[-1]) + len(plain) < _LONGEST_LIST:
            found[-1] = f"{found[-1]} {plain}"
        else:
            found += _split(" ".join(line[marker.end() :].split()) if marker else plain)
    return found


def speech_candidates(text: str, seq: int, speaker: Speaker, *, asked: bool = False) -> Iterator[Candidate]:
    """Every line of a message as a candidate; those that say nothing are rejected at once, with the reason.

    ``asked``: it answers a question, so that however little it says, it says something.
    """
    found = [
        _candidate(piece, seq, speaker, quoted=quoted)
        for quoted, part in parts_of(head_and_end_of(text, _LONGEST_TEXT, "\n"))
        for sentence in sentences_in(part, joined=not quoted)
        for piece in _pieces(sentence)
    ]
    if asked and found and not any(item.decision is Decision.ACCEPTED for item in found):
        found[0] = replace(found[0], reason=Reason.NEW, weight=_ANSWER)
    yield from found


def clipped(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """One line of about so many characters, cut between words, with a mark where it is."""
    return one_line(text, longest)


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        stop, begin = end.end(1), end.end()
        if stop > start and not _goes_on(line[max(start, stop - _LONGEST_LAST) : stop], line[begin : begin + 2]):
            yield line[start:stop].strip()
            start = begin
    if rest := line[start:].strip():
        yield rest


def _goes_on(before: str, after: str) -> bool:
    """Whether the point at the end of ``before`` is that of an abbreviation or a number within a sentence."""
    found = _LAST.search(before.rpartition(" ")[2]) if after and before[-1] == "." else None
    word = found[1][:-1] if found else ""
    is_short = "." in word or word.isdigit() or len(word) <= _INITIAL
    return bool(found) and (is_short or (len(word) <= _SHORT and after[0].islower()))


def _pieces(sentence: str) -> Iterator[str]:
    """A line that is too long in pieces that are not, each marked where it was cut."""
    while len(sentence) > LONGEST_SENTENCE:
        cut = cut_before(sentence, LONGEST_SENTENCE - len(MARK) - 1) or LONGEST_SENTENCE
        yield f"{sentence[:cut].rstrip()} {MARK}"
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence


def _candidate(text: str, seq: int, speaker: Speaker, *, quoted: bool) -> Candidate:
    is_own = speaker is Speaker.PERSON and not quoted
    weight = sum(map(form_of, terms_of(text)))  # long words, numbers and codes tell something
    weight *= (1.0 if speaker is Speaker.PERSON else _OF_THE_MODEL) * (_OF_OTHERS if quoted else 1.0)
    reason = Reason.ERROR_NOISE if _NOISE.match(text) else Reason.LOW_VALUE if weight < LEAST else Reason.NEW
    return Candidate(
        label_of(own_words(text)) if is_own and reason is Reason.NEW else FactKind.STATEMENT,
        f"{QUOTED}{text}" if quoted else text,
        seq,
        speaker=speaker,
        weight=weight if reason is Reason.NEW else 0.0,
        reason=reason,
    )
