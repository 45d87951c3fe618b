"""Embeddings in the book: what is read is what was made, and nothing is made twice."""

from __future__ import annotations

from array import array

import pytest

from bot.messages import AgentId
from bot.store import Database, vectors

ADA, BO = AgentId("room-1"), AgentId("room-2")


async def keep(database: Database, agent_id: AgentId, model: str, made: dict[int, list[float]]) -> None:
    async with database.write() as tx:
        await vectors.keep(tx, agent_id, model, made)


async def load(database: Database, agent_id: AgentId, model: str, seqs: list[int]) -> dict[int, array[float]]:
    async with database.read() as tx:
        return await vectors.load(tx, agent_id, model, seqs)


async def test_vectors_come_back_as_they_were_to_the_precision_of_float32(database: Database) -> None:
    await keep(database, ADA, "m", {1: [0.5, -2.0, 0.1], 7: [1e-9, 3e38, 0.0]})
    loaded = await load(database, ADA, "m", [1, 2, 7])
    assert sorted(loaded) == [1, 7]
    assert list(loaded[1]) == pytest.approx([0.5, -2.0, 0.1])
    assert list(loaded[7]) == pytest.approx([1e-9, 3e38, 0.0])


async def test_only_the_entries_that_are_named_are_read(database: Database) -> None:
    await keep(database, ADA, "m", {seq: [1.0] for seq in range(1, 9)})
    assert sorted(await load(database, ADA, "m", [2, 5])) == [2, 5]
    assert await load(database, ADA, "m", []) == {}


async def test_agents_and_models_do_not_read_each_others(database: Database) -> None:
    await keep(database, ADA, "m", {1: [1.0]})
    assert await load(database, BO, "m", [1]) == {}
    assert await load(database, ADA, "other", [1]) == {}


async def test_what_is_there_stays_when_two_keep_the_same(database: Database) -> None:
    await keep(database, ADA, "m", {1: [1.0], 2: [2.0]})
    await keep(database, ADA, "m", {2: [9.0], 3: [3.0]})
    loaded = await load(database, ADA, "m", [1, 2, 3])
    assert {seq: list(vector) for seq, vector in loaded.items()} == {1: [1.0], 2: [2.0], 3: [3.0]}


async def test_keeping_nothing_writes_nothing(database: Database) -> None:
    await keep(database, ADA, "m", {})
    assert await load(database, ADA, "m", [1]) == {}


async def test_more_entries_than_a_database_takes_parameters_are_read(database: Database) -> None:
    await keep(database, ADA, "m", {seq: [float(seq)] for seq in range(1, 1_202)})
    loaded = await load(database, ADA, "m", list(range(40_000)))
    assert len(loaded) == 1_201
    assert list(loaded[1_201]) == [1_201.0]


async def test_postgresql_keeps_them_too(postgres_url: str) -> None:
    database = Database(postgres_url)
    await database.open()
    await keep(database, ADA, "m", {1: [0.25, 4.0]})
    await keep(database, ADA, "m", {1: [9.0, 9.0]})
    assert list((await load(database, ADA, "m", [1]))[1]) == [0.25, 4.0]
    await database.close()
