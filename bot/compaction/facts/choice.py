"""Which facts a checkpoint of so many tokens holds, and in which form: those that tell most for their tokens. Pure.

What was said and what tools returned are chosen together, by what each still has to say. A record enters with what it
is told by, and the rest of it may follow; a line that another brings up to date comes only with it. Prices are guesses,
since records of one shape share a head and repeat no cell: of the lines, as they were chosen, as many stand as fit.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from math import inf, sqrt

from bot.compaction.coverage import AMOUNT, Line, Rarity, chosen_together, terms_of
from bot.compaction.facts.checkpoint import line_of, rendered
from bot.compaction.facts.fact import Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.lines import Updates, leanings
from bot.compaction.facts.records import OWNER, SEPARATOR, Fields, as_text, fields_of, id_names
from bot.compaction.facts.tools import value_of
from bot.compaction.quotes import is_note
from bot.compaction.sentences import asks
from bot.estimate import Family, message_tokens
from bot.estimate.text import texts_tokens
from bot.messages import text_block

_OF_THE_MODEL, _OF_OTHERS, _UNDER_NAMES = 0.45, 0.35, 0.8
"""What somebody else's word is worth of a person's, and a record or a value, whose names are not in its price."""
_ASKED, _OF_THE_REST = 0.5, 0.6
"""What a question is worth of what somebody tells, and the rest of a record of what it is told by."""
_AMONG_OTHERS, _AT_AN_END = 0.5, 0.25
"""The root of how many stand beside a line by which it counts less; and where it begins or ends what a person writes:
there they say what they want of what they hand over."""
_FULL_LINE = 25.0
"""What the words of a sentence weigh together, by their rarity, from which on it counts for less than they say."""
_FEW, _OF_GIVEN = 8, 5.0
"""Records of one shape that count in full: of many a later step needs a few, of one by itself that one; and what a
value that a call was given tells by its form: as much as two codes do, since a call took it already."""
_SPARE, _TRIES, _AIM, _CLOSE = 1.25, 50, 0.999, 0.997
"""Prices are guesses: for how much more room lines are chosen, how often it is filled, the share of its room that a
checkpoint is meant to take, and from which on it is as good as any."""
_SHORT = 60
"""Characters up to which a cell by its place may be among what a record is told by."""
_IS_AMOUNT = re.compile(r"-?\d{1,4}(?:\.\d+)?\Z")
"""A short number, which by itself may be so many of anything."""
_JUST_SAID, _HEAD = 20, 20
"""Entries after which something may tell too little to be kept, and characters that a line takes besides its text."""


def checkpoint_tokens(text: str) -> float:
    """Guessed tokens of the entry that holds this checkpoint."""
    return message_tokens({"role": "user", "content": [text_block(text)]}, family=Family.NEWER)


def checkpoint_of(
    facts: Sequence[Fact],
    room: float,
    *,
    covered: Iterable[str] = (),
    measure: Callable[[str], float] = checkpoint_tokens,
) -> str:
    """The checkpoint with those of these facts (oldest first) that tell most in at most ``room`` tokens, as ``measure``
    counts them; empty when not even one fits. ``covered``: terms that stand on the page in any case."""
    choice = _Choice(facts)
    everything = [at for at, line in enumerate(choice.lines) if line.sure or line.terms]
    fits = sum(choice.lines[at].price for at in everything) <= room * _SPARE
    if everything and fits and measure(text := choice.shown(everything)) <= room:
        return text  # what fits whole is not chosen from, which takes longer than all else
    groups = chosen_together(choice.lines, room * _SPARE, rarity=choice.rarity, covered=covered, needs=choice.needs)
    taken, best, tokens, at, left_out = list[int](), "", 0.0, 0, False
    prices = (sum(choice.lines[line].price for line in group) for group in groups)
    step = max(1, bisect_right(list(accumulate(prices)), room))
    for _ in range(_TRIES):
        batch = [*chain.from_iterable(groups[at : at + step])]
        if not batch or tokens >= _CLOSE * room:
            break
        text = choice.shown(more := [*taken, *batch])
        size = measure(text)
        is_whole = not left_out or set(more).issuperset(chain.from_iterable(map(choice.needs, batch)))
        if size <= room and is_whole:
            taken, best, tokens, at = more, text, size, at + step
            step = max(1, round((_AIM * room - size) * at / size))
        elif step > 1:
            step = max(1, int(step * (_AIM * room - tokens) / (size - tokens))) if size > room else step // 2
        else:
            at, left_out = at + 1, True
    return best


def most_telling(facts: Sequence[Fact], count: int) -> frozenset[int]:
    """The indices of so many facts: those that tell most for their length beside what newer ones tell. What was just
    said is among them."""
    terms = [terms_of(fact.text) for fact in facts]
    rarity = Rarity.of([fact.text for fact in facts], terms=terms)
    factors, weight = _factors(facts, terms, rarity), rarity.weight
    newest, told, worth = max((fact.last for fact in facts), default=0), set[str](), dict[int, float]()
    for at in sorted(range(len(facts)), key=lambda at: facts[at].last, reverse=True):
        fact, own = facts[at], terms[at]
        new = sum(weight(term) for term in own if term not in told)
        told.update(own)
        is_new = newest - fact.last < _JUST_SAID and fact.kind.is_prose
        worth[at] = inf if is_new else factors[at] * new / (_HEAD + len(fact.text))
    return frozenset(sorted(worth, key=worth.__getitem__, reverse=True)[:count])


def pieces_of(fact: Fact, ids: Collection[str]) -> list[str]:
    """The text of a fact; that of a deed, and of a record with an id of its own, as what later calls need, and the
    rest. ``ids``: the names in records that have ids under them. The fields of all records of one shape are in the same
    order, so that they can stand in one table."""
    fields, is_deed = fields_of(fact.text) if fact.kind.is_record else {}, fact.kind is FactKind.ACTION
    # What a call was given may be given to the next one, a short command too.
    leading = fields if is_deed else [*fields][:1]
    brief = {name: cell for name, cell in fields.items() if name in ids or (name in leading and len(cell) <= _SHORT)}
    rest = {name: cell for name, cell in fields.items() if name not in brief}
    is_found = is_deed or any(name in ids and OWNER not in name for name in fields)
    return [as_text(brief), as_text(rest)] if rest and is_found else [fact.text]


class _Choice:
    """Facts as lines to choose from: of a record what it is told by, and the rest of it. ``pieces``: for each line the
    number of its fact, and its text. ``first``: by fact, the first of its lines."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self.facts = facts = _telling(facts)
        ids = id_names(fields_of(fact.text) for fact in facts if fact.kind.is_record)
        pieces = [pieces_of(fact, ids) for fact in facts]
        self.pieces = [(at, piece) for at, own in enumerate(pieces) for piece in own]
        self.first = [0, *accumulate(map(len, pieces))]
        terms = [_terms(fact, fact.text, ids) for fact in facts]
        self.rarity = Rarity.of([fact.text for fact in facts], terms=terms)
        self.updates, self.together = Updates(facts, terms, self.rarity), leanings(facts, terms)
        self.lines = list(self._lines(terms, ids))

    def needs(self, number: int) -> Iterator[int]:
        """The lines without which this one may not stand."""
        at, _ = self.pieces[number]
        if number != self.first[at]:
            yield number - 1
            return
        yield from (self.first[other] for other in self.together.get(at, ()))
        yield from (self.first[newer] for newer in self.updates.of(at))

    def shown(self, taken: Sequence[int]) -> str:
        """The checkpoint with these lines."""
        texts: dict[int, str] = {}
        for at, piece in map(self.pieces.__getitem__, sorted(taken)):
            texts[at] = f"{texts[at]}{SEPARATOR}{piece}" if at in texts else piece
        shown = ((self.facts[at], text) for at, text in texts.items())
        return rendered([fact if fact.text is text else replace(fact, text=text) for fact, text in shown])

    def _lines(self, terms: Sequence[tuple[str, ...]], ids: Collection[str]) -> Iterator[Line]:
        told = list(self._told())
        prices, factors = texts_tokens(told, family=Family.NEWER), _factors(self.facts, terms, self.rarity)
        for number, (at, piece) in enumerate(self.pieces):
            fact, is_first = self.facts[at], number == self.first[at]
            is_alone = fact.status is FactStatus.REMARK and not self.together[at]
            own = () if is_alone else terms[at] if piece is fact.text else _terms(fact, piece, ids)
            factor = factors[at] if is_first else _OF_THE_REST * factors[at]
            yield Line(piece, prices[told[number]], factor, sure=fact.pinned and is_first, terms=own)

    def _told(self) -> Iterator[str]:
        """What each line takes on the page: of a record its values, since the names of many stand there once, and none
        that stands above it."""
        above: dict[tuple[str, ...], Fields] = {}
        for at, piece in self.pieces:
            fact = self.facts[at]
            if fact.kind is FactKind.GIVEN:
                yield f"{SEPARATOR}{value_of(fact)}"
            elif fact.kind.is_record:
                fields = fields_of(piece)
                up = above.get(tuple(fields), {})
                above[tuple(fields)] = fields
                yield "\n" + SEPARATOR.join("" if up.get(name) == cell else cell for name, cell in fields.items())
            else:
                yield f"\n{line_of(fact)}"


