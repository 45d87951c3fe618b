"""`palimpsest traces`: what compactions did. It reads the book; `rebuild` alone writes, the daily files."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.app.cli.book import NothingFound, day_named, opened, opened_with_files, settings_for_looking
from bot.app.cli.process import Json, WronglyCalled, one_line_errors, run_to_its_end
from bot.app.cli.runs import (
    HEADINGS,
    Agent,
    DayOption,
    Outcome,
    Since,
    TriggerOption,
    Until,
    one_line,
    ran_json,
    wanted_of,
)
from bot.app.cli.text import columns, json_text, line, printable, room_of
from bot.app.cli.trace_stats import stats
from bot.app.cli.trace_tail import tail

if TYPE_CHECKING:
    from bot.runtime.settings import Settings
    from bot.store import Tx
    from bot.store.operators.traces import Day, Ran, Wanted

app = typer.Typer(help="What compactions did: lists, single ones, sums, and the daily files.", no_args_is_help=True)
app.command()(tail)
app.command()(stats)

_DAY_SECONDS = 86_400.0


@app.command("list")
def list_traces(
    *,
    agent: Agent = None,
    day: DayOption = None,
    since: Since = None,
    until: Until = None,
    outcome: Outcome = None,
    trigger: TriggerOption = None,
    most: Annotated[int, typer.Option(min=1, help="So many at most, the newest.")] = 100,
    as_json: Json = False,
) -> None:
    """Compactions, the newest first; days and times are UTC, as in the files' names."""
    with one_line_errors():
        settings = settings_for_looking()
        wanted = wanted_of(agent=agent, day=day, since=since, until=until, outcome=outcome, trigger=trigger)
        found = run_to_its_end(_listed(settings, wanted, most))
        if not found and agent and not run_to_its_end(_is_there(settings, agent)):
            raise NothingFound(f"There is no conversation {agent}. `palimpsest agents list` has their ids.")
        if as_json:
            print(json_text([ran_json(ran) for ran in found]))
            return
        for row in _table(found):
            print(row)


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN|AGENT|FILE", help="A compaction's id, or how it begins; or an agent; or a daily file."
        ),
    ],
    day: Annotated[str | None, typer.Argument(help="Of an agent: the UTC day; the newest, if it is not said.")] = None,
    as_json: Json = False,
) -> None:
    """One compaction, or all of an agent's day, as the trace has it, or a daily file with all that it refers to;
    rendered in a terminal."""
    with one_line_errors():
        if name.endswith((".md", ".md.gz")):
            if day or as_json:
                raise WronglyCalled("A file is shown whole, and as text.")
            _print(_file(name))
            return
        settings = settings_for_looking()
        if as_json:
            print(json_text(run_to_its_end(_details(settings, name.strip(), day))))
            return
        _print(run_to_its_end(_text(settings, name.strip(), day)))


@app.command()
def rebuild(
    agent: Agent = None,
    day: DayOption = None,
    check: Annotated[bool, typer.Option("--check", help="Only say what differs; then the exit code is 1.")] = False,
    as_json: Json = False,
) -> None:
    """Write the daily files that are missing, or not as the database has them; agents may run meanwhile."""
    with one_line_errors():
        settings = settings_for_looking()
        try:
            found = run_to_its_end(_rebuilt(settings, agent, day, check=check))
        except OSError as error:
            raise NothingFound(f"{error.filename} cannot be read or written: {error.strerror}.") from error
    if as_json:
        print(json_text(found))
    else:
        for one in found:
            print(f"{line(one['file'])}  {one['state']}{', written' if one['written'] else ''}")
        if not found:
            print("All daily files are as the database has them.")
    if check and found:
        raise typer.Exit(1)


def _table(found: list[Ran]) -> list[str]:
    return (
        columns([HEADINGS, *map(one_line, found)], room_of(sys.stdout)) if found else ["There is no such compaction."]
    )


async def _listed(settings: Settings, wanted: Wanted, most: int) -> list[Ran]:
    from bot.store.operators import traces

    async with opened(settings) as database, database.read(long=True) as tx:
        return await traces.listed(tx, wanted, most=most)


async def _is_there(settings: Settings, agent: str) -> bool:
    from bot.messages import AgentId
    from bot.store.operators import conversations

    async with opened(settings) as database, database.read() as tx:
        return await conversations.get(tx, AgentId(agent)) is not None


async def _text(settings: Settings, name: str, day: str | None) -> str:
    from bot.compaction.trace import in_full
    from bot.store import runs
    from bot.store.operators import traces

    async with opened(settings) as database, database.read() as tx:
        if day is None and (run_id := await _run_called(tx, name)):
            run = await runs.get(tx, run_id)
            assert run is not None
            section = await traces.section_of(tx, run)
            if section is None:
                raise NothingFound(f"The compaction {run_id} has no trace yet: it is {run.state.value}.")
            return in_full(section)
        found = await _day_of(tx, name, day, database.clock())
        return await traces.file_of(tx, found)


