"""Every page over a book with many conversations, in each kind of database."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bot.history import Usage
from bot.messages import Address
from bot.store import Database, agents, conversations, finding, outbox, overview, pages, turns
from bot.store.turns import TurnState
from tests.bench.page.__main__ import paths_of
from tests.bench.page.book import Size, write
from tests.conftest import OpenHouse
from tests.fundamentals.memory_book import until
from tests.house import Room
from tests.page.conftest import Read, browser_of, visiting
from tests.servers.messages import MessagesServer


@pytest.fixture
async def many(book: dict[str, Any], tmp_path: Path) -> AsyncIterator[Database]:
    """A book in each kind of database, with all sorts of conversations."""
    database = Database(book["database_url"]) if book else Database.in_folder(tmp_path / "many")
    await database.open()
    await write(database, Size(agents=8, entries=160, compactions=16), now=time.time())
    yield database
    await database.close()


async def test_every_page_answers_over_a_book_with_many_conversations(page: Any, many: Database) -> None:
    async with browser_of(page(on=many)) as client:
        for path in await paths_of(many):
            answer = await client.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            if "json" not in path:
                assert len(Read(answer.text).all("h1")) == 1
        for path in ("/conversations/a%00b", "/compactions/a%00b", "/conversations/%ff", "/nowhere"):
            assert (await client.get(path)).status_code == 404
        for path in ("/?q=a%00b", "/compactions?agent=a%00b", "/search?q=a%00b%ff", "/parked?retried=%00"):
            assert (await client.get(path)).status_code == 200


async def test_what_the_overview_and_the_search_say_is_in_the_book(many: Database) -> None:
    async with many.read() as tx:
        assert await conversations.count(tx) == 8
        everybody = await conversations.listed(tx, order="fill")
        fullest = everybody[0]
        assert fullest.meter
        assert sum((await overview.levels(tx)).values()) == 8
        assert (await overview.day(tx, 0)).answered.output > 0
        stretch = await pages.said(tx, fullest.agent_id, "all", most=10)
        word = next(word for word in stretch.entries[-1].text.split() if len(word) > 5).strip(".")
        assert all(
            word.casefold() in one.entry.blocks[0]["text"].casefold() for one in await finding.said(tx, word, most=5)
        )
        assert await finding.said(tx, word, most=5)


async def test_what_stood_in_place_of_an_answer_is_among_what_the_program_said(many: Database) -> None:
    address = Address("room", "unlucky")
    async with many.write() as tx:
        await agents.ensure(tx, address, now=1)
        await outbox.say(tx, address, "a notice", now=2)
        for name, state in (("answered", TurnState.DONE), ("refused", TurnState.FAILED)):
            slot = await outbox.open_slot(tx, address, now=3)
            await turns.begin(tx, name, address.agent_id, slot, now=3)
            await outbox.change(tx, slot, f"{name}, it says")
            await turns.end(tx, name, state, Usage(), now=4)
        said = await pages.notices(tx, address, most=10)
    assert [notice.text for notice in said] == ["refused, it says", "a notice"]


async def test_the_overview_says_why_answers_fail_and_that_they_work_again(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as running, visiting(running) as client:
        model.fail(401, "authentication_error", "invalid x-api-key", times=None)
        for chat in ("1", "2"):
            await room.says("Are you there?", chat=chat)
        await until_told(client, "2 answers failed today, and none was answered since: 2 × wrong key.")
        model.clear_faults()
        await room.asks("And now?", chat="3")
        await until_told(client, "2 answers failed today: 2 × wrong key.")


async def until_told(client: httpx2.AsyncClient, sentence: str) -> None:
    """What people see comes before the end of a turn is committed."""

    async def is_told() -> bool:
        problems = (await client.get("/overview.json")).json()["problems"]
        return any(problem["sentence"] == sentence for problem in problems)

    await until(is_told)
