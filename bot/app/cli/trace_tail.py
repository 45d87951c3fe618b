"""`palimpsest traces tail`: the last compactions of all conversations, and those that end from now on."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from bot.app.cli.book import bus_of, opened, settings_for_looking
from bot.app.cli.process import one_line_errors, run_to_its_end
from bot.app.cli.runs import Agent, json_line, one_line, ran_json, wanted_of
from bot.app.cli.text import columns, json_text
from bot.bus import topics
from bot.bus.bells import SWEEP_SECONDS

if TYPE_CHECKING:
    from bot.runtime.settings import Settings
    from bot.store import Database, Tx
    from bot.store.operators.traces import Ran, Wanted

_SLACK_SECONDS = 60.0


def tail(
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with each that ends, until Ctrl-C.")] = False,
    most: Annotated[int, typer.Option("-n", "--most", min=0, help="So many of those before.")] = 10,
    agent: Agent = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON document on standard output; with -f a line for each compaction.")
    ] = False,
) -> None:
    """The last compactions that ended, the newest last."""
    with one_line_errors():
        settings = settings_for_looking()
        run_to_its_end(_tail(settings, wanted_of(agent=agent), most, follow=follow, as_json=as_json))


async def _tail(settings: Settings, wanted: Wanted, most: int, *, follow: bool, as_json: bool) -> None:
    async with opened(settings) as database:
        watch = _Watch(database, wanted)
        before = await watch.begin(most)
        if not follow and as_json:
            print(json_text([ran_json(ran) for ran in before]))
            return
        _say(before, as_json=as_json)
        if follow:
            async with bus_of(settings, database) as bus, bus.bell(topics.SETTLED) as bell:
                while True:
                    await bell.wait(SWEEP_SECONDS)
                    _say(await watch.ended(), as_json=as_json)


def _say(found: list[Ran], *, as_json: bool) -> None:
    for row in map(json_line, found) if as_json else columns(map(one_line, found)):
        print(row)
    sys.stdout.flush()


class _Watch:
    """Sees compactions end. It looks back as far as the oldest one that is under way, and a little further: the clocks
    of hosts differ."""

    def __init__(self, database: Database, wanted: Wanted) -> None:
        self._database = database
        self._wanted = wanted
        self._since: float | None = None
        self._known: set[str] = set()

    async def begin(self, most: int) -> list[Ran]:
        """The last so many that have ended, in the order of their beginning; from now on they are known."""
        from bot.store.operators import traces
        from bot.store.runs import ENDED, OPEN

        async with self._database.read(long=True) as tx:
            before = await traces.listed(tx, replace(self._wanted, states=ENDED), most=max(1, most))
            under_way = await traces.listed(tx, replace(self._wanted, states=OPEN))
            self._move([*before[:1], *under_way])
            await self._look(tx)
        return before[:most][::-1]

    async def ended(self) -> list[Ran]:
        """Those that have ended since the last look, in that order."""
        async with self._database.read(long=True) as tx:
            new = await self._look(tx)
        return sorted(new, key=lambda ran: ran.finished_at or ran.started_at)

    async def _look(self, tx: Tx) -> list[Ran]:
        from bot.store.operators import traces

        found = await traces.listed(tx, replace(self._wanted, since=self._since))
        new = [ran for ran in found if not ran.is_open and ran.id not in self._known]
        self._known = {ran.id for ran in found if not ran.is_open}
        self._move([*found[:1], *(ran for ran in found if ran.is_open)])
        return new

    def _move(self, seen: list[Ran]) -> None:
        """``seen``: the newest and those that are under way."""
        if seen:
            self._since = min(ran.started_at for ran in seen) - _SLACK_SECONDS