def _file(name: str) -> str:
    """A daily file, in which nothing is left out that stands further above."""
    from pathlib import Path

    from bot.agent.compacting import daily_file
    from bot.compaction.trace import BrokenTrace, in_full, sections_in

    try:
        text = daily_file.read(Path(name.removesuffix(".gz")))
        if text is None:
            raise NothingFound(f"There is no file {name}.")
        return "".join(map(in_full, sections_in(text)))
    except BrokenTrace as error:
        raise NothingFound(
            f"{name} was changed since it was written: {error}. `palimpsest traces rebuild` writes it anew."
        ) from error
    except OSError as error:
        raise NothingFound(f"{name} cannot be read: {error}.") from error


async def _details(settings: Settings, name: str, day: str | None) -> dict[str, Any]:
    from bot.compaction.trace import in_full
    from bot.store import runs
    from bot.store.operators import traces

    async with opened(settings) as database, database.read() as tx:
        if day is None and (run_id := await _run_called(tx, name)):
            run = await runs.get(tx, run_id)
            assert run is not None
            (ran,) = await traces.listed(tx, traces.Wanted(ids=(run_id,)))
            result = run.result
            return {
                **ran_json(ran),
                "plan": run.plan,
                "summary": result.summary if result else None,
                "inference": [request.as_json() for request in await traces.asked_for(tx, run)],
                "meter": {
                    "before": run.meter_before.as_json(),
                    "after": run.meter_after.as_json() if run.meter_after else None,
                },
                "trace": in_full(section) if (section := await traces.section_of(tx, run)) else None,
            }
        found = await _day_of(tx, name, day, database.clock())
        since, until = found.bounds
        of_day = traces.Wanted(agents=(found.agent_id,), since=since, until=until)
        return {
            "agent": found.agent_id,
            "day": found.day,
            "runs": [ran_json(ran) for ran in reversed(await traces.listed(tx, of_day))],
            "trace": await traces.file_of(tx, found),
        }


async def _run_called(tx: Tx, name: str) -> str | None:
    """The id of the one compaction that begins so; None where none does."""
    from bot.store.operators import traces

    found = await traces.called(tx, name) if name else []
    if len(found) > 1:
        raise NothingFound(f"More than one compaction begins with {name}: give more of it.")
    return found[0] if found else None


async def _day_of(tx: Tx, name: str, day: str | None, now: float) -> Day:
    from bot.messages import AgentId
    from bot.store.operators import traces

    agent_id = AgentId(name)
    days = await traces.days(tx, traces.Wanted(agents=(agent_id,)))
    if not days:
        raise NothingFound(
            f"No compaction begins with {name}, and no agent of that name has a trace. `palimpsest traces list` shows "
            "both."
        )
    if day is None:
        return days[-1]
    wanted = traces.Day(agent_id, day_named(day, now))
    if wanted not in days:
        there = ", ".join(one.day for one in days[-5:])
        raise NothingFound(f"{agent_id} has no trace of {wanted.day}; the last days that it has: {there}.")
    return wanted


async def _rebuilt(settings: Settings, agent: str | None, day: str | None, *, check: bool) -> list[dict[str, Any]]:
    import time

    from bot.agent.compacting import trace_files
    from bot.store.operators import traces

    wanted = wanted_of(agent=agent, day=day)
    async with opened_with_files(settings) as database:
        async with database.read(long=True) as tx:
            days = set(await traces.days(tx, wanted))
        named = day_named(day, time.time()) if day else None
        there = set(trace_files.days_on_disk(settings.data_dir))
        days |= {one for one in there if (agent in (None, one.agent_id)) and (named in (None, one.day))}
        if kept := settings.retention.trace_files_days:
            oldest = time.time() - kept * _DAY_SECONDS
            days = {one for one in days if named or one.bounds[1] > oldest}
        found = await trace_files.differences(database, settings.data_dir, sorted(days))
        return [
            {
                "agent": one.day.agent_id,
                "day": one.day.day,
                "file": str(one.path),
                "state": one.state,
                "written": not check
                and one.state != "left over"
                and await trace_files.rebuild(database, settings.data_dir, one.day),
            }
            for one in found
        ]


def _print(text: str) -> None:
    if sys.stdout.isatty():
        _render(printable(text))
    else:
        print(text.rstrip("\n"))


def _render(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    os.environ.setdefault("LESS", "-R")  # without it, less shows colours as signs
    with console.pager(styles=True) if text.count("\n") > console.height else nullcontext():
        console.print(Markdown(text, hyperlinks=False))
