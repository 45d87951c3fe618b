"""Which lines of what was said belong together: what brings what up to date, and what means nothing alone. Pure.

Of two lines that are plainly about one thing the older may stand only beside the newer. That they are is told by the
rare words that they share; no word is read. In doubt they belong together: that costs a few tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import fsum

from bot.compaction.coverage import Rarity, form_of, is_telling, words_in
from bot.compaction.facts.fact import Fact, FactStatus, Speaker
from bot.compaction.quotes import is_note
from bot.compaction.sentences import asks

_ALIKE = 0.28
"""Of the weight of the words of the shorter line: what two lines about one thing share at least."""
_TELLS, _LEAST = 0.5, 0.9
"""What a word tells at least that may make two lines be about one thing, and what these tell together, by form."""
_BOTH, _ALONE, _OF_LONGER = 2, 0.7, 0.1
"""Of two lines of people, neither of them long: in how many lines a word stands that only they have, what such words
tell together at least, by form, and the share of the longer one that all that they share is."""
_NAME, _LONG_NUMBER = 2.5, re.compile(r"(?!(?:1[5-9]|20)\d\d\Z)\d{4,}\Z")
"""What a code tells by its form: unlike other values it names one thing, wherever it stands, as a long number does that
is no year."""
_LOOKED_UP, _NEWEST = 3, 4
"""Of a line's words the rarest, by which others are found; and of these lines, for each word, the newest."""
_NEAR, _SHORT = 2, 2.2
"""Entries between a question and its answer, at most; what words tell that mean little without what stood before."""
_SHORTER, _MOST_NEAR, _MOST_FOLLOWING = 0.8, 12, 2
"""What such words tell at most of what a line tells, or a talk in short lines were one chain; lines that they may be
about, the first and the last; and such words that one line needs."""


class Updates:
    """By line, the later ones about the same thing that say something else. They are looked for when they are asked
    for: most lines of a long talk are never chosen."""

    def __init__(self, facts: Sequence[Fact], terms: Sequence[tuple[str, ...]], rarity: Rarity) -> None:
        self._facts, self._terms, self._rarity = facts, terms, rarity
        self._by_word = defaultdict[str, list[int]](list)
        self._words = cache(self._words_of)
        for at in reversed(range(len(facts))):
            for word in terms[at] if _may_change(facts[at]) else ():
                if len(self._by_word[word]) < _NEWEST:
                    self._by_word[word].append(at)

    def of(self, at: int) -> Sequence[int]:
        """The indices of these lines: the newest, and the most alike if that is another one."""
        if not _may_change(self._facts[at]):
            return ()
        own, _ = self._words(at)
        known = sorted((weight, word) for word, weight in own.items() if self._by_word[word][0] > at)
        later = {one for _, word in known[-_LOOKED_UP:] for one in self._by_word[word] if one > at}
        alike = {one: share for one in sorted(later, reverse=True) if (share := self._alike(one, at))}
        return tuple(dict.fromkeys((next(iter(alike)), max(alike, key=alike.__getitem__)))) if alike else ()

    def _alike(self, newer: int, at: int) -> float:
        """The share of the words of the shorter of two lines that both have, by weight; 0 where that is too little, or
        the newer says nothing else."""
        own, whole = self._words(at)
        others, of_others = self._words(newer)
        both = own.keys() & others.keys()
        weight = sum(map(own.__getitem__, both))
        share = weight / min(whole, of_others)
        is_enough = share >= _ALIKE and fsum(told for word in both if (told := form_of(word)) >= _TELLS) >= _LEAST
        is_theirs = weight >= _OF_LONGER * max(whole, of_others) and self._is_theirs_alone(both, newer, at)
        return share if (is_enough or is_theirs) and self._says_else(newer, at) else 0.0

    def _is_theirs_alone(self, both: Iterable[str], newer: int, at: int) -> bool:
        """Whether people said both, and a telling word of these stands in no other line."""
        if not self._facts[newer].speaker is self._facts[at].speaker is Speaker.PERSON:
            return False
        return fsum(form_of(word) for word in both if self._rarity.counts[word] <= _BOTH) >= _ALONE

    def _says_else(self, newer: int, at: int) -> bool:
        """Whether the newer line has something that the older has not. Of what a person said, the model brings nothing
        up to date but values, and not where it says the same ones and more."""
        mine, theirs = set(self._terms[newer]), set(self._terms[at])
        if self._facts[newer].speaker is Speaker.MODEL and self._facts[at].speaker is Speaker.PERSON:
            mine, theirs = set(filter(is_telling, mine)), set(filter(is_telling, theirs))
            return not mine <= theirs and not theirs <= mine
        return not mine <= theirs

    def _words_of(self, at: int) -> tuple[dict[str, int], int]:
        """What a line may be about, by weight in thousandths, and the weight of all."""
        words = {term: round(1_000 * self._rarity.weight(term)) for term in self._terms[at] if _names(term)}
        return words, sum(words.values())


def _may_change(fact: Fact) -> bool:
    return fact.kind.is_prose and fact.status is not FactStatus.REMARK and not is_note(fact.text)


def _names(term: str) -> bool:
    """Whether a term may say what a line is about: other values than these are of something, and name nothing."""
    return not is_telling(term) or form_of(term) >= _NAME or bool(_LONG_NUMBER.match(term))


def leanings(facts: Sequence[Fact], terms: Sequence[tuple[str, ...]]) -> Mapping[int, Sequence[int]]:
    """Short words of people with the question that they answer or the longer line that they are about; and longer lines
    with those that a message after them begins with, which may take them back: two at most. ``facts``: oldest first."""
    needs: defaultdict[int, list[int]] = defaultdict(list)
    said, followed, told = list[int](), Counter[int](), [sum(map(form_of, own)) for own in terms]
    for at, fact in enumerate(facts):
        is_remark = fact.status is FactStatus.REMARK
        if not fact.kind.is_prose or not fact.seqs:
            continue
        if fact.speaker is Speaker.PERSON and not is_note(fact.text) and (is_remark or words_in(terms[at]) < _SHORT):
            since = int(fact.key.split(":")[1]) if is_remark else fact.last - _NEAR
            near = said[bisect_left(said, since, key=lambda one: facts[one].last) :]
            near = [*near[:_MOST_NEAR], *near[_MOST_NEAR:][-_MOST_NEAR:]]
            is_value, is_first = any(map(is_telling, terms[at])), bool(near) and facts[near[-1]].last < fact.last
            longer = [one for one in near if is_remark or is_value or told[at] <= _SHORTER * told[one]]
            is_answer = bool(near) and facts[near[-1]].speaker is Speaker.MODEL and asks(facts[near[-1]].text)
            about = near[-1:] if is_answer else [one for one in longer if facts[one].speaker is Speaker.PERSON][-1:]
            may_follow = {*about, *(longer if is_remark or (is_first and not is_value) else ())}
            for one in (follows := {one for one in may_follow if followed[one] < _MOST_FOLLOWING}):
                needs[one].append(at)
            followed.update(follows)
            if is_remark or is_answer or is_value:
                needs[at] += [one for one in about or longer[-1:] if not is_remark or one in follows]
        if not is_remark or fact.speaker is Speaker.MODEL:
            said.append(at)
    return needs
