"""How much a line has to say that is not said yet: the measure by which compaction chooses. Pure; knows no language.

Of many lines those are chosen, one after the other, that tell most for their price. A line is worth the weight of its
*terms*, and a term that a chosen line holds already counts for little. What a term weighs is told by its rarity in the
conversation and by its form: numbers, codes and long words tell more than short words do, in whatever language is
written with words; writing without blanks is compared by pairs of characters.

Nothing here asks what a word means.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain
from math import inf, log

from bot.compaction.stems import beginning, pairs

DENSE = "\u0e00-\u0e4e\u0e80-\u0ece\u1000-\u103f\u1780-\u17d3\u3040-\u309f\u3400-\u9fff\uac00-\ud7af"
"""Writing without blanks between words (Thai, Lao, Burmese, Khmer, hiragana, ideographs), and Hangul. What is written
in katakana is mostly one word (a name, a loanword), as long as its letters are many, and counts as one."""
_IS_DENSE = re.compile(f"[{DENSE}]")
_RUN = re.compile(f"[{DENSE}]+|[^{DENSE}]+")
_JOINED = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0980-\u09e5\u0a00-\u0a65\u0a80-\u0ae5\u0b00-\u0b65"
    "\u0b80-\u0be5\u0c00-\u0c65\u0c80-\u0ce5\u0d00-\u0d65"
)
"""Marks that belong to the letter before them, and the writing of India, which is full of them."""
_WORD = re.compile(rf"(?:[^\W\d_]|[{_JOINED}])+")
_TELLING = re.compile(r"[\d@_]")
_CODE = re.compile(r"[\w@](?:[\w@#%]|[-./:+,'’\\&=?](?=[\w@]))*")
_LONGEST_CODE = 80
_EDGES = ".,;:!?()[]{}<>\"'*“”‘’«»…¿¡"
_COMPOUND = 12
"""Letters from which on a word has something to say at its end as well ("Rechnungsadresse")."""

_FORMS = (0.3, 0.3, 0.3, 0.45, 0.75, 1.0)
"""What a word of so many letters and marks on them tells: in every language the short ones are the common ones. Where
all are short, as in Vietnamese, the marks tell them apart."""
_PAIR, _PAIR_OF_LETTERS = 0.5, 0.3
_IS_LETTERS = re.compile("[\u0e00-\u30ff]")
_NUMBER, _LONG_NUMBER, _IDENTIFIER = 1.5, 2.0, 2.5
AMOUNT = "#"
"""Before a number that is so many of something, and tells as much as a long word: no term of a text begins with it."""
_LONG = 3
"""Digits from which on a number is hardly said by chance."""
_ID_DIGITS = 6
"""Digits from which on a number names a thing as a code does."""
_AGAIN = (1.0, 0.12, 0.03)
"""What is left of a term's weight when no chosen line holds it, one, or more."""
_OFTEN = len(_AGAIN) - 1
_KEPT = 32_768
"""Answers that are kept: a line is looked at when it is found, at every turn after it, and when it is chosen."""


