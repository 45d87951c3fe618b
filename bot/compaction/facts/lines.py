"""Lines of memory in the making, and which earlier ones a sentence may be about. Pure.

Nothing is compared with everything: earlier lines are found by their words, by exact values, and by the words that
stand beside a value of one type. Of each, only the last ones are looked at, so that a long conversation takes time
in proportion to its length.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bot.compaction.facts.fact import Fact, FactKind
from bot.compaction.facts.sentences import Sentence
from bot.compaction.facts.words import Value, is_code

_POSTINGS = 48
"""Earlier lines with the same word that a sentence is compared with, at most."""
_FEWER = 12
"""Likewise, where the sentence does not say that anything changed."""
_RECENT = 6
_TOKEN = re.compile(r"[^\s,;:()\[\]\"'“”«»]{3,60}")
_DIGIT = re.compile(r"\d")
_TELLING = 4


@dataclass(eq=False)
class Line:
    """A fact in the making, and the number of the candidate that it came from (None: it was known before)."""

    fact: Fact
    origin: int | None
    sentence: Sentence | None = None
    alive: bool = True
    order: int = 0


def _last(count: int) -> defaultdict[str, deque[Line]]:
    return defaultdict(lambda: deque(maxlen=count))


@dataclass
class Index:
    """Lines of prose by what they speak of."""

    _by_term: defaultdict[str, deque[Line]] = field(default_factory=lambda: _last(_POSTINGS))
    _by_anchor: defaultdict[str, deque[Line]] = field(default_factory=lambda: _last(_FEWER))
    _goals: defaultdict[str, deque[Line]] = field(default_factory=lambda: _last(_FEWER))
    _recent: deque[Line] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def add(self, line: Line) -> None:
        """Take a line of prose in."""
        sentence = line.sentence = line.sentence or Sentence(line.fact.text)
        self._recent.append(line)
        for term in sentence.subject:
            self._by_term[term].append(line)
            if line.fact.kind is FactKind.GOAL:
                self._goals[term].append(line)
        for value in sentence.values:
            self._by_term[f"={value.text.casefold()}"].append(line)
            self._by_term[f"#{value.type}"].append(line)
        for token in _exact_tokens(line.fact.text):
            self._by_term[f"~{token}"].append(line)
        for value, _, around in sentence.anchors:
            for key in _anchor_keys(value, around):
                self._by_anchor[key].append(line)

    def related(self, new: Sentence) -> list[Line]:
        """Earlier lines that this sentence may change, the newest first."""
        found: dict[int, Line] = {}
        for value, _, around in new.anchors:
            for key in _anchor_keys(value, new.subject | around):
                found.update((id(line), line) for line in self._by_anchor.get(key, ()))
        if new.is_loose:
            for term in new.subject:
                found.update((id(line), line) for line in self._goals.get(term, ()))
        for value in new.values:
            found.update(
                (id(line), line) for line in list(self._by_term.get(f"={value.text.casefold()}", ()))[-_FEWER:]
            )
        if new.corrects or new.retracts or new.cancels or new.completes or new.subject_key or new.ends_rules:
            found.update((id(line), line) for line in self._recent)
            terms = [*new.subject, *(f"={words.casefold()}" for words in new.replaced_words)]
            terms += [f"#{value.type}" for value in new.values if value.type.startswith("count:")]
            for term in terms:
                found.update((id(line), line) for line in self._by_term.get(term, ()))
        return sorted((line for line in found.values() if line.alive), key=lambda line: -line.order)

    def holding(self, value: str) -> list[Line]:
        """Earlier lines in whose text this value stands, if it is one that does not stand there by chance."""
        tokens = list(_exact_tokens(value))
        key = f"~{tokens[0]}" if tokens else f"={value.casefold()}"
        if len(value) < _TELLING:
            return []
        return [line for line in self._by_term.get(key, ()) if line.alive and value in line.fact.text]

    def saying(self, value: str) -> list[Line]:
        """Earlier lines that have exactly this value."""
        return [line for line in self._by_term.get(f"={value.casefold()}", ()) if line.alive]


def _anchor_keys(value: Value, terms: Iterable[str]) -> Iterator[str]:
    kind = "code" if is_code(value) else value.type
    if kind.startswith("count:"):
        yield kind
    yield from (f"{kind}@{term}" for term in terms)


def _exact_tokens(text: str) -> Iterator[str]:
    return (token.rstrip(".!?") for token in _TOKEN.findall(text) if _DIGIT.search(token))
