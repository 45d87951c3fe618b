"""Every request to a model is accounted for, to the last digit, and nobody spends more than they may."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import select

from bot.history import Usage
from bot.messages import Address
from bot.runtime.amounts import NANO, amount, in_words
from bot.runtime.prices import nano
from bot.runtime.telemetry import telemetry
from bot.store.money import ledger, spending
from bot.store.money.ledger import ESTIMATED, RESERVED, SETTLED, Charge
from bot.store.schema import ledger as rows
from tests.conftest import OpenHouse
from tests.house import MODEL, House, Room
from tests.servers.messages.server import MessagesServer
from tests.servers.messages.wire import Record

EVER = ("20000101", "29991231")
HERE = Address("room", "1").agent_id


async def charges(running: House) -> Sequence[Charge]:
    async with running.resources.database.read() as tx:
        found = await tx.execute(select(rows).order_by(rows.c.at))
        return [ledger.charge_of(row) for row in found.mappings()]


async def total(running: House) -> spending.Total:
    async with running.resources.database.read() as tx:
        return await spending.total(tx, spending.of_all(), *EVER)


def refusals(scope: str, purpose: str = "turn") -> float:
    """What Prometheus is told of requests that were not made."""
    registry = telemetry.metrics.registry
    return registry.get_sample_value("palimpsest_budget_refusals_total", {"purpose": purpose, "scope": scope}) or 0


def used(record: Record) -> Usage:
    """What the server says of one of its requests."""
    told = record.usage
    hourly = (told.cache_creation or {}).get("ephemeral_1h_input_tokens", 0)
    return Usage(
        told.input_tokens,
        told.cache_read_input_tokens,
        told.cache_creation_input_tokens,
        told.output_tokens,
        hourly=int(hourly),
    )


def cost_of(records: Sequence[Record]) -> int:
    """What these cost by the server's own account, in nano-dollars."""
    return sum(nano(MODEL, used(record)) or 0 for record in records)


def is_what_was_sent(kept: Usage, record: Record) -> bool:
    """Whether a request that broke off is counted as it was: by the provider's figure, which the Messages API says with
    the first event; Chat Completions says it with the last, which did not come, so that the meter counts."""
    sent = record.usage.prompt_tokens
    return kept.context == (sent if record.request.wire == "messages" else pytest.approx(sent, rel=0.4))