@lru_cache(maxsize=_KEPT)
def terms_of(text: str) -> tuple[str, ...]:
    """The distinct terms of a text, in order: words by their beginning, numbers and codes whole, pairs of characters of
    writing without blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return tuple(dict.fromkeys(chain.from_iterable(map(_of_stretch, text.casefold().split()))))


@lru_cache(maxsize=_KEPT)
def _of_stretch(stretch: str) -> Sequence[str]:
    """The terms of what stands between two blanks. A conversation has few of them, and each many times."""
    bare = stretch.strip(_EDGES)
    if bare.isalpha() and (bare.isascii() or not _IS_DENSE.search(bare)):  # most are: the rest takes longer
        return _of_word(bare)
    found: list[str] = []
    for run in _RUN.findall(stretch):
        if _IS_DENSE.match(run):
            found += pairs(run) if len(run) > 1 else run
            continue
        for part in _CODE.findall(run) if _TELLING.search(run) else (run,):
            if _TELLING.search(part):
                found.append(part[:_LONGEST_CODE])
            else:
                found += chain.from_iterable(map(_of_word, _WORD.findall(part)))
    return found


def _of_word(word: str) -> Sequence[str]:
    start = beginning(word)
    return (start,) if len(word) < _COMPOUND else (start, f"-{word[-len(start) :]}")


@dataclass(frozen=True)
class Rarity:
    """How much a term tells in one conversation: the fewer of its texts hold it, the more."""

    texts: int
    counts: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str], *, terms: Iterable[Iterable[str]] | None = None) -> Rarity:
        """``terms``: those of each of the texts, from whoever has them already."""
        texts = list(texts)
        return cls(len(texts), Counter(chain.from_iterable(map(terms_of, texts) if terms is None else terms)))

    @cached_property
    def weight(self) -> Callable[[str], float]:
        """How much a term tells: log(1 + N / df), times its form."""
        texts = max(1, self.texts)
        known = {term: log(1 + texts / df) * form_of(term) for term, df in self.counts.items()}
        return _Weights(self, known).__getitem__

    def of_one(self, form: float) -> float:
        """The weight of a term of this form that only one text holds."""
        return log(1 + max(1, self.texts)) * form

    def of_text(self, text: str) -> float:
        """The weight of all terms of a text."""
        return sum(map(self.weight, terms_of(text)))


class _Weights(dict[str, float]):
    """By term, what it tells; of a term that no text holds as much as of one that one does."""

    def __init__(self, rarity: Rarity, known: dict[str, float]) -> None:
        super().__init__(known)
        self._rarity = rarity

    def __missing__(self, term: str) -> float:
        self[term] = weight = self._rarity.of_one(form_of(term))
        return weight


@lru_cache(maxsize=_KEPT)
def is_telling(term: str) -> bool:
    """Whether a term is a number, a code or an address, and no word."""
    return bool(_TELLING.search(term))


def may_tell(text: str) -> bool:
    """Whether a number, a code or an address may be among the terms of a text: at a glance, in doubt it says yes."""
    return not text.isascii() or bool(_TELLING.search(text))


@lru_cache(maxsize=_KEPT)
def form_of(term: str) -> float:
    """What a term tells by its form alone."""
    if term.startswith(AMOUNT):
        return _FORMS[-1]
    if is_telling(term):
        if any(map(str.isalpha, term)) or "@" in term or (term.isdigit() and len(term) >= _ID_DIGITS):
            return _IDENTIFIER
        return _LONG_NUMBER if sum(map(str.isdigit, term)) >= _LONG else _NUMBER
    if not term.isascii() and _IS_DENSE.match(term):
        return _PAIR
    signs = len(term) if term.isascii() else len(unicodedata.normalize("NFD", term))
    return _FORMS[min(signs, len(_FORMS) - 1)]


def tells(text: str) -> float:
    """What a text tells by its form alone."""
    return sum(map(form_of, terms_of(text)))


def words_in(terms: Iterable[str]) -> float:
    """What these words tell by their form, numbers and codes aside, as if a pair of letters that stand without blanks
    (Thai, kana) were less of a word than one of ideographs."""
    words = (term for term in terms if not is_telling(term))
    return sum(_PAIR_OF_LETTERS if _IS_LETTERS.match(word) else form_of(word) for word in words)


def share_covered(text: str, covered: Iterable[str], *, rarity: Rarity) -> float:
    """Which share of what a text tells these terms say already, from 0 to 1; 1 for a text that tells nothing."""
    there = frozenset(covered)
    weights = [(rarity.weight(term), term in there) for term in terms_of(text)]
    whole = sum(weight for weight, _ in weights)
    return sum(weight for weight, is_there in weights if is_there) / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """Something that may be chosen: a sentence, what a record is told by, the rest of one.

    ``price``: its tokens. ``factor``: what else makes it worth more or less than its terms say. ``sure``: before all
    others, whatever it tells. ``terms``: what it is chosen by, where that is not its text.
    """

    text: str
    price: float
    factor: float = 1.0
    sure: bool = False
    terms: tuple[str, ...] | None = None


def chosen(
    lines: Sequence[Line],
    room: float,
    *,
    rarity: Rarity,
    covered: Iterable[str] = (),
) -> tuple[int, ...]:
    """The indices of lines that together tell most in ``room`` tokens, in the order in which they were chosen.

    ``covered``: terms that stand on the page in any case.
    """
    return tuple(_Choosing(lines, room, rarity, covered).one_by_one())


def chosen_together(
    lines: Sequence[Line],
    room: float,
    *,
    rarity: Rarity,
    covered: Iterable[str] = (),
    needs: Callable[[int], Iterable[int]],
) -> tuple[Sequence[int], ...]:
    """The same where lines need others: those that come together, since none of them may stand alone, in one group.

    ``needs``: by its index the indices of lines without which a line may not stand; they come with it, at the price of
    all. It is asked only of lines that may be chosen.
    """
    return tuple(_Choosing(lines, room, rarity, covered, needs).run())


def _none(_at: int) -> Iterable[int]:
    return ()


class _Choosing:
    """Lazy greedy: what a line tells never grows while others are chosen, so its last score is a bound, as is at first
    what it would tell alone, and only the line at the top of the heap is looked at. Where it does grow, since what it
    needs was chosen, it is put in anew."""

    def __init__(
        self,
        lines: Sequence[Line],
        room: float,
        rarity: Rarity,
        covered: Iterable[str],
        needs: Callable[[int], Iterable[int]] = _none,
    ) -> None:
        self._lines = lines
        self._needs = needs
        self._left = room
        self._terms = [terms_of(line.text) if line.terms is None else line.terms for line in lines]
        self._times = Counter(dict.fromkeys(covered, 1))
        self._weight = {term: rarity.weight(term) for term in set().union(*self._terms)}
        self._tells = {term: weight * _AGAIN[self._times[term]] for term, weight in self._weight.items()}
        self._for_a_token = [inf if line.sure else line.factor / max(line.price, 1.0) for line in lines]
        self._taken: set[int] = set()
        self._bundles: dict[int, _Bundle] = {}
        self._needs_of: dict[int, Sequence[int]] = {}
        self._needed_by: defaultdict[int, set[int]] = defaultdict(set)

    def run(self) -> Iterator[Sequence[int]]:
        heap = [(-self._alone(at), at) for at in range(len(self._lines))]
        heapify(heap)
        while heap:
            last, at = heappop(heap)
            if at in self._taken or self._lines[at].price > self._left:
                continue
            next_best = -heap[0][0] if heap else 0.0
            score = min(-last, self._alone(at))
            if score >= next_best:
                bundle = self._bundle(at)
                score = self._score(bundle) if len(bundle.lines) > 1 else score
            if score < next_best:
                heappush(heap, (-score, at))
            elif score <= 0:
                return
            elif bundle.price <= self._left:
                yield self._take(bundle)
                for other in set().union(*map(self._needed_by.__getitem__, bundle.lines)) - self._taken:
                    heappush(heap, (-self._alone(other), other))
            elif self._lines[at].sure:  # rather alone than not at all
                yield self._take(_Bundle([at], (), self._lines[at].price))

    def one_by_one(self) -> Iterator[int]:
        """The same where no line needs another."""
        heap = [(-self._alone(at), at) for at in range(len(self._lines))]
        heapify(heap)
        while heap:
            at = heap[0][1]
            score = self._alone(at)
            heapreplace(heap, (-score, at))
            if heap[0][1] != at:
                continue
            heappop(heap)
            if score <= 0:
                return
            price = self._lines[at].price
            if price <= self._left:
                self._left -= price
                self._note(self._terms[at])
                yield at

    def _take(self, bundle: _Bundle) -> Sequence[int]:
        self._left -= bundle.price
        self._taken.update(bundle.lines)
        for at in bundle.lines:
            self._note(self._terms[at])
        return bundle.lines

    def _note(self, terms: Iterable[str]) -> None:
        """These stand in a line that was chosen."""
        for term in terms:
            times = self._times[term] = min(self._times[term] + 1, _OFTEN)
            self._tells[term] = self._weight[term] * _AGAIN[times]

    def _alone(self, at: int) -> float:
        """What a line tells for a token; those that come with it tell no more, or are taken before it."""
        worth = self._for_a_token[at]
        return worth * sum(map(self._tells.__getitem__, self._terms[at])) if worth < inf else inf

    def _score(self, bundle: _Bundle) -> float:
        """What lines that come together tell for a token."""
        told = sum(factor * sum(map(self._tells.__getitem__, terms)) for factor, terms in bundle.parts)
        return inf if self._lines[bundle.lines[-1]].sure else told / max(bundle.price, 1.0)

    def _bundle(self, at: int) -> _Bundle:
        """The line and all that it needs and that is not there yet, what is needed first."""
        known = self._bundles.get(at)
        if known is not None and self._taken.isdisjoint(known.lines):
            return known
        lines = self._with_needs(at) if known is None else [one for one in known.lines if one not in self._taken]
        parts, own = list[tuple[float, Sequence[str]]](), set[str]()
        for one in lines if len(lines) > 1 else ():
            terms = self._terms[one]
            parts.append((self._lines[one].factor, [term for term in terms if term not in own] if own else terms))
            own.update(terms)
        self._bundles[at] = bundle = _Bundle(lines, parts, sum(self._lines[one].price for one in lines))
        return bundle

    def _with_needs(self, at: int) -> list[int]:
        found: dict[int, None] = {}
        waiting = [at]
        while waiting:
            one = waiting.pop()
            if one not in found and one not in self._taken:
                found[one] = None
                needs = self._needs_of.get(one)
                if needs is None:
                    self._needs_of[one] = needs = tuple(self._needs(one))
                waiting.extend(needs)
                self._needed_by[one].add(at)
        return list(found)[::-1]


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Lines that are taken together. ``parts``: of each of several its factor, and the terms that none before it
    has."""

    lines: Sequence[int]
    parts: Sequence[tuple[float, Sequence[str]]]
    price: float
