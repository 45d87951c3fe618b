"""Which facts a checkpoint of so many tokens holds, and in which form: the most useful first. Pure.

A fact enters in its short form, and may then grow to its full one; every step has a price in tokens and a worth. The
prices are guesses, since records of one shape share a head and repeat no cell, so the text is rendered and measured,
and the guess corrected, until the room is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.compaction.facts.brief import is_exact, is_name
from bot.compaction.facts.checkpoint import line_of, rendered
from bot.compaction.facts.fact import RECORDS, Fact, FactKind, FactStatus, Speaker
from bot.compaction.facts.records import Fields, as_text, fields_of
from bot.estimate import Family, message_tokens, text_tokens
from bot.messages import text_block

_OLDEST = {
    FactKind.GOAL: 0.8,
    FactKind.CONSTRAINT: 0.85,
    FactKind.STATEMENT: 0.75,
    FactKind.ACTION: 0.7,
    FactKind.VALUE: 0.6,
    FactKind.PATH: 0.6,
}
"""What is left of a fact's worth when it is very old."""

_HALF_LIFE = 25.0
"""Entries after which half of what a fact can lose of its worth is lost."""

_SAID_AGAIN = 0.03
_LONGER = 0.5
"""The full form of a sentence adds this share of its worth to its short form."""

_LEVELS = (1.0, 0.9, 0.3)
"""What the forms of a record are worth: what is exact in it, what later calls may need besides, and everything."""
_AGAIN = 0.35
"""What is left of a form's worth when newer records hold all the values that it adds."""
_PINNED = 1_000.0
_SHARES = {"person": 0.4, "model": 0.1, "tool": 0.95}
"""Of the room, at first: nobody's words crowd out everybody else's. What is left is anybody's."""

_TRIES = 30
"""Steps that are tried one by one at the end, when the prices were too wrong to use the room."""

_ROUNDS = 6
_CLOSE = 0.97
"""A checkpoint that uses this share of its room is not tried to be improved."""


_Forms = list[str]
"""A fact's texts from the shortest to the full one."""


@dataclass(frozen=True)
class _Step:
    """Taking a fact in (level 0), or giving it its next larger form."""

    at: int
    level: int
    worth: float
    price: float


def checkpoint_tokens(text: str) -> float:
    """Guessed tokens of the entry that holds this checkpoint."""
    return message_tokens({"role": "user", "content": [text_block(text)]}, family=Family.NEWER)


def checkpoint_of(facts: Sequence[Fact], room: float) -> str:
    """The checkpoint with the most useful of these facts (oldest first) that takes at most ``room`` tokens.

    Empty when not even one fact fits.
    """
    facts = _without_told_places(facts)
    forms = [_forms(fact) for fact in facts]
    steps = _steps(facts, forms)
    best: dict[int, int] = {}
    text, used = "", 0.0
    low, high, allowed = 0.0, float("inf"), room
    for _ in range(_ROUNDS):
        levels = _taken(steps, facts, allowed)
        if not levels:
            break
        tried = rendered(_chosen(facts, forms, levels))
        tokens = checkpoint_tokens(tried)
        if tokens > room:
            high = min(high, allowed)
        else:
            low = max(low, allowed)
            if tokens > used:
                best, text, used = levels, tried, tokens
        if _CLOSE * room <= tokens <= room or (tokens <= room and len(steps) == sum(levels.values()) + len(levels)):
            return text
        guess = allowed * room * 0.99 / tokens
        allowed = guess if low < guess < high else (low + min(high, 2 * guess)) / 2
    return _topped_up(facts, forms, steps, best, room) or text


def _without_told_places(facts: Sequence[Fact]) -> list[Fact]:
    """A place that another fact names is not told by itself."""
    told = "\n".join(fact.text for fact in facts if fact.kind is not FactKind.PATH)
    return [fact for fact in facts if fact.kind is not FactKind.PATH or fact.pinned or fact.text not in told]


def _topped_up(
    facts: Sequence[Fact], forms: Sequence[_Forms], steps: Sequence[_Step], levels: dict[int, int], room: float
) -> str:
    """With further steps, each tried by rendering the whole: what prices could not tell."""
    text = ""
    tries = _TRIES
    for step in steps:
        if levels.get(step.at, -1) + 1 != step.level:
            continue
        tries -= 1
        if tries < 0:
            break
        more = {**levels, step.at: step.level}
        tried = rendered(_chosen(facts, forms, more))
        if checkpoint_tokens(tried) <= room:
            levels, text = more, tried
    return text


