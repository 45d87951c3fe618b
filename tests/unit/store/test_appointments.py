"""Appointments in the book: who is due, what is read for that, and what two who change one come to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import Connection, CursorResult, Dialect, insert, text

from bot.messages import Address, AgentId
from bot.store import Database, agents, appointments, work
from bot.store.appointments import Appointment, State
from bot.store.schema import appointments as table
from bot.store.tx import Tx

HERE = Address("room", "1")
ONE = Appointment(0, "room", "ada", "", "say", "call Ana", State.SET, "UTC", "2027-01-01T09:00:00")


MANY = 100_000 if os.environ.get("LONG") == "1" else 5_000
FEW = 40
"""So many rows may be looked at where three are due."""


class Explained:
    """A transaction that asks the database first how many rows of appointments each statement reads."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.read: list[tuple[int, str]] = []

    @property
    def dialect(self) -> Dialect:
        return self._tx.dialect

    async def execute(self, statement: Any, parameters: Any = None) -> CursorResult[*tuple[Any, ...]]:
        compiled = statement.compile(dialect=self.dialect)
        values = compiled.construct_params(parameters)
        how = self._of_sqlite if self.dialect.name == "sqlite" else self._of_postgresql
        sql, given = str(compiled), tuple(values[name] for name in compiled.positiontup)
        self.read.append((await self._tx.run_sync(how, sql, given), sql))
        return await self._tx.execute(statement, parameters)

    async def run_sync(self, work: Any, *arguments: Any, **options: Any) -> Any:
        return await self._tx.run_sync(work, *arguments, **options)

    @staticmethod
    def _of_sqlite(connection: Connection, sql: str, given: tuple[Any, ...]) -> int:
        """It tells of no rows, but whether it looks by the instant, or for what is marked, and not through all."""
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)]
        looks = [look for look in plan if re.match(r"(SCAN|SEARCH) appointments(_1)?\b", look)]
        by_index = re.compile(r".*INDEX (appointments_(next|next_of|unread|over)|sqlite_autoindex\w+ \(agent_id=. AND)")
        return sum(0 if by_index.match(look) else MANY for look in looks)

    @staticmethod
    def _of_postgresql(connection: Connection, sql: str, given: tuple[Any, ...]) -> int:
        found = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", given).scalar_one()
        return _rows_read((json.loads(found) if isinstance(found, str) else found)[0]["Plan"])


def _rows_read(plan: Mapping[str, Any]) -> int:
    own = sum(plan.get(name, 0) for name in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"))
    is_ours = plan.get("Relation Name") == "appointments"
    return (int(own * plan["Actual Loops"]) if is_ours else 0) + sum(map(_rows_read, plan.get("Plans", ())))


@pytest.fixture
async def either(book_url: str) -> AsyncIterator[Database]:
    opened = Database(book_url)
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize("due", [0, 3])
async def test_of_many_appointments_nothing_is_read_but_what_is_due(either: Database, book_url: str, due: int) -> None:
    """LONG=1: of 100,000, in 20 conversations."""
    now, here = 1_000.0, AgentId("room-1")
    await _many(either, now, due)
    if book_url.startswith("postgresql"):  # it does so by itself before long; SQLite never does
        async with either.write() as tx:
            await tx.execute(text("ANALYZE"))
    async with either.write() as tx:
        looked = Explained(tx)
        assert await work.waiting_agents(looked, 10, now=now) == ([here] if due else [])
        assert await work.has_work(looked, here, now=now) == bool(due)
        assert await appointments.next_instant(looked, now=now) is not None
        assert len(await appointments.due(looked, here, now=now, most=50)) == due
        assert await appointments.overdue_since(looked, now=now) == (now if due else None)
        assert await appointments.unread(looked, here) == []
        await appointments.read(looked, here)
        assert await appointments.clean(looked, before=now) == 0
    assert len(looked.read) >= 8
    assert not [one for one in looked.read if one[0] > FEW]


async def _many(database: Database, now: float, due: int) -> None:
    rows = []
    for at in range(MANY):
        instant = now if at % 20 == 1 and at // 20 < due else now + 1 + at
        one = replace(ONE, number=1 + at // 20, due_at=instant, next_at=instant)
        rows.append({"agent_id": f"room-{at % 20}", **asdict(one), "choices": []})
    async with database.write() as tx:
        for number in range(20):
            await agents.ensure(tx, Address("room", str(number)), now=1.0)
        await tx.execute(insert(table), rows)


async def made(database: Database, *due: float, **more: Any) -> None:
    async with database.write() as tx:
        await agents.ensure(tx, HERE, now=1.0)
        for at in due:
            await appointments.add(tx, HERE.agent_id, replace(ONE, due_at=at, next_at=at, **more))


async def test_an_agent_with_something_due_has_work_and_no_other(database: Database) -> None:
    await made(database, 10.0, 20.0)
    async with database.read() as tx:
        assert await work.waiting_agents(tx, 10, now=9.0) == []
        assert not await work.has_work(tx, HERE.agent_id, now=9.0)
        assert await work.waiting_agents(tx, 10, now=10.0) == [HERE.agent_id]
        assert await work.is_waited_for(tx, HERE.agent_id, now=10.0)
        assert await appointments.next_instant(tx, now=10.0) == 20.0
        assert [one.number for one in await appointments.due(tx, HERE.agent_id, now=15.0, most=9)] == [1]


async def test_of_two_who_take_one_the_second_finds_it_moved(database: Database) -> None:
    await made(database, 10.0)
    async with database.write() as tx:
        assert await appointments.change(tx, HERE.agent_id, 1, seen=10.0, next_at=20.0)
        assert not await appointments.change(tx, HERE.agent_id, 1, seen=10.0, next_at=20.0)
        assert await appointments.cancel(tx, HERE.agent_id, 1, now=1.0)
        assert not await appointments.change(tx, HERE.agent_id, 1, seen=20.0, next_at=30.0)
        assert not await appointments.cancel(tx, HERE.agent_id, 1, now=1.0)


async def test_what_is_over_goes_after_a_while_and_no_number_is_given_twice(database: Database) -> None:
    await made(database, 10.0, 20.0)
    async with database.write() as tx:
        for number in (1, 2):
            await appointments.cancel(tx, HERE.agent_id, number, now=5.0)
        assert await appointments.clean(tx, before=6.0) == 1
        assert (await appointments.add(tx, HERE.agent_id, ONE)).number == 3


async def test_who_is_forgotten_has_no_appointments_and_their_words_are_gone(database: Database) -> None:
    await made(database, 10.0, 20.0)
    async with database.write() as tx:
        assert await appointments.forget_person(tx, HERE.agent_id, "ada") == 2
        left = await tx.execute(text("SELECT person, text, next_at FROM appointments"))
        assert [tuple(row) for row in left] == [("", "", None)]
        assert (await appointments.add(tx, HERE.agent_id, ONE)).number == 3


async def test_what_quiet_hours_held_is_looked_at_again_when_they_change(database: Database) -> None:
    await made(database, 10.0)
    async with database.write() as tx:
        await appointments.set_quiet(tx, "room", "ada", (1_320, 480))
        assert await appointments.quiet(tx, "room", "ada") == (1_320, 480)
        await appointments.change(tx, HERE.agent_id, 1, seen=10.0, next_at=99.0)
        await appointments.release_held(tx, "room", "ada")
        assert await appointments.next_instant(tx, now=0.0) == 10.0
        await appointments.set_quiet(tx, "room", "ada", None)
        assert await appointments.quiet(tx, "room", "ada") is None
