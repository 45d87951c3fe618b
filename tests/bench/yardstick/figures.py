"""What was measured, as figures that add up, and as tables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tests.bench.yardstick.planted import Score


class Measure(StrEnum):
    """What is counted."""

    VALUES = "values"
    """Values that later calls need and the request holds."""
    ONCE = "values not said again"
    """Of these, the ones that nobody says and no tool returns between the cut and the call."""
    SHORT = "values of short histories"
    ANSWERS = "answers"
    """Questions about plain talk that the request answers."""
    CONSTRAINTS = "constraints"
    """What people laid down in plain sentences."""
    UPDATES = "updates"
    """What holds instead of something else."""
    STALE = "stale"
    """What holds no more and is shown as if it did."""
    INVENTED = "invented"
    """Lines that are in nobody's words."""
    FACTS = "facts"
    """Of generated talk: what was said or returned, and holds."""
    RULES = "rules, decisions"
    REVIVED = "revived"
    """Of generated talk: cancelled tasks shown as open."""
    RECALL = "recall"
    """Questions whose answer is among the first five that are found."""
    FITS = "fits"
    VALID = "valid"


@dataclass(frozen=True)
class Figure:
    """How a contender did. ``group``: a domain, an author, a language; ``rounds``: how often it compacted."""

    measure: Measure
    group: str
    held_out: bool
    share: float
    contender: str
    score: Score
    rounds: int = 1


Some = Sequence[Figure]


def total(some: Iterable[Figure]) -> Score:
    """All of them together."""
    return sum((figure.score for figure in some), Score())


def percent(score: Score, *, digits: int = 0) -> str:
    """Of a hundred; a dash where nothing was counted."""
    return "–" if score.share is None else f"{100 * score.share:.{digits}f}"


def names(some: Some, of: Callable[[Figure], str]) -> list[str]:
    """What there is, in the order in which it came."""
    return list(dict.fromkeys(of(figure) for figure in some))


def by_group(some: Some, shares: Sequence[float], *, counts: bool = False) -> str:
    """A row for each contender, a column for each group and share; with ``counts``, hits and of how many."""
    groups = names(some, lambda figure: figure.group)
    there = {(figure.group, figure.share) for figure in some}
    columns = [(group, share) for group in groups for share in shares if (group, share) in there]
    rows = []
    for contender in names(some, lambda figure: figure.contender):
        mine = [figure for figure in some if figure.contender == contender]
        scores = [total(f for f in mine if (f.group, f.share) == column) for column in columns]
        cells = [f"{score.hits} of {score.of}" if counts else percent(score) for score in scores]
        rows.append([contender, *cells])
    heads = []
    for group, share in columns:
        first = some[0].contender if some else ""
        here = total(f for f in some if (f.contender, f.group, f.share) == (first, group, share))
        heads.append(f"{group} {share:.0%}" + ("" if counts else f" ({here.of})"))
    return table(heads, rows)


def by_rounds(some: Some) -> str:
    """A row for each contender, a column for each number of compactions."""
    rounds = sorted({figure.rounds for figure in some})
    rows = [
        [contender, *(percent(total(f for f in some if (f.contender, f.rounds) == (contender, n))) for n in rounds)]
        for contender in names(some, lambda figure: figure.contender)
    ]
    return table([str(number) for number in rounds], rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [["", *heads], ["---", *("--:" for _ in heads)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def brief(some: Some, *, seconds: float) -> str:
    """Every measure of both halves, as counts."""
    parts = [f"{seconds:.0f} s"]
    for measure in names(some, lambda figure: figure.measure):
        for held_out in (False, True):
            mine = [f for f in some if (f.measure, f.held_out) == (measure, held_out)]
            once = [figure for figure in mine if figure.rounds == 1]
            title = f"## {measure}{', held out' if held_out else ''}"
            if once:
                parts.append(f"{title}\n\n{by_group(once, sorted({f.share for f in once}, reverse=True), counts=True)}")
            if any(figure.rounds > 1 for figure in mine):
                parts.append(f"{title}, compacted so often\n\n{by_rounds(mine)}")
    return "\n\n".join(parts) + "\n"
