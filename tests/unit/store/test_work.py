"""Whose prompt cache is about to expire is found in the book, for as long as that lasts."""

from __future__ import annotations

from bot.compaction.quiet import LEAD_SECONDS
from bot.history import Usage
from bot.messages import Address
from bot.store import Database, agents, outbox, turns, work
from bot.store.turns import TurnState

HERE, THERE = Address("room", "1"), Address("room", "2")


async def test_a_quiet_moment_is_work_until_the_cache_has_expired(database: Database) -> None:
    async with database.write() as tx:
        for address, at in ((HERE, 100.0), (THERE, 500.0)):
            await agents.ensure(tx, address, now=1.0)
            await agents.remember(tx, address.agent_id, quiet_at=at)
    async with database.read() as tx:
        assert await work.next_quiet(tx, now=0.0) == 100.0
        assert await work.waiting_agents(tx, 10, now=99.0) == []
        assert await work.waiting_agents(tx, 10, now=100.0) == [HERE.agent_id]
        assert await work.is_waited_for(tx, HERE.agent_id, now=100.0)
        assert not await work.has_work(tx, THERE.agent_id, now=100.0)
        assert await work.next_quiet(tx, now=100.0) == 500.0
        assert await work.waiting_agents(tx, 10, now=100.0 + LEAD_SECONDS) == []
    async with database.write() as tx:
        row = await agents.claim(tx, HERE.agent_id)
        assert row
        assert row.quiet_at == 100.0
        await agents.remember(tx, HERE.agent_id, quiet_at=None)
        assert await work.next_quiet(tx, now=0.0) == 500.0


async def test_pauses_lie_between_turns(database: Database) -> None:
    async with database.write() as tx:
        for name, began, ended in (("a", 10.0, 20.0), ("b", 50.0, 60.0), ("c", 400.0, None)):
            await turns.begin(tx, name, HERE.agent_id, 1, now=began)
            if ended is not None:
                await turns.end(tx, name, TurnState.DONE, Usage(), now=ended)
        assert await turns.pauses(tx, HERE.agent_id, most=10) == [340.0, 30.0]
        assert await turns.pauses(tx, HERE.agent_id, most=2) == [340.0]
        assert await turns.pauses(tx, THERE.agent_id, most=2) == []


async def test_what_is_not_to_disturb_anybody_goes_out_as_it_reads_when_a_turn_ends(database: Database) -> None:
    async with database.write() as tx:
        slot = await outbox.say(tx, HERE, "it begins", held=True, now=1.0)
        await outbox.change(tx, slot, "it is done")
        assert await outbox.pending(tx, "room", "1") == []
        await outbox.release(tx, HERE.agent_id)
        assert [row.text for row in await outbox.pending(tx, "room", "1")] == ["it is done"]
        await outbox.change(tx, slot, "it was taken back")
        assert [row.text for row in await outbox.pending(tx, "room", "1")] == ["it was taken back"]
