"""Compactions on the command line: which ones are meant, and how one is shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bot.app.cli.book import day_bounds, moment
from bot.app.cli.process import WronglyCalled
from bot.app.cli.text import cut, utc

if TYPE_CHECKING:
    from bot.store.operators.traces import Ran, Wanted

Agent = Annotated[str | None, typer.Option(help="Of this conversation alone, e.g. telegram-12345.")]
DayOption = Annotated[str | None, typer.Option("--day", help="Of this UTC day: 20261121, today or yesterday.")]
Since = Annotated[str | None, typer.Option(help="Begun since: a UTC day, 2026-11-21T10:30, or 24h, 7d (ago).")]
Until = Annotated[str | None, typer.Option(help="Begun before; written as for --since.")]
Outcome = Annotated[
    list[str] | None, typer.Option(help="done, empty, failed, aborted, planned, running; may be repeated.")
]
TriggerOption = Annotated[
    list[str] | None, typer.Option("--trigger", help="auto, manual, recovery, ahead, rolling, facts; may be repeated.")
]


def wanted_of(
    *,
    agent: str | None = None,
    day: str | None = None,
    since: str | None = None,
    until: str | None = None,
    outcome: list[str] | None = None,
    trigger: list[str] | None = None,
) -> Wanted:
    """Which compactions these options name. Raises WronglyCalled."""
    import time

    from bot.compaction.plan import Trigger
    from bot.messages import AgentId
    from bot.store.operators.traces import Wanted
    from bot.store.runs import OPEN, RunState

    now, triggers = time.time(), get_args(Trigger)
    if day and (since or until):
        raise WronglyCalled("--day is a whole day: leave out --since and --until, or --day.")
    begins, ends = day_bounds(day, now) if day else (None, None)
    states = {state.value: (state,) for state in RunState} | {"running": OPEN}
    if unknown := (set(outcome or ()) - set(states)) | (set(trigger or ()) - set(triggers)):
        raise WronglyCalled(
            f"{', '.join(sorted(unknown))}: outcomes are {', '.join(states)}; triggers are {', '.join(triggers)}."
        )
    return Wanted(
        agents=(AgentId(agent),) if agent else None,
        since=moment(since, now) if since else begins,
        until=moment(until, now) if until else ends,
        states=tuple({state for name in outcome for state in states[name]}) if outcome else None,
        triggers=tuple(one for one in triggers if one in trigger) if trigger else None,
    )


def ran_json(ran: Ran) -> dict[str, Any]:
    """A compaction in brief."""
    from bot.app.cli.trace_statistics import freed_by, pause_of
    from bot.runtime.prices import cost
    from bot.runtime.utc_day import day_of

    ended = ran.finished_at
    return {
        "run": ran.id,
        "agent": ran.agent_id,
        "day": day_of(ran.started_at),
        "started": utc(ran.started_at),
        "finished": None if ended is None else utc(ended),
        "seconds": None if ended is None else round(ended - ran.started_at, 3),
        "trigger": ran.trigger,
        "strategy": ran.strategy,
        "outcome": ran.state.value,
        "reason": ran.reason,
        "focus": ran.focus,
        "model": ran.model,
        "turn": ran.turn,
        "jobs": ran.jobs,
        "before": ran.before.total,
        "after": ran.after.total if ran.after else None,
        "limit": ran.before.limit,
        "freed": freed_by(ran),
        "statistics": ran.stats,
        "pause": pause_of(ran),
        "usage": None if ran.usage is None else {"input": ran.usage.context, "output": ran.usage.output},
        "cost": cost(ran.model, ran.usage) if ran.usage else None,
        "undone": ran.undone,
    }


def one_line(ran: Ran) -> tuple[str, ...]:
    """The cells of one compaction in a list."""
    after = f"{ran.after.total:,}" if ran.after else "unchanged"
    took = "" if ran.finished_at is None else f"{ran.finished_at - ran.started_at:.1f} s"
    stats = ran.stats
    messages = f"{stats['originalCount']:,} → {stats['compactedCount']:,}" if stats else ""
    state = f"{ran.state.value}, undone" if ran.undone else ran.state.value
    return (
        utc(ran.started_at).removesuffix("+00:00") + "Z",
        ran.id[:8],
        ran.agent_id,
        ran.trigger,
        ran.strategy,
        state,
        f"{ran.before.total:,}",
        after,
        messages,
        took,
        f"({cut(ran.reason)})" if ran.reason else "",
    )


HEADINGS = ("started", "run", "agent", "trigger", "strategy", "outcome", "before", "after", "messages", "took", "")


def json_line(ran: Ran) -> str:
    """For whoever reads lines: one compaction, one line."""
    return json.dumps(ran_json(ran), ensure_ascii=False)
