"""The figures as tables, and the page that they stand in (page.md beside this file). Pure but for reading that file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.yardstick.needs import ValueKind
from tests.bench.yardstick.planted import Score, Verdict
from tests.bench.yardstick.recorded import Shape
from tests.bench.yardstick.trials import SHARES, Half, Trial, share_kept, verdict_on

GENERATED = "generated"
NOTHING = "no conversations were given with `--data`"
_MIDDLE = 0.25
_SCORES: dict[str, Callable[[Verdict], Score]] = {
    "facts": lambda verdict: verdict.facts,
    "rules, decisions": lambda verdict: verdict.rules,
    "stale": lambda verdict: verdict.stale,
    "revived": lambda verdict: verdict.revived,
}

Some = Sequence[Trial]


def page(trials: Some, *, command: str, seconds: float) -> str:
    """The whole page, with these figures."""
    template = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    tables = {
        "command": command,
        "seconds": f"{seconds:.0f}",
        "counts": _counts(trials),
        "recorded": _recorded(trials),
        "kinds": _kinds(trials),
        "generated": "\n\n".join(_planted(trials, share) for share in SHARES),
        "languages": _languages(trials),
        "requests": _requests(trials),
    }
    for name, text in tables.items():
        template = template.replace(f"{{{{{name}}}}}", text)
    return template


def _recorded(trials: Some) -> str:
    """Values kept, by how the conversations were made and by share."""
    some = [trial for trial in trials if trial.case.group != GENERATED]
    if not some:
        return NOTHING
    columns = [(shape, share) for shape in Shape for share in SHARES]

    def cell(mine: Some, shape: Shape, share: float) -> str:
        here = [trial for trial in mine if trial.case.group == shape and trial.share == share]
        return _both(here, share_kept)

    counts = {shape: share_kept(_one_trial_each(_held_out(some), shape)).of for shape in Shape}
    head = [f"{shape} {share:.0%} ({counts[shape]})" for shape, share in columns]
    return _table(head, [(name, [cell(mine, *at) for at in columns]) for name, mine in _by_contender(some)])


def _kinds(trials: Some) -> str:
    """Values kept by what they are; held-out half, all shapes, at a quarter of the size."""
    some = [trial for trial in _held_out(trials) if trial.case.group != GENERATED and trial.share == _MIDDLE]
    if not some:
        return NOTHING
    rows = [
        (
            name,
            [*(_percent(share_kept(mine, kind=kind)) for kind in ValueKind), _percent(share_kept(mine, only_new=True))],
        )
        for name, mine in _by_contender(some)
    ]
    counted = next(iter(_by_contender(some)))[1]
    head = [*(f"{kind} ({share_kept(counted, kind=kind).of})" for kind in ValueKind)]
    return _table([*head, f"not said again ({share_kept(counted, only_new=True).of})"], rows)


def _planted(trials: Some, share: float) -> str:
    """What was planted, at one share."""
    some = [trial for trial in trials if trial.case.group == GENERATED and trial.share == share]
    rows = [
        (name, [_both(mine, lambda of, score=score: score(verdict_on(of))) for score in _SCORES.values()])  # type: ignore[misc]
        for name, mine in _by_contender(some)
    ]
    return f"At {share:.0%}:\n\n{_table(list(_SCORES), rows)}"


def _languages(trials: Some) -> str:
    """Facts and rules by language; held-out half, at a quarter of the size."""
    some = [trial for trial in _held_out(trials) if trial.case.group == GENERATED and trial.share == _MIDDLE]
    languages = sorted({trial.case.language for trial in some})

    def cells(mine: Some, language: str) -> list[str]:
        verdict = verdict_on(trial for trial in mine if trial.case.language == language)
        return [_percent(verdict.facts), _percent(verdict.rules)]

    head = [f"{language} {what}" for language in languages for what in ("facts", "rules")]
    rows = [
        (name, [cell for language in languages for cell in cells(mine, language)]) for name, mine in _by_contender(some)
    ]
    return _table(head, rows)


def _requests(trials: Some) -> str:
    """Sizes, fits and validity, of all conversations of both halves."""

    def cells(mine: Some) -> list[str]:
        found = []
        for share in SHARES:
            here = [trial for trial in mine if trial.share == share]
            found.append(f"{sum(trial.size for trial in here) / len(here):.0%}")
            found.append(_percent(Score(sum(trial.fits for trial in here), len(here))))
        return [*found, _percent(Score(sum(trial.valid for trial in mine), len(mine)))]

    head = [column for share in SHARES for column in (f"size at {share:.0%}", "fits")]
    return _table([*head, "valid"], [(name, cells(mine)) for name, mine in _by_contender(trials)])


def _counts(trials: Some) -> str:
    """How many conversations of each kind each half has."""
    groups = dict.fromkeys(trial.case.group for trial in trials)
    found = Counter((group, trial.case.half) for group in groups for trial in _one_trial_each(trials, group))
    return "; ".join(f"{found[group, Half.HELD_OUT]} {group} ({found[group, Half.TUNED]})" for group in groups)


def _by_contender(trials: Some) -> list[tuple[str, Some]]:
    names = dict.fromkeys(trial.contender for trial in trials)
    return [(name, [trial for trial in trials if trial.contender == name]) for name in names]


def _one_trial_each(trials: Some, group: str) -> Some:
    """The first contender's trials at the first share: one for each conversation of this group."""
    first = trials[0].contender if trials else ""
    return [trial for trial in trials if (trial.contender, trial.share, trial.case.group) == (first, SHARES[0], group)]


def _held_out(trials: Some) -> Some:
    return [trial for trial in trials if trial.case.half is Half.HELD_OUT]


def _both(trials: Some, score: Callable[[Some], Score]) -> str:
    """The held-out half, and the other one in brackets."""
    tuned = [trial for trial in trials if trial.case.half is Half.TUNED]
    return f"{_percent(score(_held_out(trials)))} ({_percent(score(tuned))})"


def _percent(score: Score) -> str:
    return "–" if score.share is None else f"{100 * score.share:.0f}"


def _table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    lines = [["", *head], ["---", *("--:" for _ in head)], *([name, *cells] for name, cells in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
