"""Histories in the book: what is read is what was written, and no more of it than can be seen."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError, NoResultFound

from bot.compaction.fallback import hide_oldest
from bot.history import Anchor, Entry, EntryKind, History, Layer, Usage
from bot.messages import AgentId, Audience, text_block
from bot.store import Database, histories
from tests.unit.any_history import histories as any_histories
from tests.unit.entries import replied, returned, said

ADA = AgentId("room-1")
ENTRIES = (
    said(1, "hi 🙂", tokens=3, turn="t1"),
    replied(2, "I look.", "a", tokens=9, turn="t1", anchor=Anchor(Usage(1, 2, 3, 4), (1, 2), 99)),
    returned(3, "a", [text_block("a fox")], audience=Audience.MODEL),
    replied(4, "A f", interrupted=True),
    Entry(5, "user", (text_block("note"),), EntryKind.NOTE, layer=7, place=2),
)


async def write(database: Database, history: History, agent_id: AgentId = ADA) -> None:
    async with database.write() as tx:
        own = [entry for entry in history.entries if entry.layer is None]
        await histories.append(tx, agent_id, own, now=1.0)
        for layer in history.layers:
            inserted = [entry for entry in history.entries if entry.layer == layer.number]
            await histories.put(tx, agent_id, layer, inserted, now=1.0)


async def load(database: Database, agent_id: AgentId = ADA) -> History:
    async with database.read() as tx:
        return await histories.load(tx, agent_id)


async def test_entries_come_back_as_they_were(database: Database) -> None:
    async with database.write() as tx:
        await histories.append(tx, ADA, ENTRIES, now=1.0)
        await histories.append(tx, ADA, [], now=1.0)
    assert (await load(database)).entries == ENTRIES


async def test_a_layer_comes_back_as_it_was(database: Database) -> None:
    layer = Layer(1, 4, ((1, 2), (4, 4)), {3: (text_block("seen"),)}, "excerpt", 3, "run")
    await write(database, History(ENTRIES[:4], (layer,)))
    assert (await load(database)).layers == (layer,)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_histories())
async def test_any_history_reads_the_same_from_the_book(database: Database, history: History) -> None:
    agent_id = AgentId(f"room-{uuid4().hex}")
    await write(database, history, agent_id)
    read = await load(database, agent_id)
    assert (read.layers, read.visible, read.view()) == (history.layers, history.visible, history.view())
    assert {entry.seq for entry in read.entries} <= {entry.seq for entry in history.entries}


async def test_what_layers_hide_is_not_read_also_between_what_stays(database: Database) -> None:
    page = History(ENTRIES[:5], (Layer(1, 5, ((2, 3), (5, 5))),))
    await write(database, page)
    assert [entry.seq for entry in (await load(database)).entries] == [1, 4]


async def test_a_layer_with_very_many_gaps_is_read_too(database: Database) -> None:
    entries = tuple(said(seq, f"line {seq}") for seq in range(1, 1_001))
    page = History(entries, (Layer(1, 1_000, tuple((seq, seq) for seq in range(2, 1_001, 2))),))
    await write(database, page)
    read = await load(database)
    assert read.visible == page.visible
    assert len(read.entries) < 1_000


async def test_a_history_that_nobody_began_is_empty(database: Database) -> None:
    assert await load(database) == History()
    async with database.read() as tx:
        assert (await histories.last_seq(tx, ADA), await histories.next_layer(tx, ADA)) == (0, 1)


async def test_agents_do_not_read_each_other(database: Database) -> None:
    await write(database, History(ENTRIES[:2], (Layer(1, 1, ((1, 1),)),)))
    assert await load(database, AgentId("room-2")) == History()


async def test_a_seq_is_given_once(database: Database) -> None:
    await write(database, History(ENTRIES[:1]))
    with pytest.raises(IntegrityError):
        await write(database, History((said(1, "another"),)))


async def test_what_lies_below_the_floor_is_not_read(database: Database) -> None:
    page = History(tuple(said(seq, f"{seq}", tokens=10) for seq in range(1, 51)))
    plan = hide_oldest(page.visible, 100)
    assert plan
    layer, inserted = plan.layer(1, 51, run=None)
    covered = page.covered(layer, inserted)
    await write(database, covered)
    loaded = await load(database)
    assert [entry.seq for entry in loaded.entries] == [46, 47, 48, 49, 50, 51]
    assert loaded.view() == covered.view()


async def test_a_layer_that_is_taken_off_is_not_read_and_stays_in_the_book(database: Database) -> None:
    page = History(ENTRIES[:2])
    note = Entry(3, "user", (text_block("s"),), EntryKind.SUMMARY, layer=1, place=3)
    await write(database, page.covered(Layer(1, 2, ((1, 2),), floor=3), [note]))
    assert [entry.seq for entry in (await load(database)).entries] == [3]
    async with database.write() as tx:
        await histories.take_off(tx, ADA, 1, now=2.0)
    loaded = await load(database)
    assert (loaded.layers, loaded.view()) == ((), page.view())
    async with database.read() as tx:
        assert await histories.next_layer(tx, ADA) == 2, "the number of a layer is never used again"
        assert await histories.last_seq(tx, ADA) == 3


async def test_only_the_layer_that_was_named_is_taken_off(database: Database) -> None:
    await write(database, History(ENTRIES[:2], (Layer(1, 2, ((1, 1),)), Layer(2, 2, ((2, 2),)))))
    async with database.write() as tx:
        await histories.take_off(tx, ADA, 2, now=2.0)
        await histories.take_off(tx, AgentId("room-2"), 1, now=2.0)
    assert (await load(database)).stack == (1,)


async def test_the_layer_of_a_run_is_found_by_its_run(database: Database) -> None:
    await write(database, History(ENTRIES[:2], (Layer(1, 2), Layer(2, 2, run="run"))))
    async with database.read() as tx:
        assert await histories.layer_of_run(tx, ADA, "run") == 2
        assert await histories.layer_of_run(tx, ADA, "other") is None


async def test_a_head_is_kept_once_under_its_hash(database: Database) -> None:
    async with database.write() as tx:
        await histories.remember_head(tx, "hash", {"system": "one"})
        await histories.remember_head(tx, "hash", {"system": "two"})
        assert await histories.head(tx, "hash") == {"system": "one"}
        with pytest.raises(NoResultFound):
            await histories.head(tx, "other")


async def test_reading_costs_two_questions_however_long_a_history_is(database: Database) -> None:
    await write(database, History(tuple(said(seq, "x") for seq in range(1, 300))))
    asked: list[str] = []
    async with database.read() as tx:
        await tx.run_sync(event.listen, "before_cursor_execute", lambda *of: asked.append(of[2]))
        await histories.load(tx, ADA)
    assert len(asked) == 2
