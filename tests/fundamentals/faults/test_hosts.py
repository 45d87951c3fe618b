"""Several hosts on one book: one owner of an agent at a time, and whoever lost it writes nothing more."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select, text
from structlog.testing import capture_logs

from bot.agent.agent import Agent
from bot.agent.assembly import Assembly
from bot.agent.quarantine import MOST_STARTS
from bot.app.main import inner_roles, services_of
from bot.app.resources import open_resources
from bot.bus import topics
from bot.errors import StaleEpoch
from bot.history import EntryKind
from bot.messages import Address, text_block
from bot.runtime.settings import AgentsSettings
from bot.runtime.shutdown import Shutdown
from bot.store import agents, histories, inbox, outbox
from bot.store.schema import entries
from tests.conftest import MakeSettings, OpenHouse
from tests.house import PATIENCE, House, Room
from tests.servers.messages.server import MessagesServer

ADDRESS = Address("room", "1")
AGENT = ADDRESS.agent_id


async def test_a_host_that_lost_an_agent_cannot_write_for_it(house: OpenHouse, room: Room) -> None:
    async with house() as running:
        await room.asks("hello")
        services = services_of(running.resources)
        async with running.resources.database.write() as tx:
            row = await agents.claim(tx, AGENT)
        assert row
        loser = Assembly(services, row).context
        await loser.load()
        async with running.resources.database.write() as tx:
            await agents.claim(tx, AGENT)
        before = (await running.history()).entries
        with pytest.raises(StaleEpoch):
            async with loser.step() as step:
                await step.append("user", [text_block("too late")], EntryKind.SAID)
        assert (await running.history()).entries == before


async def test_a_start_that_another_host_cut_off_is_no_failed_one(house: OpenHouse, room: Room) -> None:
    async with house(("gateway",)) as running:
        async with running.resources.database.write() as tx:
            await agents.ensure(tx, ADDRESS, now=1.0)
        services = services_of(running.resources)
        for _ in range(MOST_STARTS + 1):
            async with running.resources.database.write() as tx:
                robbed = await agents.claim(tx, AGENT)
                await agents.claim(tx, AGENT)
                await agents.set_starts(tx, AGENT, 2)  # so that it writes when it is set up
            assert robbed
            with pytest.RaisesGroup(StaleEpoch):
                await Agent(services, replace(robbed, starts=2)).run()
            async with running.resources.database.read() as tx:
                row = await tx.execute(text("SELECT starts FROM agents"))
            assert row.scalar_one() == 1


async def test_two_hosts_pass_a_lease_back_and_forth_under_load_without_a_lost_or_doubled_message(
    house: OpenHouse, room: Room, settings: MakeSettings
) -> None:
    """The lease is taken from its owner again and again while people talk."""
    messages = 40
    chance = random.Random(7)
    async with house(("gateway", "worker")) as running, _host(settings), _host(settings):
        hosts: set[int] = set()
        robbing = asyncio.create_task(_rob(running, chance, hosts))
        for number in range(messages):
            await room.says(f"message {number}")
            await asyncio.sleep(chance.uniform(0, 0.05))
        await room.until(lambda: len(room.replies()) and not room.is_typing())
        await _until_settled(running)
        robbing.cancel()
        await asyncio.gather(robbing, return_exceptions=True)
        await _until_settled(running)
        assert len(hosts) > 3, "the agent changed its owner"
        said = await _said(running)
        assert said == [f"message {number}" for number in range(messages)]
        await _assert_every_turn_has_one_reply(running)


async def test_a_host_whose_lease_was_gone_in_between_looks_whether_the_agent_is_still_its_own(
    house: OpenHouse, room: Room
) -> None:
    async with house() as running:
        await room.asks("hello")
        with capture_logs() as logs:
            async with running.resources.database.write() as tx:
                await agents.claim(tx, AGENT)  # another host had it for a moment
            await running.resources.bus.redis.delete(running.resources.bus.names.lease(f"agent:{AGENT}"))
            async with asyncio.timeout(PATIENCE):
                while not any(line["event"] == "agent_moved" for line in logs):  # noqa: ASYNC110  # a log rings no bell
                    await asyncio.sleep(0.02)
        await room.asks("and now?")


async def test_wiping_redis_at_any_moment_loses_nothing(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.delta_delay = 0.02
    chance = random.Random(3)
    async with house() as running:
        for number in range(25):
            await room.says(f"message {number}")
            await asyncio.sleep(chance.uniform(0, 0.1))
            if number % 3 == 0:
                await running.resources.bus.redis.flushall()
        await _until_settled(running)
        said = await _said(running)
        assert said == [f"message {number}" for number in range(25)]
        await _assert_every_turn_has_one_reply(running)


async def test_a_summary_that_redis_forgot_is_asked_for_again(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(("gateway", "agents")) as running:
        for number in range(12):
            await room.asks(f"message {number}")
        await room.commands("/compact")
        await running.resources.bus.redis.flushall()
        async with asyncio.TaskGroup() as tasks:
            worker = tasks.create_task(inner_roles(running.resources, ("worker",))[0])
            await room.until(lambda: "Compacted:" in room.notices()[-1] or "Nothing" in room.notices()[-1])
            worker.cancel()
    assert [record for record in model.requests if record.request.is_summary]


@asynccontextmanager
async def _host(settings: MakeSettings, **changes: Any) -> AsyncIterator[None]:
    """One more agents host, with connections of its own."""
    async with open_resources(settings(**changes), clear_leases=False) as resources:
        task = asyncio.create_task(inner_roles(resources, ("agents",))[0])
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _rob(running: House, chance: random.Random, epochs: set[int]) -> None:
    """Take the lease from whoever has it, as a stalled network would."""
    bus = running.resources.bus
    while True:
        await asyncio.sleep(chance.uniform(0.05, 0.3))
        await bus.redis.set(bus.names.lease(f"agent:{AGENT}"), "somebody else", px=50)
        async with running.resources.database.read() as tx:
            epochs.add(await agents.epoch(tx, AGENT))


async def _until_settled(running: House) -> None:
    """Everything that was said is answered and shown."""
    async with running.resources.bus.bell(topics.SETTLED, topics.DELIVERED) as bell, asyncio.timeout(60):
        while True:
            await bell.wait(1)
            async with running.resources.database.read() as tx:
                if not await inbox.unanswered(tx, ADDRESS) and not await outbox.undelivered(tx, AGENT):
                    return


async def _said(running: House) -> list[str]:
    """All that was ever said, also below a compaction."""
    async with running.resources.database.read() as tx:
        rows = await tx.execute(select(entries.c.blocks).where(entries.c.kind == "said").order_by(entries.c.seq))
        return [blocks[0]["text"] for blocks in rows.scalars()]


async def _assert_every_turn_has_one_reply(running: House) -> None:
    async with running.resources.database.read() as tx:
        turns = (await tx.execute(text("SELECT id, state, slot FROM turns"))).all()
        taken = (await tx.execute(text("SELECT turn_id, state FROM inbox"))).all()
        replies = Counter((await tx.execute(text("SELECT turn_id FROM entries WHERE kind = 'reply'"))).scalars())
    assert {state for _, state, _ in turns} == {"done"}
    assert {state for _, state in taken} == {"done"}
    assert {turn for turn, _ in taken} == {turn for turn, _, _ in turns}
    assert replies == Counter(turn for turn, _, _ in turns)
    shown = running.room.shown["1"]
    slots = {key.rpartition("-")[2] for key, message in shown.items() if not message.notice}
    assert {str(slot) for _, _, slot in turns} == slots


async def test_agents_that_share_a_head_may_keep_it_at_the_same_moment(house: OpenHouse) -> None:
    async with house() as opened:
        database = opened.resources.database

        async def keep() -> None:
            async with database.write() as tx:
                await histories.remember_head(tx, "hash", {"system": "Be kind."})

        async with database.write() as tx:
            await histories.remember_head(tx, "hash", {"system": "Be kind."})
            others = [asyncio.create_task(keep()) for _ in range(4)]
            await asyncio.wait(others, timeout=0.2)
        await asyncio.gather(*others)


async def test_a_host_with_room_for_two_takes_the_others_as_places_become_free(
    house: OpenHouse, room: Room, model: MessagesServer, settings: MakeSettings
) -> None:
    async with house(("gateway",)):
        await _greets(room, chats=6)
        model.hang()
        async with _host(settings, agents=AgentsSettings(at_once=2)):
            await model.wait_for(lambda server: len(server.requests) == 2)
            with pytest.raises(TimeoutError):
                await model.wait_for(lambda server: len(server.requests) > 2, 0.3)
            model.release()
            await _until_greeted(room, chats=6)
    assert set(_answered(model)[:2]) == {0, 1}


async def test_whoever_waited_longest_for_a_place_is_taken_first(
    house: OpenHouse, room: Room, model: MessagesServer, settings: MakeSettings
) -> None:
    """With one place: of two that are taken at the same moment either may ask the model first."""
    async with house(("gateway",)):
        await _greets(room, chats=5)
        async with _host(settings, agents=AgentsSettings(at_once=1)):
            await _until_greeted(room, chats=5)
    assert _answered(model) == [0, 1, 2, 3, 4]


async def _greets(room: Room, chats: int) -> None:
    """One after the other, each in a chat of its own."""
    for chat in range(chats):
        await room.says(f"hello from {chat}", chat=str(chat))


async def _until_greeted(room: Room, chats: int) -> None:
    await room.until(lambda: all(room.replies(str(chat)) for chat in range(chats)))


def _answered(model: MessagesServer) -> list[int]:
    """The chats whose greetings the model was asked to answer, in that order."""
    return [int(record.request.last_user_texts[-1][-1]) for record in model.requests]


async def test_what_a_full_host_has_no_room_for_is_answered_by_another_one(
    house: OpenHouse, room: Room, model: MessagesServer, settings: MakeSettings
) -> None:
    async with house(("gateway",)), _host(settings, agents=AgentsSettings(at_once=1)):
        model.hang(times=1)
        await room.says("hello", chat="1")
        await model.wait_for(lambda server: server.requests)
        await room.says("hello", chat="2")
        async with _host(settings, agents=AgentsSettings(at_once=1)):
            await room.until(lambda: room.replies("2"))
            assert not room.replies("1")
            model.release()
            await room.until(lambda: room.replies("1"))


async def test_an_agent_whose_host_died_is_taken_when_its_lease_has_run_out_and_no_bell_rings(
    house: OpenHouse, room: Room, settings: MakeSettings
) -> None:
    async with house(("gateway",)) as running, _host(settings):
        dead = running.resources.bus.lease(f"agent:{AGENT}", 1.0)
        assert await dead.take()
        before = asyncio.get_running_loop().time()
        await room.says("hello")
        await room.until(room.replies)
        assert asyncio.get_running_loop().time() - before > 0.5, "the lease was respected"


async def test_agents_are_handed_over_as_soon_as_they_are_idle_and_the_host_ends(
    house: OpenHouse, room: Room, settings: MakeSettings
) -> None:
    async with house(("gateway",)) as running, open_resources(settings(), clear_leases=False) as resources:
        shutdown = Shutdown(60, agents=True)
        ending = asyncio.create_task(inner_roles(resources, ("agents",), shutdown)[0])
        await room.asks("hello")
        async with running.resources.bus.bell(topics.INBOXES):
            shutdown.begin()
            await ending
        assert not await running.resources.bus.is_held(f"agent:{AGENT}")
        async with _host(settings):
            assert await room.asks("still there?")
