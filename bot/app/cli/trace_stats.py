"""`palimpsest traces stats`: what compactions come to, by day, strategy, trigger or outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.book import opened, settings_for_looking
from bot.app.cli.process import Json, WronglyCalled, one_line_errors, run_to_its_end
from bot.app.cli.runs import Agent, Since, Until, wanted_of
from bot.app.cli.text import columns, json_text

if TYPE_CHECKING:
    from bot.app.cli.trace_statistics import Total
    from bot.runtime.settings import Settings
    from bot.store.operators.traces import Ran, Wanted

_ALL = 10_000_000
_HEADINGS = (
    "runs", "outcomes", "before", "after", "freed", "removed", "pauses", "waited", "longest", "p50", "p95", "cost",
    "undone",
)  # fmt: skip


def stats(
    *,
    days: Annotated[int | None, typer.Option(min=1, help="Of the last so many days, 24 hours each.")] = None,
    since: Since = None,
    until: Until = None,
    agent: Agent = None,
    by: Annotated[
        list[str] | None, typer.Option(help="day, strategy, trigger, outcome or agent; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Counts, tokens before and after, messages removed, what people waited for, seconds taken, and cost."""
    from bot.app.cli.trace_statistics import grouped, total

    with one_line_errors():
        if days and since:
            raise WronglyCalled("--days and --since both say since when: leave out one.")
        kinds = [kind for kind in ("day", "strategy", "trigger", "outcome", "agent") if by and kind in by]
        if unknown := set(by or ()) - set(kinds):
            raise WronglyCalled(f"{', '.join(sorted(unknown))}: --by is day, strategy, trigger, outcome or agent.")
        settings = settings_for_looking()
        wanted = wanted_of(agent=agent, since=f"{days}d" if days else since, until=until)
        found = run_to_its_end(_runs(settings, wanted))
    whole = total(found)
    groups = {kind: grouped(found, kind) for kind in kinds}
    if as_json:
        parts = {kind: {name: one.as_json() for name, one in group.items()} for kind, group in groups.items()}
        print(json_text({"total": whole.as_json(), "by": parts}))
        return
    for row in columns([("", *_HEADINGS), ("all", *_cells(whole))]):
        print(row)
    for kind, group in groups.items():
        print()
        for row in columns([(kind, *_HEADINGS), *((name, *_cells(one)) for name, one in group.items())]):
            print(row)


async def _runs(settings: Settings, wanted: Wanted) -> list[Ran]:
    from bot.store.operators import traces

    async with opened(settings) as database, database.read(long=True) as tx:
        return await traces.listed(tx, wanted, most=_ALL)


def _cells(one: Total) -> tuple[str, ...]:
    return (
        f"{one.runs:,}",
        ", ".join(f"{count:,} {name}" for name, count in one.outcomes.items()) or "none",
        f"{one.before:,}",
        f"{one.after:,}",
        f"{one.freed:,}",
        f"{one.removed:,} of {one.messages:,} messages ({one.reduction}%)" if one.messages else "",
        f"{one.pauses:,}",
        f"{one.waited:,.1f} s",
        f"{one.longest:,.1f} s",
        "" if one.p50 is None else f"{one.p50:,.1f} s",
        "" if one.p95 is None else f"{one.p95:,.1f} s",
        "not known" if one.cost is None else f"${one.cost:,.4f}",
        f"{one.undone:,}",
    )
