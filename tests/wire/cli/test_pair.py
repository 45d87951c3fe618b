"""`palimpsest pair` beside the program: it opens the database and nothing else."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.messages import Address
from bot.runtime import access
from bot.store import Database, outbox, people
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer
from tests.wire.program import Program, Programs
from tests.wire.talk import Talk

CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")
ADA = Address("telegram", "1001")
NO_STORES = {"DATABASE_URL": "", "REDIS_URL": ""}


class Book:
    """A database in which somebody asked to be let in, and the environment in which a command finds it."""

    def __init__(self, programs: Programs, stores: dict[str, Any]) -> None:
        self.programs = programs
        self.environment = {**NO_STORES, **{name.upper(): str(value) for name, value in stores.items()}}
        url = stores.get("database_url")
        self.database = Database(url) if url else Database.in_folder(programs.data)

    async def asks(self, address: Address, name: str, code: str, *, hours: float = 1.0) -> None:
        """Somebody wrote to the bot, and was given a code."""
        await self.database.open()
        async with self.database.write() as tx:
            now = time.time()
            await people.ask(tx, address, address.chat, name, code=code, expires_at=now + hours * 3600, now=now)

    async def pair(self, *words: str) -> Program:
        """The command, which has ended."""
        program = await self.programs.start("pair", *words, **self.environment)
        await program.ends()
        return program

    async def told(self, address: Address) -> list[str]:
        """What waits to be sent there."""
        async with self.database.read() as tx:
            return [row.text for row in await outbox.pending(tx, address.connector, address.chat)]


@pytest.fixture
async def waiting(programs: Programs, book: dict[str, Any]) -> AsyncIterator[Book]:
    """Ada waits with ABCD-2345."""
    opened = Book(programs, book)
    await opened.asks(ADA, "Ada \x1b[31mLovelace", "ABCD-2345")
    yield opened
    await opened.database.close()


@pytest.fixture
async def on_sqlite(programs: Programs) -> AsyncIterator[Book]:
    """Nobody waits."""
    opened = Book(programs, {})
    yield opened
    await opened.database.close()


async def test_a_code_lets_somebody_in_in_capitals_or_not_and_they_are_told(waiting: Book) -> None:
    program = await waiting.pair("approve", "abcd-2345")
    assert (program.process.returncode, program.err) == (0, [])
    assert program.out == ["telegram:1001 (Ada [31mLovelace) is let in."]
    assert await waiting.told(ADA) == [access.welcome()]
    (person,) = json.loads("\n".join((await waiting.pair("list", "--json")).out))
    assert (person["person"], person["state"], person["code"], person["expires"]) == (
        "telegram:1001", "approved", None, None,
    )  # fmt: skip
    assert not (waiting.programs.data / "valkey").exists()


async def test_the_list_says_who_waits_with_which_code_and_until_when(waiting: Book) -> None:
    await waiting.asks(Address("discord", "7"), "Late", "ZZZZ-ZZZZ", hours=-1)
    (line,) = (await waiting.pair("list")).out
    assert re.fullmatch(
        r"telegram:1001  waits with ABCD-2345 until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00  Ada \[31mLovelace", line
    )
    (person,) = json.loads("\n".join((await waiting.pair("list", "--json")).out))
    assert (person["state"], person["code"]) == ("pending", "ABCD-2345")


async def test_who_is_forgotten_is_in_no_list_and_their_code_is_worth_nothing(waiting: Book) -> None:
    assert (await waiting.pair("revoke", "telegram:1001")).out == ["telegram:1001 is forgotten."]
    assert (await waiting.pair("list")).out == ["Nobody was let in by a code, and nobody waits."]
    assert (await waiting.pair("approve", "ABCD-2345")).process.returncode == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("approve", "ABCD-9999"), 1, "I know no code ABCD-9999, or it has expired"),
        (("revoke", "telegram:1002"), 1, "I know no telegram:1002"),
        (("revoke", "1001"), 2, "connector:id"),
        (("approve",), 2, "Missing argument"),
    ],
)
async def test_what_cannot_be_done_is_said_on_standard_error(
    on_sqlite: Book, words: tuple[str, ...], code: int, said: str
) -> None:
    await on_sqlite.asks(ADA, "Ada", "ABCD-2345")
    program = await on_sqlite.pair(*words)
    assert program.process.returncode == code
    assert program.out == []
    assert program.logged(said), program.describe()
    assert code == 2 or len(program.err) == 1


async def test_an_expired_code_lets_nobody_in(on_sqlite: Book) -> None:
    await on_sqlite.asks(ADA, "Ada", "ABCD-2345", hours=-1)
    assert (await on_sqlite.pair("approve", "ABCD-2345")).process.returncode == 1
    assert await on_sqlite.told(ADA) == []


async def test_whoever_is_on_a_list_of_the_settings_may_still_talk_and_that_is_said(waiting: Book) -> None:
    waiting.environment["ALLOW"] = "telegram:1001"
    assert (await waiting.pair("revoke", "telegram:1001")).out == [
        "telegram:1001 is forgotten. telegram:1001 is in ALLOW and may talk because of that."
    ]
    program = await waiting.pair("revoke", "telegram:1001")
    assert program.process.returncode == 1
    assert program.logged("is in ALLOW")


async def test_in_a_folder_without_a_database_none_is_made(programs: Programs) -> None:
    program = await programs.start("pair", "list", **NO_STORES)
    assert await program.ends() == 1
    assert program.logged("There is no database in DATA_DIR")
    assert not Path(programs.data).exists()


async def test_somebody_is_let_in_while_the_program_runs(
    telegram_programs: Programs, model: MessagesServer, telegram: BotApiServer
) -> None:
    await telegram_programs.serve(ACCESS="pairing")
    ada = Talk(telegram, model, 1001)
    ada.says("hello")
    await telegram.wait_for(lambda server: server.texts(1001))
    found = CODE.search(telegram.texts(1001)[0])
    assert found
    approved = await telegram_programs.start("pair", "approve", found[0])
    assert await approved.ends() == 0
    await telegram.wait_for(lambda server: access.welcome() in server.texts(1001), timeout=20)
    await ada.asks("The colour is blue.")
    assert await (await telegram_programs.start("pair", "revoke", "telegram:1001")).ends() == 0
    asked = len(model.requests)
    ada.says("What is the colour?")
    await telegram.wait_for(lambda server: not server.pending)
    assert len(model.requests) == asked
