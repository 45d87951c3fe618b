"""What is looked up when somebody asks for the metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families as families_of
from sqlalchemy import text

from bot.app.gauges import FRESH_SECONDS, Gauges
from bot.app.resources import Resources
from bot.bus.bus import Bus
from bot.bus.jobs import Jobs
from bot.compaction.plan import Plan
from bot.history import Usage
from bot.messages import Address, AgentId, Inbound
from bot.model import Link
from bot.model.chain import Chain
from bot.model.chains import Chains
from bot.model.scripted import ScriptedModel
from bot.runtime.amounts import NANO, amount
from bot.runtime.settings import Settings
from bot.store import Database, agents, inbox, outbox, runs, turns
from bot.store.money import budgets, ledger
from bot.store.money.budgets import Budget, Scope
from bot.store.money.ledger import Charge
from bot.store.operators import parked, queues
from bot.store.runs import NewRun
from tests.unit.one_run import a_meter

HERE = AgentId("room-1")
NOBODY = "redis://127.0.0.1:1"


@dataclass
class Gateway:
    """A gateway, as far as the gauges know one."""

    name: str
    is_active: bool


@pytest.fixture
async def resources(database: Database, tmp_path: Path) -> AsyncIterator[Resources]:
    """A book, and no Redis."""
    bus, jobs, model = Bus(NOBODY, "test"), Jobs(NOBODY, "test"), ScriptedModel()
    settings = Settings(_env_file=None, data_dir=tmp_path)
    chain = Chain([Link(model, "claude-sonnet-5")])
    yield Resources(settings, database, bus, NOBODY, jobs, Chains(chain, partial(Link, model)))
    await jobs.close()
    await bus.close()


async def shown(gauges: Gauges) -> dict[str, Metric]:
    """A scrape, by the names of the families."""
    page, content_type = await gauges.exposition("")
    assert content_type.startswith("text/plain")
    return {family.name: family for family in families_of(page.decode())}


def values(family: Metric) -> dict[tuple[str, ...], float]:
    """Numbers by the values of the labels."""
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


async def test_a_part_that_is_away_is_shown_and_the_rest_is_answered(resources: Resources, tmp_path: Path) -> None:
    found = await shown(Gauges(resources, book=True))
    assert values(found["palimpsest_redis_up"]) == {(): 0}
    assert values(found["palimpsest_database_up"]) == {(): 1}
    assert not found["palimpsest_jobs"].samples
    without_tables = Database.in_folder(tmp_path / "elsewhere")
    found = await shown(Gauges(replace(resources, database=without_tables), book=True))
    await without_tables.close()
    assert values(found["palimpsest_database_up"]) == {(): 0}
    assert values(found["palimpsest_database_errors"]) == {(): 1}
    assert not found["palimpsest_inbox_messages"].samples


async def test_the_form_is_the_one_that_was_asked_for(resources: Resources) -> None:
    page, content_type = await Gauges(resources, book=False).exposition("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert page.endswith(b"# EOF\n")


async def test_what_waits_in_the_book_is_counted_by_its_place(resources: Resources) -> None:
    database = resources.database
    await _fill(database)
    found = await shown(Gauges(resources, book=True, gateways=[Gateway("room", is_active=True)]))
    waiting = {key: number for key, number in values(found["palimpsest_inbox_messages"]).items() if number}
    assert waiting == {("room", "waiting"): 2, ("room", "parked"): 2, ("elsewhere", "waiting"): 1}
    assert values(found["palimpsest_inbox_messages"])["room", "fetching"] == 0
    assert values(found["palimpsest_inbox_oldest_seconds"]) == {("room",): 60, ("elsewhere",): 10}
    assert values(found["palimpsest_outbox_messages"]) == {("room",): 1}
    assert values(found["palimpsest_turns_running"]) == {(): 1}
    assert values(found["palimpsest_compactions_open"]) == {("planned",): 1, ("running",): 0}
    assert values(found["palimpsest_compaction_oldest_seconds"]) == {("planned",): 30, ("running",): 0}
    levels = {key: number for key, number in values(found["palimpsest_agents"]).items() if number}
    assert levels == {("true", "critical"): 1, ("false", "ok"): 1}
    assert values(found["palimpsest_connector_active"]) == {("room",): 1}


async def test_postgresql_counts_the_same(resources: Resources, postgres_database: str) -> None:
    postgres = Database(postgres_database, clock=resources.database.clock)
    await postgres.open()
    await _fill(resources.database)
    await _fill(postgres)
    async with resources.database.read() as ours, postgres.read() as theirs:
        assert await queues.depths(ours, now=1_000.0) == await queues.depths(theirs, now=1_000.0)
    await postgres.close()


async def test_what_is_spent_and_reserved_is_shown_and_how_near_budgets_are_to_their_end(resources: Resources) -> None:
    now, usual = resources.database.clock(), {"person_day": "2", "day": "8", "month": "1m tokens"}
    settings = Settings(_env_file=None, data_dir=resources.settings.data_dir, budget=usual)
    async with resources.database.write() as tx:
        for number, person in enumerate(("ada", "ada", "bob")):
            asked = Charge(f"{number}", HERE, now, "turn", "claude-sonnet-5", Usage(input=500_000), "room", person)
            await ledger.record(tx, [asked.priced()])
        await ledger.reserve(tx, Charge("9", HERE, now, "turn", "m", Usage(input=100), "room", "ada", cost=NANO // 4))
        await budgets.choose(tx, Budget(Scope.PERSON, amount("$3"), "room", "bob"), now=now)
    found = await shown(Gauges(replace(resources, settings=settings), book=True))
    assert values(found["palimpsest_spent_dollars"]) == {("day",): 3.0, ("month",): 3.0}
    assert values(found["palimpsest_spent_tokens"]) == {("day",): 1_500_000, ("month",): 1_500_000}
    assert values(found["palimpsest_reserved_dollars"]) == {(): 0.25}
    assert values(found["palimpsest_budget_share"]) == {("person",): 1.0, ("day",): 3 / 8, ("month",): 1.5}
    without = await shown(Gauges(resources, book=True))
    assert values(without["palimpsest_budget_share"]) == {("person",): 1 / 3}, "the one that was chosen"


async def test_a_worker_does_not_show_the_book(resources: Resources) -> None:
    assert "palimpsest_inbox_messages" not in await shown(Gauges(resources, book=False))


async def test_whoever_asks_again_at_once_is_shown_what_was_found_a_moment_ago(resources: Resources) -> None:
    now = 0.0
    gauges = Gauges(resources, book=True, clock=lambda: now)
    await shown(gauges)
    await _fill(resources.database)
    assert values((await shown(gauges))["palimpsest_turns_running"]) == {(): 0}
    now += FRESH_SECONDS + 1
    assert values((await shown(gauges))["palimpsest_turns_running"]) == {(): 1}


async def test_many_rows_that_are_settled_are_not_read_to_count_those_that_are_not(database: Database) -> None:
    async with database.read() as tx:
        for statement in (queues._INBOX, queues._OUTBOX, queues._TURNS, queues._RUNS):
            rows = await tx.execute(text(f"EXPLAIN QUERY PLAN {statement.compile(dialect=tx.dialect)}"))
            looks = [row[3] for row in rows if row[3].startswith(("SCAN", "SEARCH"))]
            assert looks
            assert all(" USING " in look for look in looks), looks


async def _fill(database: Database) -> None:
    """The book's clock stands at 1,000."""
    here, there = Address("room", "1"), Address("elsewhere", "2")
    async with database.write() as tx:
        for order, (address, came) in enumerate([(here, 950.0), (here, 940.0), (here, 930.0), (there, 990.0)]):
            message = Inbound(address, f"message:{order}", "message", order, "ada", "hello")
            await inbox.add(tx, message, now=came)
        last = [row.id for row in await inbox.waiting(tx, here.agent_id)][-1]
        await parked.park(tx, [last], "it broke", now=1_000.0)
        await parked.skip(tx, Inbound(here, "message:9", "message", 9, "ada", "hello"), "it broke", now=1_000.0)
        status = await outbox.say(tx, here, "a notice", now=1_000.0)
        slot = await outbox.open_slot(tx, here, now=1_000.0)
        await turns.begin(tx, "turn", here.agent_id, slot, now=1_000.0)
        await runs.begin(tx, _run(here.agent_id, status), now=970.0)
        await agents.remember(tx, here.agent_id, meter=replace(a_meter(90), level="critical"))
        long_ago = Address("room", "long ago")
        await agents.ensure(tx, long_ago, now=1_000.0 - 2 * queues.ACTIVE_SECONDS)
        await agents.remember(tx, long_ago.agent_id, meter=a_meter(90))


def _run(agent_id: AgentId, status: int) -> NewRun:
    return NewRun(
        id="run",
        agent_id=agent_id,
        trigger="auto",
        strategy="reset",
        focus="",
        turn_id=None,
        status_slot=status,
        stack=(),
        plan=Plan("reset", 1, 1).as_json(),
        head="",
        model="m",
        limit=100,
        meter_before=a_meter(90),
    )
