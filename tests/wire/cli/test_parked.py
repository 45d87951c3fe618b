"""`palimpsest parked` beside the program: it opens the database and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from bot.messages import Address, Inbound
from bot.store import Database, agents, inbox
from bot.store.operators import parked
from tests.wire.program import Program, Programs

HERE = Address("telegram", "1001")
TWO_LINES = "two\n\x1b[31mlines"


class Book:
    """A database in which one message is parked and one update was skipped."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.database = Database.in_folder(programs.data)

    async def fill(self) -> None:
        await self.database.open()
        async with self.database.write() as tx:
            event = Inbound(HERE, "message:1001:7", "message", 7, "1001", TWO_LINES, "Ada")
            await inbox.add(tx, event, now=1_000.0)
            [message] = await inbox.waiting(tx, HERE.agent_id)
            await parked.park(tx, [message.id], "ZeroDivisionError: a defect", now=2_000.0)
            skipped = Inbound(HERE, "message:1001:8", "message", 8, "1001", "later", "Ada")
            await parked.skip(tx, skipped, "OverflowError: too large", now=3_000.0)
            await agents.set_starts(tx, HERE.agent_id, 9)

    async def waiting(self) -> list[str]:
        async with self.database.read() as tx:
            return [message.text for message in await inbox.waiting(tx, HERE.agent_id)]

    async def parked(self, *words: str) -> Program:
        """The command, which has ended."""
        program = await self.programs.start("parked", *words, DATABASE_URL="", REDIS_URL="")
        await program.ends()
        return program


@pytest.fixture
async def book(programs: Programs) -> AsyncIterator[Book]:
    book = Book(programs)
    await book.fill()
    yield book
    await book.database.close()


async def test_the_list_names_what_was_put_aside_and_why_in_one_line_each(book: Book) -> None:
    program = await book.parked("list")
    assert (program.process.returncode, program.err) == (0, [])
    assert program.out == [
        "1   1970-01-01T00:33:20+00:00  telegram-1001  two [31mlines  (ZeroDivisionError: a defect)",
        "u1  1970-01-01T00:50:00+00:00  telegram-1001  later  (OverflowError: too large)",
    ]
    found = json.loads("\n".join((await book.parked("list", "--json")).out))
    assert [(one["id"], one["person"], one["text"]) for one in found] == [
        ("1", "telegram:1001", TWO_LINES),
        ("u1", "telegram:1001", "later"),
    ]


async def test_show_says_all_of_one_and_retry_lets_it_be_answered_again(book: Book) -> None:
    shown = await book.parked("show", "1")
    assert shown.out[-3:] == ["", "two", "[31mlines"]
    assert "reason        ZeroDivisionError: a defect" in shown.out
    retried = await book.parked("retry", "1")
    assert retried.out == ["1 waits in telegram-1001 to be answered again."]
    assert await book.waiting() == [TWO_LINES]
    assert (await book.parked("retry", "u1")).process.returncode == 0
    assert await book.waiting() == [TWO_LINES, "later"]
    assert (await book.parked("list")).out == ["Nothing is parked."]
    async with book.database.write() as tx:
        row = await agents.claim(tx, HERE.agent_id)
    assert row
    assert row.starts == 1


@pytest.mark.parametrize(("words", "code"), [(("show", "17"), 1), (("retry", "u9"), 1), (("retry",), 2)])
async def test_what_is_not_there_is_said_on_standard_error(book: Book, words: tuple[str, ...], code: int) -> None:
    program = await book.parked(*words)
    assert (program.process.returncode, program.out) == (code, [])
    assert "Nothing that is called" in "\n".join(program.err) or code == 2