async def test_each_request_is_a_row_with_the_figures_of_the_provider(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as running:
        await room.asks("hello")
        await room.asks("and again")
        await room.asks("a third time")
        kept, added = await charges(running), await total(running)
    assert [charge.usage for charge in kept] == [used(record) for record in model.requests]
    assert {(one.person, one.purpose, one.state, one.agent_id) for one in kept} == {("ada", "turn", SETTLED, HERE)}
    assert all(charge.request and charge.price for charge in kept)
    assert added.cost == cost_of(model.requests) == sum(charge.cost or 0 for charge in kept)
    assert added.requests == len(model.requests)


async def test_tries_that_failed_and_summaries_are_in_it_and_what_was_refused_is_not(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as running:
        model.fail(529, "overloaded_error", "Overloaded")
        await room.asks("hello " + "word " * 300)
        model.cut_stream(after=1)
        await room.asks("tell me more " + "word " * 300)
        await room.commands("/compact")
        await room.until(lambda: any("Compacted" in notice for notice in room.notices()))
        await room.asks("and now?")
        kept, added = await charges(running), await total(running)
    whole = [record for record in model.requests if record.outcome == "completed"]
    assert sorted(one.cost or 0 for one in kept if one.state == SETTLED) == sorted(cost_of([one]) for one in whole)
    cut = [charge for charge in kept if charge.state == ESTIMATED]
    assert len(cut) == 1
    broken = next(one for one in model.requests if one.outcome != "completed" and one.deltas)
    assert is_what_was_sent(cut[0].usage, broken)
    assert {charge.purpose for charge in kept} == {"turn", "summary"}
    assert added.cost == sum(charge.cost or 0 for charge in kept)


async def test_a_person_who_has_spent_their_budget_reads_when_it_goes_on_and_commands_still_work(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(budget={"person_day": "1000 tokens"}, timezone="Europe/Lisbon") as running:
        while not any("is used up (1,000 tokens)" in notice for notice in room.notices()):
            await room.asks("hello " + "word " * 40)
        asked, refused = len(model.requests), refusals("person")
        told = [notice for notice in room.notices() if "your budget" in notice.lower()]
        assert len(told) <= 2, "once at 80 %, once at 100 %"
        said = await room.asks("are you there?")
        assert "Your budget for today is used up (1,000 tokens)" in said
        assert "(Europe/Lisbon)" in said
        assert len(model.requests) == asked
        assert refusals("person") == refused + 1
        assert "Context" in await room.commands("/context")
        await room.says("hello", person="bob", chat="2")
        await room.until(lambda: room.replies("2"))
        assert len(model.requests) == asked + 1, "nobody else is stopped"
        assert not [charge for charge in await charges(running) if charge.state == RESERVED]


async def test_admins_pass(house: OpenHouse, room: Room) -> None:
    async with house(budget={"day": "1 token"}, admins="room:ada"):
        await room.asks("hello")
        assert "used up" not in await room.asks("hello again")


def test_amounts_are_whole_nano_dollars() -> None:
    assert amount("2.50").number == 5 * NANO // 2


async def test_where_nothing_was_spent_no_dollars_are_named(house: OpenHouse, room: Room) -> None:
    async with house():
        said = await room.commands("/usage")
    assert "You: 0 tokens today, 0 tokens this month" in said
    assert "$" not in said


async def test_usage_says_what_was_spent_and_what_is_left(house: OpenHouse, room: Room) -> None:
    async with house(budget={"chat_day": "5"}) as running:
        await room.asks("hello")
        said = await room.commands("/usage")
        spent = await total(running)
    assert f"You: {in_words(spent.cost)} ({in_words(spent.tokens, 'tokens')}) today" in said
    assert f"This chat: {in_words(spent.cost)}" in said
    assert "This chat's budget for today: $5.00 left of $5.00" in said or "left of $5.00" in said
    assert "Everybody" not in said, "that is for those who run the program"


async def test_whoever_is_alone_reads_one_number_once(house: OpenHouse, room: Room) -> None:
    async with house(admins="room:ada"):
        await room.asks("hello")
        alone = await room.commands("/usage")
        assert "Most this month, models: " in alone
        assert "Everybody" not in alone
        assert "people" not in alone
        assert "chats" not in alone
        await room.says("hello", person="bob", chat="2")
        await room.until(lambda: room.replies("2"))
        both = await room.commands("/usage")
        assert "Everybody" in both
        assert "room:bob" in both
        assert "Most this month, chats: " in both


async def test_admins_choose_another_budget_for_a_chat_or_a_person(house: OpenHouse, room: Room) -> None:
    async with house(admins="room:root", budget={"person_day": "1 token"}):
        assert "Only those who run me" in await room.commands("/budget chat 3")
        await room.says("/budget room:ada 100k tokens", person="root", chat="9")
        await room.until(lambda: any("100,000 tokens in a day" in one for one in room.notices("9")))
        await room.asks("hello")
        assert "used up" not in await room.asks("hello again")
        assert "left of 100,000 tokens" in await room.commands("/budget")
        await room.says("/usage", person="root", chat="9")
        await room.until(lambda: any("Everybody" in one and "room:ada" in one for one in room.notices("9")))


async def test_admins_choose_what_all_together_may_spend(house: OpenHouse, room: Room) -> None:
    async with house(admins="room:root", budget={"day": "1 token"}):

        async def root(command: str) -> str:
            before = len(room.notices("9"))
            await room.says(command, person="root", chat="9")
            await room.until(lambda: len(room.notices("9")) > before)
            return room.notices("9")[before]

        assert "Only those who run me" in await room.commands("/budget day 3")
        assert await root("/budget month 300") == "The budget of all together: $300.00 in a month."
        await room.asks("hello")
        assert "used up (1 token)" in await room.asks("hello again")
        assert await root("/budget day 90k tokens") == "The budget of all together: 90,000 tokens in a day."
        assert "used up" not in await room.asks("and now?")
        assert "The budget of all together: $300.00 in a month" in await root("/budget")
        assert await root("/budget day default") == "The budget of all together: as the settings say."
        assert "used up (1 token)" in await room.asks("and now?")
        assert await root("/budget day off") == "The budget of all together: without a limit."
        assert "used up" not in await room.asks("and now?")
        assert (await root("/budget week 3")).startswith("/budget chat 3 lets this chat")
        assert (await root("/budget day some")).startswith("some is no amount.")


async def test_what_was_stopped_is_counted_by_what_was_sent_and_received(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as running:
        model.hang(after=3)
        await room.says("tell me a lot")
        await model.wait_for(lambda _: model.requests and model.requests[0].deltas >= 3)
        await room.says("/abort")
        await room.until(lambda: any("stopped" in one for one in room.replies()))
        model.release()
        [kept] = await charges(running)
    assert kept.state == ESTIMATED
    assert is_what_was_sent(kept.usage, model.requests[0])
    assert kept.usage.output > 1


async def test_compacting_is_seen_to_have_saved_something(house: OpenHouse, room: Room) -> None:
    async with house():
        for _ in range(3):
            await room.asks("hello " + "word " * 150)
        await room.commands("/compact")
        await room.until(lambda: any("Compacted" in notice for notice in room.notices()))
        await room.asks("and now?")
        assert "(estimate" in await room.commands("/usage") or "(estimate" in room.notices()[-1]
