"""Which lines of what was said belong together: what brings what up to date, and what means nothing alone. Pure.

Of two lines that are plainly about one thing the older may stand only beside the newer, so that no value is shown
without what became of it. That they are is told by the rare words that they share; no word is read. In doubt they
belong together: that costs a few tokens, and the reader sees both, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.compaction.coverage import Rarity, form_of, is_telling
from bot.compaction.facts.fact import PROSE, Fact, Speaker
from bot.compaction.facts.quotes import is_note
from bot.compaction.facts.speech import asks

_ALIKE = 0.28
"""Of the weight of the words of the shorter line: what two lines about one thing share at least."""
_TELLS, _LEAST = 0.5, 0.9
"""What a word tells at least that may make two lines be about one thing, and what these tell together, by form."""
_NAME = 2.5
"""What a code tells by its form: unlike other values it names one thing, wherever it stands."""
_LONG_NUMBER = 4
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d\Z")
_LOOKED_UP = 3
"""Of a line's words: the rarest, by which others are found."""
_NEWEST = 4
"""Lines with a word in common that are compared with an older one: the newest."""
_NEAR = 2
"""Entries between a question and its answer, at most."""
_SHORT = 2.2
"""Words that tell less than this mean little without what was said before."""

Needs = dict[int, tuple[int, ...]]
"""By line, the lines without which it may not stand."""


def updates(facts: Sequence[Fact], terms: Sequence[tuple[str, ...]], rarity: Rarity) -> dict[int, int]:
    """By line, the newest later one about the same thing that says something else."""
    by_word: dict[str, list[int]] = {}
    words: dict[int, frozenset[str]] = {}
    weights: dict[int, float] = {}
    found: dict[int, int] = {}
    weight = {term: rarity.weight(term) for term in set().union(*terms)}
    order = {term: at for at, term in enumerate(sorted(weight, key=lambda word: (weight[word], word)))}
    speaking = frozenset(term for term in weight if not is_telling(term) or _names_one_thing(term))
    for at in range(len(facts) - 1, -1, -1):
        if facts[at].kind not in PROSE or is_note(facts[at].text):
            continue
        own = speaking.intersection(terms[at])
        words[at], weights[at] = own, sum(map(weight.__getitem__, own))
        known = sorted(own & by_word.keys(), key=order.__getitem__)[-_LOOKED_UP:]
        for one in sorted({one for word in known for one in by_word[word]}, reverse=True):
            shared = own & words[one]
            if (
                sum(map(weight.__getitem__, shared)) >= _ALIKE * min(weights[at], weights[one])
                and sum(told for word in shared if (told := form_of(word)) >= _TELLS) >= _LEAST
                and _says_else(facts[one], terms[one], facts[at], terms[at])
            ):
                found[at] = one
                break
        for word in own:
            postings = by_word.setdefault(word, [])
            if len(postings) < _NEWEST:
                postings.append(at)
    return found


def _names_one_thing(term: str) -> bool:
    """A code does, wherever it stands, and a long number that is no year; other values do not."""
    return form_of(term) >= _NAME or (len(term) >= _LONG_NUMBER and term.isdigit() and not _YEAR.match(term))


def _says_else(newer: Fact, mine: tuple[str, ...], older: Fact, theirs: tuple[str, ...]) -> bool:
    """Whether the newer line has something that the older has not. Of what a person said, the model brings nothing up
    to date but values, and not where it says the same ones and more."""
    news = set(mine).difference(theirs)
    if newer.speaker is Speaker.MODEL and older.speaker is Speaker.PERSON:
        return any(map(is_telling, news)) and any(map(is_telling, set(theirs).difference(mine)))
    return bool(news)


def leanings(facts: Sequence[Fact], terms: Sequence[tuple[str, ...]]) -> Needs:
    """Answers with their questions, and short words with what they are about: each needs the other, or only the short
    one what stood before it."""
    needs: Needs = {}
    last: dict[Speaker, int] = {}
    for at, fact in enumerate(facts):
        if fact.kind not in PROSE or not fact.seqs:
            continue
        is_short = sum(form_of(term) for term in terms[at] if not is_telling(term)) < _SHORT
        if fact.speaker is Speaker.PERSON and is_short and not is_note(fact.text):
            asked = last.get(Speaker.MODEL)
            mine = last.get(Speaker.PERSON)
            if asked is not None and _is_near(facts[asked], fact) and asks(facts[asked].text):
                _bind(needs, at, asked)
                _bind(needs, asked, at)
            elif mine is not None and _is_near(facts[mine], fact) and any(map(is_telling, terms[at])):
                _bind(needs, at, mine)
                _bind(needs, mine, at)
        last[fact.speaker] = at
    return needs


def _is_near(before: Fact, after: Fact) -> bool:
    return 0 < after.seqs[-1] - before.seqs[-1] <= _NEAR


def _bind(needs: Needs, at: int, other: int) -> None:
    needs[at] = (*needs.get(at, ()), other)


def in_order(chosen: Sequence[int], newer: Mapping[int, int]) -> list[int]:
    """Lines in the order in which they were said, but each next to the chosen one that brings it up to date."""
    there = frozenset(chosen)

    def place(at: int) -> int:
        while (later := newer.get(at)) is not None and later in there:
            at = later
        return at

    return sorted(chosen, key=lambda at: (place(at), at))
