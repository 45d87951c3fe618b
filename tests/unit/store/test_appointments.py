"""Appointments in the book: who is due, what is read for that, and what two who change one come to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import text

from bot.messages import Address
from bot.store import Database, agents, appointments, work
from bot.store.appointments import Appointment, State

HERE = Address("room", "1")
ONE = Appointment(0, "room", "ada", "", "say", "call Ana", State.SET, "UTC", "2027-01-01T09:00:00")


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
