"""What people and the model said, line by line as it was said: candidates in their own words. Pure.

A line is a piece of a message, word for word: a sentence, a list with what introduces it, or so much of a long one as
fits. It is told from its form alone whether it says anything by itself. What a line of a person is called where people
read it (a goal, a rule or decision) is told by data of the package (``labels.toml``), and decides nothing.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from bot.compaction.coverage import tells
from bot.compaction.facts.fact import Candidate, FactKind, Reason, Speaker
from bot.compaction.quotes import QUOTED, own_words, parts_of
from bot.compaction.sentences import asks, sentences_in
from bot.estimate.cuts import MARK, cut_before, head_and_end_of

LONGEST, _LONGEST_TEXT = 320, 24_000
"""Characters of one line of memory, and of one message that are searched, half of them from its end."""
LEAST = 1.6
"""What a line has to tell by its form alone, as much as a long word and a half: less is a nod, or thanks."""
_OF_THE_MODEL, _OF_OTHERS, _ANSWER = 0.6, 0.5, 2.0
"""What the model says is worth less than what a person says: it knows it, or can work it out again."""
_NOISE = re.compile(
    r"^\s*(?:Traceback \(|File \"[^\"]+\", line|at [\w.$<>]+\(|\.{3} \d+ more|Caused by:"
    r"|\w{0,40}(?:Error|Exception)\b[:(]|\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\s+\[?(?:ERROR|WARN|DEBUG|TRACE|INFO))"
)


def speech_candidates(text: str, seq: int, speaker: Speaker, *, asked: bool = False) -> Iterator[Candidate]:
    """Every line of a message as a candidate; those that say nothing are rejected at once, with the reason. ``asked``:
    it answers a question, so that however little it says, it says something."""
    found = [
        _candidate(piece, seq, speaker, quoted=quoted)
        for quoted, part in parts_of(head_and_end_of(text, _LONGEST_TEXT, "\n"))
        for sentence in sentences_in(part, joined=not quoted)
        for piece in _pieces(sentence)
    ]
    if asked and found and not any(item.is_accepted for item in found):
        found[0] = replace(found[0], reason=Reason.NEW, weight=_ANSWER)
    yield from found


def label_of(sentence: str) -> FactKind:
    """What a sentence of a person is called; a statement, where nothing says otherwise. A question is no rule."""
    text = sentence.casefold()
    if not asks(sentence) and _words("rules", "decisions").search(text):
        return FactKind.CONSTRAINT
    return FactKind.GOAL if _words("goals").search(text) else FactKind.STATEMENT


@cache
def _words(*names: str) -> re.Pattern[str]:
    """The words of these lists in any of the languages; those without blanks between them stand anywhere."""
    lists = tomllib.loads((pkgutil.get_data(__package__, "labels.toml") or b"").decode())
    words, signs = list[str](), list[str]()
    for given in (" ".join(given.split()) for name in names for given in lists[name].values()):
        if ", " in given:
            words += given.replace("*", r"\w*").split(", ")
        else:
            signs += given.split()
    return re.compile(rf"\b(?:{'|'.join(words)})\b|{'|'.join(signs)}")


def _pieces(sentence: str) -> Iterator[str]:
    """A line that is too long in pieces that are not, each marked where it was cut."""
    while len(sentence) > LONGEST:
        cut = cut_before(sentence, LONGEST - len(MARK) - 1) or LONGEST
        yield f"{sentence[:cut].rstrip()} {MARK}"
        sentence = sentence[cut:].lstrip()
    yield sentence


def _candidate(text: str, seq: int, speaker: Speaker, *, quoted: bool) -> Candidate:
    weight = tells(text) * (1.0 if speaker is Speaker.PERSON else _OF_THE_MODEL) * (_OF_OTHERS if quoted else 1.0)
    reason = Reason.ERROR_NOISE if _NOISE.match(text) else Reason.LOW_VALUE if weight < LEAST else Reason.NEW
    weight = weight if reason is Reason.NEW else 0.0
    kind = label_of(own_words(text)) if weight and speaker is Speaker.PERSON and not quoted else FactKind.STATEMENT
    return Candidate(kind, f"{QUOTED}{text}" if quoted else text, seq, speaker=speaker, weight=weight, reason=reason)
