"""Many ask at once, on several hosts, some of which are killed: no budget is exceeded by more than one reservation, and
nothing stays reserved."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.estimate.meter import MeterRecord
from bot.history import Usage
from bot.runtime.amounts import Amount
from bot.runtime.prices import nano
from bot.store import Database, agents, runs
from bot.store.money import budgets, spending
from bot.store.money.budgets import Budget, Scope, Standing
from bot.store.runs import NewRun
from tests.fundamentals.money.racer import ANSWER, PROMPT, address_of, run_of
from tests.house import MODEL

ROOT = Path(__file__).parents[3]
LONG = "LONG" in os.environ
REQUESTS, KILLS = (1_000, 8) if LONG else (120, 2)
HOSTS = ("a", "b", "c", "d")
PEOPLE = [f"p{number}" for number in range(20)]
MOST = nano(MODEL, Usage(input=PROMPT, output=ANSWER)) or 0
"""That is reserved for one of them, in nano-dollars."""
EACH = REQUESTS // len(PEOPLE)
USUAL = {"person": EACH * MOST * 6 // 10, "chat": max(MOST, EACH * MOST * 2 // 10), "day": REQUESTS * MOST * 4 // 10}
USUAL["month"] = USUAL["day"] - MOST // 3
PATIENCE = 900.0


@pytest.fixture
async def database(book_url: str) -> AsyncIterator[Database]:
    opened = Database(book_url)
    await opened.open()
    async with opened.write() as tx:
        for person in PEOPLE:
            for host in HOSTS:
                await agents.ensure(tx, address_of(host, person), now=opened.clock())
                await runs.begin(tx, _new_run(host, person), now=opened.clock())
        await budgets.choose(tx, Budget(Scope.PERSON, Amount(3 * MOST), "room", "p3"), now=opened.clock())
        chat = Budget(Scope.CHAT, Amount(MOST), "", address_of("a", "p4").agent_id)
        await budgets.choose(tx, chat, now=opened.clock())
    yield opened
    await opened.close()


def _new_run(host: str, person: str) -> NewRun:
    meter = MeterRecord.from_json({"total": 1, "limit": 2, "parts": {}, "source": "estimate", "level": "ok"})
    run = run_of(host, person)
    return NewRun(run.id, run.agent_id, "auto", "reset", "", None, 0, (), {}, "", MODEL, 1_000, meter)


@dataclass
class Race:
    """``left``: what each host still has to ask; ``ended``: how it ended, by who asked."""

    url: str
    left: dict[str, set[tuple[str, int]]]
    ended: dict[tuple[str, int], str] = field(default_factory=dict)
    running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    kills: int = 0

    async def run(self, host: str) -> None:
        """Until it has asked all, however often it is killed."""
        while self.left[host]:
            pipe = asyncio.subprocess.PIPE
            arguments = (host, self.url, json.dumps(USUAL), str(self.kills * REQUESTS))
            command = (sys.executable, "-m", "tests.fundamentals.money.racer", *arguments)
            process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe)
            self.running[host] = process
            try:
                assert process.stdin
                assert process.stdout
                process.stdin.write(json.dumps(sorted(self.left[host])).encode())
                process.stdin.close()
                since = 0
                async for line in process.stdout:
                    end, person, number = json.loads(line)
                    self.left[host].discard((person, number))
                    self.ended[person, number] = end
                    since += 1
                    if end == "done" and since >= REQUESTS // 40 and self.kills < KILLS and self.left[host]:
                        self.kills += 1
                        process.kill()
                        break
                code = await process.wait()
                assert code in (0, -9), f"host {host} ended with {code}"
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


@pytest.mark.timeout(PATIENCE + 60)
async def test_racing_hosts_exceed_no_budget_by_more_than_one_reservation_and_nothing_stays_reserved(
    database: Database, book_url: str
) -> None:
    asked = [(person, number) for number in range(EACH) for person in PEOPLE]
    race = Race(book_url, {host: set(asked[at :: len(HOSTS)]) for at, host in enumerate(HOSTS)})
    over = list[str]()

    async def watch() -> None:
        """At every moment what is spent and what is reserved is no more than that."""
        while True:
            over.extend(_over(await _stand(database)))
            await asyncio.sleep(0.2)

    began = time.monotonic()
    watching = asyncio.create_task(watch())
    try:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as racing:
            for host in HOSTS:
                racing.create_task(race.run(host))
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    stand = await _stand(database)
    async with database.read() as tx:
        added = await spending.total(tx, spending.of_all(), "20000101", "29991231")
    ends = {end: [*race.ended.values()].count(end) for end in ("done", "refused")}
    told = f"{ends}, {race.kills} kills, {added.estimated} estimated, {time.monotonic() - began:.1f} s"
    print(told)  # noqa: T201 - figures, which `-s` shows
    assert not over, f"exceeded: {over[:3]}; {told}"
    assert not _over(stand), f"exceeded: {_over(stand)}; {told}"
    assert sum(ends.values()) == REQUESTS, told
    assert race.kills == KILLS, told
    assert not [one for one in stand if one.reserved], f"something stays reserved; {told}"
    assert added.requests - added.estimated >= ends["done"], told
    assert [one for one in stand if one.is_used_up], f"nobody came to any end; {told}"


async def _stand(database: Database) -> list[Standing]:
    month, day = Budget(Scope.MONTH, Amount(USUAL["month"])), Budget(Scope.DAY, Amount(USUAL["day"]))
    holds = [month, day]
    for person in PEOPLE:
        most = 3 * MOST if person == "p3" else USUAL["person"]
        holds.append(Budget(Scope.PERSON, Amount(most), "room", person))
        for host in HOSTS:
            most = MOST if (host, person) == ("a", "p4") else USUAL["chat"]
            holds.append(Budget(Scope.CHAT, Amount(most), "", address_of(host, person).agent_id))
    async with database.read() as tx:
        return [*await budgets.standings(tx, holds, now=database.clock())]


def _over(stand: list[Standing]) -> list[str]:
    over = [one for one in stand if one.spent + one.reserved > one.limit.number + MOST]
    return [
        f"{one.budget.scope} {one.budget.subject}: {one.spent} + {one.reserved} of {one.limit.number}" for one in over
    ]
