"""The inbox: each event once, in the platform's order, until a committed turn closed it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from bot.history import Usage
from bot.messages import Address, Inbound, Quote
from bot.store import Database, inbox, outbox, turns, work
from bot.store.inbox import quote_for
from bot.store.schema import turns as turns_table
from bot.store.turns import TurnState

HERE = Address("room", "1")
ADA = HERE.agent_id


def event(order: int, text: str = "hi", *, key: str | None = None, address: Address = HERE) -> Inbound:
    return Inbound(address, key or f"message:{address.chat}:{order}", "message", order, "ada", text, "Ada")


async def stored(database: Database, *events: Inbound) -> list[bool]:
    async with database.write() as tx:
        return [await inbox.add(tx, item, now=5.0) for item in events]


async def waiting(database: Database, address: Address = HERE) -> list[str]:
    async with database.read() as tx:
        return [row.text for row in await inbox.waiting(tx, address.agent_id)]


async def test_a_redelivery_is_one_row(database: Database) -> None:
    assert await stored(database, event(1), event(1)) == [True, False]
    assert await stored(database, replace(event(1), text="changed", order=9)) == [False]
    assert await waiting(database) == ["hi"]


async def test_a_redelivery_in_many_transactions_at_once_is_one_row(database: Database) -> None:
    added = await asyncio.gather(*(stored(database, event(1)) for _ in range(10)))
    assert sorted(added) == [[False]] * 9 + [[True]]


async def test_the_same_key_on_another_connector_is_another_event(database: Database) -> None:
    other = Address("telegram", "1")
    assert await stored(database, event(1, key="1"), event(1, key="1", address=other)) == [True, True]
    assert await waiting(database, other) == ["hi"]


async def test_a_redelivery_of_what_was_answered_stays_answered(database: Database) -> None:
    await stored(database, event(1))
    async with database.write() as tx:
        [row] = await inbox.waiting(tx, ADA)
        await inbox.close(tx, [row.id])
    assert await stored(database, event(1)) == [False]
    assert await waiting(database) == []


async def test_what_waits_is_in_the_platforms_order_whatever_came_first(database: Database) -> None:
    await stored(database, event(30, "three"), event(10, "one"), event(20, "two"))
    await stored(database, event(5, "zero"))
    assert await waiting(database) == ["zero", "one", "two", "three"]


async def test_events_of_one_moment_stay_in_the_order_of_their_arrival(database: Database) -> None:
    await stored(database, *(event(7, f"{at}", key=f"k{at}") for at in range(5)))
    assert await waiting(database) == ["0", "1", "2", "3", "4"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-(2**60), 2**60), max_size=8), st.data())
async def test_any_order_of_delivery_gives_the_same_queue(
    database: Database, orders: list[int], data: st.DataObject
) -> None:
    chat = Address("room", uuid4().hex)
    events = [event(order, f"{order}", address=chat) for order in orders]
    await stored(database, *data.draw(st.permutations(events + events)))
    assert await waiting(database, chat) == [f"{order}" for order in sorted(set(orders))]


async def test_whatever_a_person_writes_comes_back_as_it_was(database: Database) -> None:
    text = "'; DROP TABLE inbox; -- 🙂 \u202e %s {x} \\ \" \n\t漢字"
    await stored(database, event(1, text))
    async with database.read() as tx:
        [row] = await inbox.waiting(tx, ADA)
    assert (row.text, row.person, row.person_name, row.kind, row.received_at) == (text, "ada", "Ada", "message", 5.0)


async def test_what_a_turn_took_waits_no_more_and_is_closed_with_it(database: Database) -> None:
    await stored(database, event(1, "one"), event(2, "two"))
    async with database.write() as tx:
        first, _ = await inbox.waiting(tx, ADA)
        await inbox.take(tx, [first.id], "turn")
    assert await waiting(database) == ["two"]
    assert await unanswered(database) == 2
    async with database.write() as tx:
        await inbox.close_turn(tx, "turn")
    assert await unanswered(database) == 1
    assert await waiting(database) == ["two"]


async def unanswered(database: Database) -> int:
    async with database.read() as tx:
        return await inbox.unanswered(tx, HERE)


async def test_there_is_work_for_agents_with_something_waiting_or_a_turn_cut_off(database: Database) -> None:
    idle, cut_off = Address("room", "2"), Address("room", "3")
    await stored(database, event(1), event(2), event(1, address=idle), event(1, address=cut_off))
    async with database.write() as tx:
        for address in (idle, cut_off):
            [row] = await inbox.waiting(tx, address.agent_id)
            await inbox.take(tx, [row.id], f"turn-{address.chat}")
            await turns.begin(tx, f"turn-{address.chat}", address.agent_id, 1, now=1.0)
        await inbox.close_turn(tx, "turn-2")
        await turns.end(tx, "turn-2", TurnState.DONE, Usage(), now=2.0)
    async with database.read() as tx:
        assert sorted(await work.waiting_agents(tx, 10, now=0.0)) == ["room-1", "room-3"]


async def test_how_far_a_platform_was_read_is_remembered(database: Database) -> None:
    async with database.write() as tx:
        assert await inbox.cursor(tx, "telegram") is None
        await inbox.set_cursor(tx, "telegram", "41")
        await inbox.set_cursor(tx, "telegram", "42")
        await inbox.set_cursor(tx, "discord", "7")
        assert (await inbox.cursor(tx, "telegram"), await inbox.cursor(tx, "discord")) == ("42", "7")


async def test_a_turn_that_was_cut_off_is_found_until_it_ends_and_ends_once(database: Database) -> None:
    async with database.write() as tx:
        assert await turns.running(tx, ADA) is None
        row = await turns.begin(tx, "t1", ADA, 7, now=1.0)
        assert await turns.running(tx, ADA) == row
        await turns.count_recovery(tx, "t1")
        assert await turns.running(tx, ADA) == replace(row, recoveries=1)
        await turns.end(tx, "t1", TurnState.ABORTED, Usage(output=1), now=2.0)
        await turns.end(tx, "t1", TurnState.DONE, Usage(output=2), now=3.0)
        assert await turns.running(tx, ADA) is None
        ended = (await tx.execute(select(turns_table))).mappings().one()
    assert (ended["state"], ended["ended_at"], ended["usage"]["output"]) == ("aborted", 2.0, 1)


async def answering(database: Database, ref: str, number: int = 90) -> str:
    """The quotation that is kept of a message that answers ``ref``."""
    inbound = Inbound(HERE, f"k{number}", "message", number, "ada", "and this?", quote=Quote("> Ada: x", ref))
    async with database.write() as tx:
        quote = await quote_for(tx, inbound)
    return quote.text if quote else ""


async def test_only_an_answer_to_the_newest_message_of_a_conversation_at_rest_needs_no_quotation(
    database: Database,
) -> None:
    async with database.write() as tx:
        await inbox.add(tx, Inbound(HERE, "k1", "message", 1, "ada", "hello", ref="5"), now=1.0)
    assert await answering(database, "5") == "> Ada: x", "it is not read yet, and may be answered before this"
    async with database.write() as tx:
        [row] = await inbox.waiting(tx, HERE.agent_id)
        await inbox.close(tx, [row.id])
    assert await answering(database, "5") == ""
    assert await answering(database, "4") == "> Ada: x"
    async with database.write() as tx:
        slot = await outbox.open_slot(tx, HERE, now=2.0)
    assert await answering(database, "5") == "> Ada: x", "something is being written"
    async with database.write() as tx:
        await outbox.change(tx, slot, "an answer in two parts")
    assert await answering(database, "5") == "> Ada: x", "it may be on the platform already"
    async with database.write() as tx:
        await outbox.delivered(tx, slot, 1, ["6", "7"])
    assert await answering(database, "7") == ""
    assert await answering(database, "6") == "> Ada: x", "another part of it"
    async with database.write() as tx:
        notice = await outbox.say(tx, HERE, "a notice", now=3.0)
        await outbox.delivered(tx, notice, 1, ["8"])
    assert await answering(database, "7") == "> Ada: x"
    assert await answering(database, "8") == "> Ada: x", "the model knows nothing of notices"
    assert await answering(database, "") == "> Ada: x"
