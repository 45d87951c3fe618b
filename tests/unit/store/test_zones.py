"""Which zones were chosen, for conversations and for people, in both books."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.messages import Address
from bot.store import Database, agents, zones
from bot.store.archive.forgetting_person import forget_pairing
from bot.store.zones import ChatZone
from tests.conftest import BOOKS

PRIVATE, OTHER = Address("room", "ada"), Address("room", "ada", "work")
GROUP, THREAD = Address("room", "group"), Address("room", "group", "7")


@pytest.fixture(params=BOOKS)
def url(request: pytest.FixtureRequest) -> str:
    embedded = request.param == "embedded"
    return (
        f"sqlite:///{request.getfixturevalue('data_dir')}/palimpsest.db"
        if embedded
        else str(request.getfixturevalue("postgres_book"))
    )


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    opened = Database(url)
    await opened.open()
    async with opened.write() as tx:
        for address in (PRIVATE, OTHER, GROUP, THREAD):
            await agents.ensure(tx, address, now=1.0)
    yield opened
    await opened.close()


async def test_nothing_is_chosen_until_somebody_does(database: Database) -> None:
    async with database.read() as tx:
        assert await zones.of_chat(tx, PRIVATE) == ""
        assert await zones.of_chat(tx, Address("room", "nobody")) == ""
        assert await zones.for_person(tx, GROUP, "ada") == ""


async def test_who_moves_says_so_once_for_all_their_private_conversations(database: Database) -> None:
    async with database.write() as tx:
        await zones.choose_for_person(tx, "room", "ada", "Europe/Lisbon")
        assert await zones.follow(tx, PRIVATE, "ada") == "Europe/Lisbon"
        assert await zones.follow(tx, OTHER, "ada") == "Europe/Lisbon"
        await zones.choose_for_person(tx, "room", "ada", "Asia/Tokyo")
    async with database.read() as tx:
        assert await zones.of_conversation(tx, PRIVATE.agent_id) == ChatZone("Asia/Tokyo", "ada")
        assert await zones.of_chat(tx, OTHER) == "Asia/Tokyo"
        assert await zones.of_chat(tx, GROUP) == ""
        assert await zones.of_person(tx, "elsewhere", "ada") == ""
    async with database.write() as tx:
        await zones.choose_for_person(tx, "room", "ada", "")
        assert await zones.of_chat(tx, PRIVATE) == ""
        assert await zones.of_person(tx, "room", "ada") == ""


async def test_a_group_has_one_of_its_own_and_so_has_everybody_in_it(database: Database) -> None:
    async with database.write() as tx:
        await zones.choose_for_chat(tx, GROUP, "Europe/Paris")
        await zones.choose_for_person(tx, "room", "ada", "Asia/Tokyo")
        assert await zones.of_chat(tx, GROUP) == "Europe/Paris"
        assert await zones.for_person(tx, GROUP, "ada") == "Asia/Tokyo"
        assert await zones.for_person(tx, GROUP, "bob") == "Europe/Paris"


async def test_a_new_thread_goes_by_its_chat_s(database: Database) -> None:
    later = Address("room", "group", "8")
    async with database.write() as tx:
        await zones.choose_for_chat(tx, THREAD, "Europe/Paris")
        await agents.ensure(tx, later, now=2.0)
        assert await zones.of_chat(tx, later) == "Europe/Paris"
        assert await zones.of_chat(tx, Address("room", "ada", "8")) == ""


async def test_where_somebody_lives_is_forgotten_with_them(database: Database) -> None:
    async with database.write() as tx:
        await zones.choose_for_person(tx, "room", "ada", "Asia/Tokyo")
        await zones.choose_for_person(tx, "room", "bob", "Europe/Paris")
    async with database.write() as tx:
        await forget_pairing(tx, "room", "ada")
        assert await zones.of_person(tx, "room", "ada") == ""
        assert await zones.of_person(tx, "room", "bob") == "Europe/Paris"