def _steps(facts: Sequence[Fact], forms: Sequence[_Forms]) -> list[_Step]:
    prices = _Prices()
    steps: list[_Step] = []
    newest = max((max(fact.seqs, default=0) for fact in facts), default=0)
    fresh = _fresh(facts, forms)
    for at, fact in enumerate(facts):
        worth = _worth(fact, newest - max(fact.seqs, default=newest))
        paid = 0.0
        for level, form in enumerate(forms[at]):
            price = prices.of(fact, form)
            share = _LEVELS[level] if fact.kind in RECORDS else _LONGER**level
            new = fresh[at][level] if at in fresh else 1.0
            steps.append(_Step(at, level, worth * share * (_AGAIN + (1 - _AGAIN) * new), max(0.1, price - paid)))
            paid = price
    steps.sort(key=lambda step: -step.worth)
    return steps


def _forms(fact: Fact) -> _Forms:
    """A fact's texts from the shortest to the full one. Of records: what is exact, what is needed, everything."""
    forms = [fact.brief, fact.text] if fact.brief else [fact.text]
    if fact.kind in RECORDS:
        fields = fields_of(forms[0])
        first = 1 + int(next(iter(fields)) == "tool" or "@" in next(iter(fields)))
        core = {
            name: cell
            for at, (name, cell) in enumerate(fields.items())
            if at < first or is_exact(cell) or is_name(name, cell)
        }
        if len(core) < len(fields):
            forms.insert(0, as_text(core))
    return forms


def _fresh(facts: Sequence[Fact], forms: Sequence[_Forms]) -> dict[int, list[float]]:
    """By record, for each of its forms, the share of what it adds that the first form of no newer record holds."""
    seen: set[str] = set()
    found: dict[int, list[float]] = {}
    for at in range(len(facts) - 1, -1, -1):
        if facts[at].kind not in RECORDS:
            continue
        cells = [_cells(form) for form in forms[at]]
        shares: list[float] = []
        own: set[str] = set()
        for form in cells:
            added = form - own
            new = added - seen
            shares.append(1.0 if any(map(is_exact, new)) else len(new) / len(added) if added else 0.0)
            own |= form
        seen |= cells[0]
        found[at] = shares
    return found


def _cells(form: str) -> set[str]:
    return {part for cell in fields_of(form).values() for part in cell.split(", ")}


class _Prices:
    """Tokens of forms. Records of one shape share a head, and a cell like the one above it is free."""

    def __init__(self) -> None:
        self._above: dict[tuple[str, ...], Fields] = {}

    def of(self, fact: Fact, form: str) -> float:
        if fact.kind not in RECORDS:
            return text_tokens(f"\n{line_of(replace(fact, text=form))}", family=Family.NEWER)
        fields = fields_of(form)
        above = self._above.get(tuple(fields))
        self._above[tuple(fields)] = fields
        if above is None:
            return text_tokens(f"\n- {form}", family=Family.NEWER)
        cells = ["" if above[name] == cell else cell for name, cell in fields.items()]
        return text_tokens("\n" + "\t".join(cells), family=Family.NEWER)


def _worth(fact: Fact, age: int) -> float:
    """``age``: how many entries were written since the fact was last said."""
    if fact.pinned:
        return _PINNED + fact.weight
    oldest = _OLDEST[fact.kind]
    factor: float = oldest + (1 - oldest) * 0.5 ** (age / _HALF_LIFE)
    over = 0.5 if fact.status in (FactStatus.DONE, FactStatus.CANCELLED) else 1.0
    return fact.weight * factor * over * (1 + _SAID_AGAIN * (len(fact.seqs) - 1))


def _taken(steps: Sequence[_Step], facts: Sequence[Fact], room: float) -> dict[int, int]:
    """Which facts are taken in, and the level that each reaches."""
    levels: dict[int, int] = {}
    left = room
    budgets = {who: share * room for who, share in _SHARES.items()}
    for capped in (True, False):
        for step in steps:
            if levels.get(step.at, -1) + 1 != step.level or step.price > left:
                continue
            who = _who(facts[step.at])
            if capped and not facts[step.at].pinned and step.price > budgets[who]:
                continue
            levels[step.at] = step.level
            left -= step.price
            budgets[who] -= step.price
    return levels


def _chosen(facts: Sequence[Fact], forms: Sequence[_Forms], levels: Mapping[int, int]) -> list[Fact]:
    """The facts in their order, each in its form."""
    return [replace(facts[at], text=forms[at][levels[at]]) for at in sorted(levels)]


def _who(fact: Fact) -> str:
    if fact.kind in RECORDS or fact.kind is FactKind.PATH:
        return "tool"
    return "model" if fact.speaker is Speaker.MODEL else "person"
