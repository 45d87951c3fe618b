"""The figures as tables, and the page that they stand in (page.md beside this file). Pure but for reading that file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench.yardstick import fetch
from tests.bench.yardstick.figures import (
    Figure,
    Measure,
    Some,
    by_group,
    by_rounds,
    names,
    percent,
    table,
    total,
)
from tests.bench.yardstick.made_up import GROUP, SHARES
from tests.bench.yardstick.measures import SHORT_SHARES
from tests.bench.yardstick.wordings import SETS

NOTHING = "Nothing was measured: no folder was given with `--data`."
_PARTS: dict[str, tuple[Measure, Sequence[float]]] = {
    "answers": (Measure.ANSWERS, (0.25, 0.10)),
    "constraints": (Measure.CONSTRAINTS, (0.20, 0.10)),
    "updates": (Measure.UPDATES, (0.20,)),
    "stale": (Measure.STALE, (0.20, 0.10)),
}


def page(figures: Some, *, command: str, seconds: float) -> str:
    """The whole page, with these figures."""
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    parts = {
        "command": command,
        "minutes": f"{seconds / 60:.0f}",
        "values": _values(figures),
        "short": _short(figures),
        **{name: _halves(figures, measure, shares) for name, (measure, shares) in _PARTS.items()},
        "invented": _invented(figures),
        "chains": _chains(figures),
        "generated": _generated(figures),
        "requests": _requests(figures),
        "recall": _recall(figures),
        "sources": _sources(),
    }
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _halves(figures: Some, measure: Measure, shares: Sequence[float]) -> str:
    """What is held out first."""
    parts = []
    for title, held_out in (("Held out", True), ("Seen while building", False)):
        some = [
            figure
            for figure in _recorded(figures)
            if (figure.measure, figure.held_out, figure.rounds) == (measure, held_out, 1) and figure.share in shares
        ]
        if some:
            parts.append(f"{title}:\n\n{by_group(some, shares)}")
    return "\n\n".join(parts) or NOTHING


def _values(figures: Some) -> str:
    """By domain, then all domains together, with and without what comes again by itself."""
    groups = {Measure.VALUES: "all", Measure.ONCE: "all but repeated"}
    every = [
        replace(figure, measure=Measure.VALUES, group=groups[figure.measure])
        for measure in groups
        for figure in figures
        if figure.measure is measure
    ]
    return _halves([*figures, *every], Measure.VALUES, (0.25, 0.10))


def _short(figures: Some) -> str:
    some = [
        replace(figure, group="held out" if figure.held_out else "seen")
        for figure in sorted(figures, key=lambda figure: not figure.held_out)
        if figure.measure is Measure.SHORT
    ]
    return by_group(some, SHORT_SHARES) if some else NOTHING


def _invented(figures: Some) -> str:
    """Lines of all data together, by who shows lines."""
    some = [figure for figure in figures if figure.measure is Measure.INVENTED]
    groups = {"tools": Measure.VALUES, "plain chat": Measure.ANSWERS, "prose": Measure.CONSTRAINTS}
    rows = []
    for contender in names(some, lambda figure: figure.contender):
        cells = []
        for measure in groups.values():
            among = {figure.group for figure in figures if figure.measure is measure}
            score = total(f for f in some if f.contender == contender and f.group in among)
            cells.append(f"{score.hits} of {score.of:,}")
        rows.append([contender, *cells])
    return table(list(groups), rows) if rows else NOTHING


def _chains(figures: Some) -> str:
    parts = []
    for measure in (Measure.CONSTRAINTS, Measure.STALE):
        some = [f for f in _recorded(figures) if f.measure is measure and f.share == 0.25]
        if some:
            parts.append(f"{str(measure).capitalize()}, both halves:\n\n{by_rounds(some)}")
    return "\n\n".join(parts) or NOTHING


def _generated(figures: Some) -> str:
    measures = (Measure.FACTS, Measure.RULES, Measure.STALE, Measure.REVIVED)
    some = [figure for figure in figures if figure.group.startswith(GROUP)]
    columns = [(share, measure) for share in SHARES for measure in measures]

    def cell(mine: Some, share: float, measure: Measure) -> str:
        here = [figure for figure in mine if (figure.share, figure.measure) == (share, measure)]
        seen, *held = (percent(total(f for f in here if f.group.endswith(wordings))) for wordings in SETS)
        return f"{', '.join(held)} ({seen})"

    rows = [[name, *(cell(mine, *column) for column in columns)] for name, mine in _by_contender(some)]
    return table([f"{measure} {share:.0%}" for share, measure in columns], rows)


def _requests(figures: Some) -> str:
    """Fits at each share, and validity, of all conversations."""
    some = [figure for figure in figures if figure.measure in (Measure.FITS, Measure.VALID)]
    rows = [
        [
            name,
            *(percent(total(f for f in mine if (f.measure, f.share) == (Measure.FITS, share))) for share in SHARES),
            percent(total(f for f in mine if f.measure is Measure.VALID)),
        ]
        for name, mine in _by_contender(some)
    ]
    return table([*(f"fits at {share:.0%}" for share in SHARES), "valid"], rows)


def _recall(figures: Some) -> str:
    """The other measures have a share of the size; this one has none."""
    some = [figure for figure in figures if figure.measure is Measure.RECALL]
    groups = names(some, lambda figure: figure.group)
    rows = [
        [name, *(percent(total(f for f in mine if f.group == group), digits=1) for group in groups)]
        for name, mine in _by_contender(some)
    ]
    heads = [f"{group} ({total(f for f in some if f.group == group).of // len(rows)})" for group in groups]
    return table(heads, rows) if rows else NOTHING


def _sources() -> str:
    """Where the conversations are from, each repository once."""
    found = {source.repository: source for source in fetch.sources()}
    rows = [
        [
            f"[{source.repository}](https://github.com/{source.repository})",
            ", ".join(part.name for part in fetch.PARTS if part.source == source.name),
            source.licence,
        ]
        for source in found.values()
    ]
    return table(["for", "licence"], rows).replace("--:", "---")


def _by_contender(some: Some) -> list[tuple[str, list[Figure]]]:
    return [
        (name, [figure for figure in some if figure.contender == name])
        for name in names(some, lambda figure: figure.contender)
    ]


def _recorded(figures: Some) -> list[Figure]:
    return [figure for figure in figures if not figure.group.startswith(GROUP)]
