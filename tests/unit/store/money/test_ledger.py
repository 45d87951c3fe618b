"""What requests cost is written once, added up to the last digit, and outlives its rows, in both books."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.agent.money.unbooked import Unbooked
from bot.history import Usage
from bot.messages import Address, AgentId
from bot.model.charges import expected, reservation
from bot.runtime.amounts import Amount
from bot.runtime.utc_day import day_of
from bot.store import Database, agents, turns
from bot.store.archive import forgetting
from bot.store.archive.forgetting_person import forget_pairing
from bot.store.money import budgets, ledger, spending
from bot.store.money.budgets import Budget, Scope, Usual
from bot.store.money.ledger import ESTIMATED, Charge
from bot.store.money.limits import Limits
from bot.store.money.spending import Total
from tests.conftest import BOOKS

NOW = 1_700_000_000.0
EVER = ("20000101", "29991231")
HERE = Address("room", "1").agent_id
MODEL = "claude-sonnet-5"


@pytest.fixture(params=BOOKS)
def url(request: pytest.FixtureRequest) -> str:
    embedded = request.param == "embedded"
    return (
        f"sqlite:///{request.getfixturevalue('data_dir')}/palimpsest.db"
        if embedded
        else str(request.getfixturevalue("postgres_book"))
    )


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    opened = Database(url, clock=lambda: NOW)
    await opened.open()
    async with opened.write() as tx:
        await agents.ensure(tx, Address("room", "1"), now=NOW)
    yield opened
    await opened.close()


def charge(name: str = "", **changes: object) -> Charge:
    one = Charge(
        name or ledger.new_id(NOW),
        HERE,
        NOW,
        "turn",
        MODEL,
        Usage(input=100, cache_read=1_000, output=10),
        connector="room",
        person="ada",
    )
    return replace(one, **changes).priced()  # type: ignore[arg-type]  # fields of a charge


async def total(database: Database) -> Total:
    async with database.read() as tx:
        return await spending.total(tx, spending.of_all(), *EVER)


async def record(database: Database, *charges: Charge) -> None:
    async with database.write() as tx:
        await ledger.record(tx, charges)


async def test_what_is_written_again_is_counted_once(database: Database) -> None:
    one = charge()
    await record(database, one)
    await record(database, one, one)
    added = await total(database)
    assert (added.requests, added.cost, added.usage) == (1, one.cost, one.usage)


async def test_the_figures_of_the_provider_take_the_place_of_an_estimate_and_stay(database: Database) -> None:
    told = charge("one")
    guess = charge("one", usage=Usage(input=5_000), state=ESTIMATED)
    await record(database, guess)
    assert (await total(database)).cost == guess.cost
    await record(database, told)
    await record(database, guess)
    added = await total(database)
    assert (added.requests, added.estimated, added.cost) == (1, 0, told.cost)


async def test_whoever_asked_knows_more_of_an_estimate_than_somebody_after_them(database: Database) -> None:
    theirs = charge("one", usage=Usage(input=120, output=30), state=ESTIMATED, request="req_1")
    await record(database, charge("one", usage=Usage(input=5_000), state=ESTIMATED))
    await record(database, theirs)
    await record(database, charge("one", usage=Usage(input=5_000), state=ESTIMATED))
    added = await total(database)
    assert (added.requests, added.estimated, added.usage) == (1, 1, theirs.usage)


async def test_what_is_charged_while_something_else_is_written_is_not_forgotten(database: Database) -> None:
    """Two steps may write the same at once, and each says so when it is committed."""
    unbooked = Unbooked([charge("one")], ["two"])
    async with database.write() as tx:
        first, second = await unbooked.write(tx, HERE), await unbooked.write(tx, HERE)
    unbooked.charges.append(charge("three"))
    unbooked.forget(first)
    unbooked.forget(second)
    assert [one.id for one in unbooked.charges] == ["three"]
    assert not unbooked.released


async def test_a_request_is_expected_to_be_charged_as_the_last_one_left_the_cache(database: Database) -> None:
    asked = charge("next", at=NOW + 60)
    last = charge("a", usage=Usage(input=0, cache_read=900, cache_creation=100, output=10))
    assert expected(1_200, last, asked) == Usage(cache_read=1_000, cache_creation=200)
    assert expected(1_200, last, asked, kept=300) == Usage(cache_read=300, cache_creation=900), "after a compaction"
    assert expected(1_200, last, replace(asked, at=NOW + 600)) == Usage(cache_creation=1_200), "it has expired"
    unmarked = charge("b", usage=Usage(input=100, cache_read=900))
    assert expected(1_200, unmarked, asked) == Usage(input=200, cache_read=1_000)
    assert (
        expected(1_200, None, asked) == expected(1_200, charge("c", usage=Usage(input=9)), asked) == Usage(input=1_200)
    )
    most = reservation(asked, prompt=Usage(cache_read=1_000, cache_creation=200), answer=50)
    assert most.cost == charge("d", usage=Usage(input=1_200, output=50)).cost, "at most it is all new"
    turn, summary = charge(ledger.new_id(NOW)), charge("run.0.0", purpose="summary")
    await record(database, turn, summary, charge(ledger.new_id(NOW), model="another"))
    async with database.read() as tx:
        found = await ledger.last_of(tx, HERE, MODEL, now=NOW + 1)
        late = await ledger.last_of(tx, HERE, MODEL, now=NOW + 7_200)
    assert (found and found.id, late) == (turn.id, None)


async def test_of_what_no_price_is_known_tokens_are_counted(database: Database) -> None:
    await record(database, charge(model="a-model-of-2030"), charge())
    added = await total(database)
    assert (added.requests, added.unpriced, added.cost) == (2, 1, charge().cost)


async def test_totals_stay_when_rows_or_names_go(database: Database) -> None:
    await record(database, charge(), charge(), charge(person="bob"))
    before = await total(database)
    async with database.write() as tx:
        await forget_pairing(tx, "room", "ada")
        assert (await spending.total(tx, spending.of_person("room", "ada"), *EVER)).requests == 0
        assert [row["person"] for row in await ledger.rows(tx, since=0, before=NOW + 1)].count("") == 2
        assert await ledger.clean(tx, before=NOW + 1) == 3
        assert await ledger.clean(tx, before=NOW + 1) == 0
    assert await total(database) == before
    async with database.write() as tx:
        await forgetting.everything(tx, HERE)
        assert (await spending.total(tx, spending.of_conversation(HERE), *EVER)).requests == 0
    assert await total(database) == before
    async with database.read() as tx:
        days = await spending.by_day(tx, *EVER)
    assert (days[day_of(NOW)].cost, days[day_of(NOW)].tokens) == (before.cost, before.tokens)


async def test_what_a_killed_process_reserved_is_settled_by_what_it_sent(database: Database) -> None:
    async with database.write() as tx:
        await turns.begin(tx, "lives", HERE, 0, now=NOW)
        await ledger.reserve(tx, charge("kept", turn="lives"))
        await ledger.reserve(tx, charge("left", turn="is gone", usage=Usage(input=700, output=8_000)))
    async with database.write() as tx:
        assert await ledger.close_stranded(tx, before=NOW - 60) == 1
    added = await total(database)
    assert (added.requests, added.estimated, added.usage) == (1, 1, Usage(input=700))
    async with database.write() as tx:
        await ledger.release(tx, HERE, ["kept", "left"])
        assert [row["id"] for row in await ledger.rows(tx, since=0, before=NOW + 1)] == ["left"]


async def test_a_month_is_the_days_of_it_and_a_chosen_amount_wins(database: Database) -> None:
    day = day_of(NOW)
    first = NOW - (int(day[6:]) - 1) * 86_400
    await record(database, charge(at=first), charge(at=first - 86_400), charge())
    own = Budget(Scope.PERSON, Amount(50_000, "tokens"), "room", "ada")
    async with database.write() as tx:
        await budgets.choose(tx, own, now=NOW)
        holds = await budgets.holding(tx, Usual(Amount(1), month=Amount(10**9)), "room", "ada", HERE)
        stand = {one.budget.scope: one for one in await budgets.standings(tx, holds, now=NOW)}
    assert stand[Scope.MONTH].spent == 2 * (charge().cost or 0)
    assert (stand[Scope.PERSON].spent, stand[Scope.PERSON].limit) == (1_110, own.amount)


async def test_it_is_told_once_in_each_period_that_a_budget_is_spent(database: Database) -> None:
    async with database.write() as tx:
        [one] = await budgets.standings(tx, [Budget(Scope.DAY, Amount(5))], now=NOW)
        told = [await budgets.to_be_told(tx, one, 80, now=at) for at in (NOW, NOW, NOW + 86_400)]
    assert told == [True, False, True]


def test_the_next_month_begins_a_year_later_in_december() -> None:
    assert day_of(Budget(Scope.MONTH, None).ends(1_703_000_000.0)) == "20240101"
    assert AgentId(HERE) == HERE


async def test_whoever_is_in_a_transaction_asks_for_limits_over_its_own_connection(postgres_book: str) -> None:
    database = Database(postgres_book, connections=1)
    limits = Limits(database, Usual())
    async with asyncio.timeout(10), database.write() as tx:
        assert not await limits.are_any(tx)
        await budgets.choose(tx, Budget(Scope.CHAT, Amount(1), "", HERE), now=NOW)
        limits.look_again()
        assert await limits.are_any(tx)
    await database.close()
