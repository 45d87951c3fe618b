"""Facts in the book: numbers stay, changes touch what changed, candidates are bounded, nobody reads another's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.compaction.facts.fact import Candidate, Fact, FactKind, FactStatus, Reason, Source, Speaker
from bot.compaction.facts.life import MOST_CANDIDATES
from bot.messages import Address, AgentId
from bot.store import Database, agents, facts, histories
from bot.store.facts import MemoryLine, MemoryRow
from tests.unit.entries import replied, said

ADA, BO = Address("room", "1").agent_id, Address("room", "2").agent_id
FACT = Fact(
    FactKind.VALUE,
    "order_id=W7\tstatus=pending",
    (1, 4),
    pinned=True,
    key="entity:order_id=W7",
    status=FactStatus.REPLACED,
    speaker=Speaker.TOOL,
    weight=7.5,
    number=3,
    source=Source.PERSON,
    forgotten=True,
)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, data_dir: Path) -> str:
    embedded = request.param == "sqlite"
    return f"sqlite:///{data_dir}/palimpsest.db" if embedded else str(request.getfixturevalue("postgres_book"))


@pytest.fixture
async def book(url: str) -> AsyncIterator[Database]:
    """Each of the two databases, empty."""
    database = Database(url)
    await database.open()
    yield database
    await database.close()


async def keep(book: Database, agent_id: AgentId, *after: Fact, before: tuple[Fact, ...] = ()) -> None:
    async with book.write() as tx:
        await facts.change(tx, agent_id, before, after)


async def loaded(book: Database, agent_id: AgentId) -> tuple[Fact, ...]:
    async with book.read() as tx:
        return await facts.load(tx, agent_id)


def plain(number: int) -> Fact:
    return Fact(FactKind.STATEMENT, f"Fact {number}.", (number,), number=number)


async def test_a_fact_comes_back_as_it_was(book: Database) -> None:
    await keep(book, ADA, FACT)
    assert await loaded(book, ADA) == (FACT,)


async def test_what_is_in_it_may_be_any_text(book: Database) -> None:
    odd = Fact(FactKind.STATEMENT, "预算 500 ₽ 😀 \ud800 a\0b", (), number=1)
    await keep(book, ADA, odd)
    (back,) = await loaded(book, ADA)
    assert back.text == "预算 500 ₽ 😀 ? ab"


async def test_a_change_brings_the_rows_from_one_state_to_the_other(book: Database) -> None:
    before = tuple(plain(number) for number in range(1, 1_301))
    await keep(book, ADA, *before)
    pinned = replace(before[1], pinned=True)
    after = (before[0], pinned, plain(2_000))
    await keep(book, ADA, *after, before=before)
    assert await loaded(book, ADA) == after


async def test_agents_do_not_read_or_change_each_others(book: Database) -> None:
    await keep(book, ADA, plain(1), plain(2))
    await keep(book, BO, plain(1))
    await keep(book, BO, before=(plain(1), plain(2)))
    assert await loaded(book, ADA) == (plain(1), plain(2))
    assert await loaded(book, BO) == ()
    async with book.write() as tx:
        await facts.put(tx, ADA, MemoryRow(7, 1))
        await facts.add_candidates(tx, ADA, [Candidate(FactKind.GOAL, "Go.", 1)], now=1.0)
    async with book.read() as tx:
        assert await facts.get(tx, BO) == MemoryRow()
        assert await facts.candidates(tx, BO) == ()


async def test_how_far_it_is_is_kept(book: Database) -> None:
    row = MemoryRow(12, 3, 9, MemoryLine(slot=4, turns=2, places={"drafts": 7}), ("[X] {}",))
    for wanted in (row, replace(row, upto=20, told=())):
        async with book.write() as tx:
            await facts.put(tx, ADA, wanted)
        async with book.read() as tx:
            assert await facts.get(tx, ADA) == wanted


def test_the_line_in_the_chat_is_kept_as_earlier_versions_kept_it() -> None:
    line = MemoryLine(slot=4, layer=1, turns=2, accepted=3, places={"drafts": 7})
    kept = {"place:drafts": 7, "accepted": 3, "rejected": 0, "pruned": 0, "slot": 4, "layer": 1, "turns": 2}
    assert (line.as_json(), MemoryLine.from_json(kept)) == (kept, line)
    assert MemoryLine.from_json({}).as_json() == {}
    assert MemoryLine.from_json({"place:drafts": 7}).as_json() == {"place:drafts": 7}


async def test_candidates_are_kept_with_what_was_decided_and_only_the_last_ones(book: Database) -> None:
    found = [
        Candidate(FactKind.STATEMENT, f"Line {at}.", at, reason=Reason.LOW_VALUE) for at in range(MOST_CANDIDATES - 1)
    ]
    last = Candidate(FactKind.PATH, "/srv/a", 9, "path:/srv/a", Speaker.TOOL)
    async with book.write() as tx:
        await facts.add_candidates(tx, BO, [last], now=1.0)
        await facts.add_candidates(tx, ADA, found, now=1.0)
        await facts.add_candidates(tx, ADA, [last, last, last], now=2.0)
    async with book.read() as tx:
        kept = await facts.candidates(tx, ADA)
        assert len(await facts.candidates(tx, BO)) == 1
    assert len(kept) == MOST_CANDIDATES
    assert kept[0].text == "Line 2."
    assert (kept[0].is_accepted, kept[0].reason) == (False, Reason.LOW_VALUE)
    assert kept[-1] == last


async def test_more_candidates_at_once_than_are_kept_are_the_last_of_them(book: Database) -> None:
    found = [Candidate(FactKind.STATEMENT, f"Line {at}.", at) for at in range(MOST_CANDIDATES + 10)]
    async with book.write() as tx:
        await facts.add_candidates(tx, ADA, found, now=1.0)
        await facts.add_candidates(tx, ADA, [], now=1.0)
    async with book.read() as tx:
        assert (await facts.candidates(tx, ADA))[0].text == "Line 10."


async def test_unread_is_what_was_said_since_and_nothing_that_a_layer_inserted(book: Database) -> None:
    added = [said(1, "one"), replied(2, "two"), replace(said(3, "three"), layer=1, place=1), said(4, "four")]
    async with book.write() as tx:
        await agents.ensure(tx, Address("room", "1"), now=1.0)
        await histories.append(tx, ADA, added, now=1.0)
    async with book.read() as tx:
        assert [entry.seq for entry in await facts.unread(tx, ADA, 1, 10)] == [2, 4]
        assert [entry.seq for entry in await facts.unread(tx, ADA, 0, 2)] == [2, 4]
        assert await facts.unread(tx, BO, 0, 10) == ()


async def test_notices_that_stand_in_a_trace_are_taken_and_later_ones_stay(book: Database) -> None:
    async with book.write() as tx:
        await facts.put(tx, ADA, MemoryRow(1, 1, told=("a", "b", "c")))
        await facts.take_told(tx, ADA, ("a", "b"))
        await facts.take_told(tx, BO, ())
    async with book.read() as tx:
        assert (await facts.get(tx, ADA)).told == ("c",)
