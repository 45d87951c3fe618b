"""Rules in the book: they come back as they were, are one conversation's, and go with the words of who said them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.compaction.standing_rules import Rule, RuleState
from bot.history import Entry, EntryKind
from bot.messages import Address, text_block
from bot.store import Database, agents, histories, standing_rules
from bot.store.archive import exporting, forgetting, importing
from bot.store.archive.importing import BadRowError
from bot.store.schema import standing_rules as table
from tests.unit.entries import said

HERE, THERE = Address("room", "1"), Address("room", "2")
RULE = Rule(3, "две\nстроки 👩‍👩‍👧 </x> עברית", RuleState.PINNED, "ada", "message:1", 4, "bob", "Bob", 7.5, 9)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, data_dir: Path) -> str:
    embedded = request.param == "sqlite"
    return f"sqlite:///{data_dir}/palimpsest.db" if embedded else str(request.getfixturevalue("postgres_book"))


@pytest.fixture
async def book(url: str) -> AsyncIterator[Database]:
    """Each of the two databases, with the rules of two conversations."""
    database = Database(url)
    await database.open()
    async with database.write() as tx:
        for address in (HERE, THERE):
            await agents.ensure(tx, address, now=1.0)
        await standing_rules.put(tx, HERE.agent_id, [RULE, replace(RULE, number=1, person="bob", key="")])
        await standing_rules.put(tx, THERE.agent_id, [RULE])
    yield database
    await database.close()


async def loaded(book: Database, address: Address = HERE) -> tuple[Rule, ...]:
    async with book.read() as tx:
        return await standing_rules.load(tx, address.agent_id)


async def test_a_rule_comes_back_as_it_was_and_is_changed_in_its_place(book: Database) -> None:
    assert (await loaded(book))[1] == RULE
    async with book.write() as tx:
        await standing_rules.put(tx, HERE.agent_id, [RULE.forgotten(30)])
    first, second = await loaded(book)
    assert (first.is_pinned, second.state, second.seq, second.pinned_by) == (True, RuleState.FORGOTTEN, 30, "")
    assert await loaded(book, THERE) == (RULE,)


async def test_what_is_taken_back_leaves_only_its_number(book: Database) -> None:
    async with book.write() as tx:
        assert await standing_rules.forget_message(tx, HERE.agent_id, "") == 0
        assert await standing_rules.forget_message(tx, HERE.agent_id, "message:1") == 1
    assert (await loaded(book))[1] == Rule(3, "", RuleState.FORGOTTEN, seq=4)
    async with book.write() as tx:
        assert await standing_rules.since_person(tx, THERE.agent_id, "ada") == 7.5
        assert await standing_rules.forget_person(tx, THERE.agent_id, "bob") == 0
        assert await standing_rules.forget_person(tx, HERE.agent_id, "bob") == 1
    (rule,) = await loaded(book, THERE)
    assert (rule.text, rule.is_pinned, rule.pinned_by, rule.pinned_name) == (RULE.text, True, "", "")
    assert [one.text for one in await loaded(book)] == ["", ""]


async def test_what_people_said_is_read_from_the_latest_on_and_nothing_else_is(book: Database) -> None:
    entries = [said(seq, f"said {seq}") for seq in range(1, 8)]
    other = [Entry(8, "user", (text_block("x"),), EntryKind.NOTE), Entry(9, "user", (text_block("x"),), EntryKind.FILE)]
    async with book.write() as tx:
        await histories.append(tx, HERE.agent_id, [*entries, *other], now=1.0)
        read = await standing_rules.said(tx, HERE.agent_id, after=3, most=2, besides=[2, 8])
    assert [entry.seq for entry in read] == [2, 6, 7]


async def test_rules_are_exported_imported_and_forgotten_with_their_conversation(book: Database) -> None:
    async with book.read() as tx:
        rows = [row async for some in exporting.rows(tx, table, HERE.agent_id) for row in some]
    for row in rows:
        importing.check("standing_rules", row, HERE.agent_id)
    with pytest.raises(BadRowError):
        importing.check("standing_rules", {**rows[0], "state": "eternal"}, HERE.agent_id)
    with pytest.raises(BadRowError):
        importing.check("standing_rules", {**rows[0], "number": 0}, HERE.agent_id)
    async with book.write() as tx:
        before = await standing_rules.load(tx, HERE.agent_id)
        gone = await forgetting.everything(tx, HERE.agent_id)
        assert gone["standing_rules"] == 2
        assert await standing_rules.load(tx, HERE.agent_id) == ()
        await importing.Importing(tx, HERE.agent_id).add("standing_rules", rows)
        assert await standing_rules.load(tx, HERE.agent_id) == before
    assert await loaded(book, THERE) == (RULE,)