def _terms(fact: Fact, text: str, ids: Collection[str]) -> tuple[str, ...]:
    """What a line tells; of a record its values, since what they are called tells nothing new."""
    if fact.kind is FactKind.GIVEN:  # whatever it is made of, it names one thing, and its words elsewhere are not that
        terms = _terms_of_cell(value_of(fact))
        return terms if len(terms) == 1 else (*terms, f"={value_of(fact)}")
    if not fact.kind.is_record:
        return terms_of(text) or (text,)  # a remark may be one sign
    cells = fields_of(text).items()
    told = chain.from_iterable(terms_of(cell) if name in ids else _terms_of_cell(cell) for name, cell in cells)
    return tuple(dict.fromkeys(told))


def _terms_of_cell(cell: str) -> tuple[str, ...]:
    """What a value tells that is no id: a short number less than one that is."""
    return (f"{AMOUNT}{cell}",) if _IS_AMOUNT.match(cell) else terms_of(cell)


def _factors(facts: Sequence[Fact], terms: Sequence[tuple[str, ...]], rarity: Rarity) -> list[float]:
    """What makes each worth more or less than its terms say: what it is, whose word, and how many records have its
    shape, or lines stand in its message: who says much at once says less with each, but first and last. What a call
    was given tells as much as codes do."""
    groups, factors, given = [*map(_group, facts)], list[float](), rarity.of_one(_OF_GIVEN)
    beside, said = Counter(groups), [at for at, fact in enumerate(facts) if fact.kind.is_prose]
    ends = {at for order in (said, said[::-1]) for at in {groups[at]: at for at in order}.values()}
    for at, (fact, group) in enumerate(zip(facts, groups, strict=True)):
        others = beside[group] if group else 1
        if fact.kind.is_prose:
            factor = _of_said(fact, others, sum(map(rarity.weight, terms[at])), is_end=at in ends)
        else:
            factor = (1.0 if fact.kind is FactKind.PATH else _UNDER_NAMES) * (_FEW / max(_FEW, others)) ** _AMONG_OTHERS
            if fact.kind is FactKind.GIVEN and not group:
                factor *= max(1.0, given / max(1.0, sum(map(rarity.weight, terms[at]))))
        factors.append(factor)
    return factors


