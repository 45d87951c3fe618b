"""What was spent, on the page and as files."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from typing import Any

from bot.history import Usage
from bot.messages import Address
from bot.runtime.amounts import amount
from bot.store import Database, agents
from bot.store.money import budgets, ledger
from bot.store.money.budgets import Budget, Scope
from bot.store.money.ledger import Charge
from tests.page.conftest import Read, browser_of, press

HERE = Address("room", "1")


def charge(at: float, **changes: Any) -> Charge:
    values: dict[str, Any] = {"connector": "room", "person": "ada", **changes}
    model = values.pop("model", "claude-sonnet-5")
    return Charge(ledger.new_id(at), HERE.agent_id, at, "turn", model, Usage(input=1_000_000), **values).priced()


async def test_it_shows_cost_people_budgets_and_what_has_no_price(database: Database, page: Callable[..., Any]) -> None:
    now = database.clock()
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=now)
        await ledger.record(tx, [charge(now), charge(now, person="bob"), charge(now, model="m-2030")])
        await budgets.choose(tx, Budget(Scope.PERSON, amount("2"), "room", "ada"), now=now)
    async with browser_of(page()) as browser:
        shown = Read((await browser.get("/spending")).text).text
        rows = list(csv.DictReader(io.StringIO((await browser.get("/ledger.csv")).text)))
        totals = list(csv.DictReader(io.StringIO((await browser.get("/spending.csv")).text)))
    for said in ("$4.00", "room:ada", "room:bob", "1 without a known price", "100 %", "No price is known of m-2030"):
        assert said in shown
    assert sum(int(row["cost"] or 0) for row in rows) == 4 * 10**9
    assert sum(int(row["nano_dollars"]) for row in totals) == 4 * 10**9


async def test_amounts_are_chosen_there_as_in_a_chat(database: Database, page: Callable[..., Any]) -> None:
    now = database.clock()
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=now)
        await ledger.record(tx, [charge(now)])

    async def choose(whose: str, amount: str, name: str = "") -> int:
        shown = await browser.get("/spending")
        pressed = await press(browser, shown, "/spending/budget", whose=whose, name=name, amount=amount)
        return int(pressed.status_code)

    async with browser_of(page()) as browser:
        form = {"whose": "day", "amount": "5"}
        assert (await browser.post("/spending/budget", data=form)).status_code == 403, "whoever did not see the page"
        assert await choose("day", "8") == 303
        assert await choose("month", "1m tokens") == 303
        assert await choose("person", "2.50", "room:ada") == 303
        assert await choose("chat", "off", HERE.agent_id) == 303
        assert await choose("person", "2", "ada") == 400
        assert await choose("day", "much") == 400
        assert await choose("chat", "2", "room-77") == 404
        shown = Read((await browser.get("/spending?done=yes")).text).text
        async with database.read() as tx:
            held = await budgets.holding(tx, budgets.Usual(day=amount("1")), "room", "ada", HERE.agent_id)
        assert {(one.scope, one.amount) for one in held} == {
            (Scope.PERSON, amount("2.50")),
            (Scope.DAY, amount("8")),
            (Scope.MONTH, amount("1m tokens")),
        }
        assert await choose("day", "default") == 303
        async with database.read() as tx:
            held = await budgets.holding(tx, budgets.Usual(day=amount("1")), "room", "bob", HERE.agent_id)
    assert [one.amount for one in held] == [amount("$1"), amount("1m tokens")]
    for words in ("Chosen.", "today by all", "$8.00", "25 %", "100 %", "$2.50", f"in a day in {HERE.agent_id}"):
        assert words in shown, words


async def test_what_a_spreadsheet_would_calculate_is_text(database: Database, page: Callable[..., Any]) -> None:
    async with database.write() as tx:
        await ledger.record(tx, [charge(database.clock(), model="=1+1")])
    async with browser_of(page()) as browser:
        assert "'=1+1" in (await browser.get("/ledger.csv")).text


async def test_it_is_there_at_once_with_many_requests(database: Database, page: Callable[..., Any]) -> None:
    now = database.clock()
    async with database.write() as tx:
        for day in range(30):
            await ledger.record(tx, [charge(now - day * 86_400, person=f"p{one}") for one in range(100)])
    async with browser_of(page()) as browser:
        await browser.get("/spending")
        began = time.process_time()
        await browser.get("/spending")
        assert time.process_time() - began < 0.5