def _group(fact: Fact) -> tuple[object, ...]:
    """The names in a record, or before a small number that a call was given; the message and the voice of what was
    said; nothing where it is in no group."""
    if fact.kind.is_record or (fact.kind is FactKind.GIVEN and _IS_AMOUNT.match(value_of(fact))):
        return tuple(fields_of(fact.text))
    is_said = fact.kind.is_prose and any(fact.seqs)
    return (fact.last, is_note(fact.text), fact.speaker is Speaker.MODEL) if is_said else ()


def _of_said(fact: Fact, others: int, whole: float, *, is_end: bool) -> float:
    """What people lay down in common words counts in full, of a line that is full of rare words (``whole``: what they
    weigh) less: a piece of an article, however short, would outweigh the others."""
    factor = _OF_OTHERS if is_note(fact.text) else _OF_THE_MODEL if fact.speaker is Speaker.MODEL else 1.0
    factor *= float(others ** -(_AT_AN_END if is_end and factor == 1.0 else _AMONG_OTHERS))
    return factor * (_ASKED if asks(fact.text) else 1.0) * sqrt(_FULL_LINE / max(_FULL_LINE, whole))


def _telling(facts: Sequence[Fact]) -> list[Fact]:
    """Without what weighs nothing, and places that another fact names."""
    told = "\n".join(fact.text for fact in facts if fact.kind is not FactKind.PATH)
    return [
        fact
        for fact in facts
        if fact.pinned or (fact.weight and (fact.kind is not FactKind.PATH or fact.text not in told))
    ]
