"""Who may talk, who lets them in, and what becomes of everybody else."""

from __future__ import annotations

import re

from sqlalchemy import func, select

from bot.messages import Address
from bot.store import people
from bot.store.schema import agents, inbox
from bot.store.schema import people as people_table
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")


def code_in(text: str) -> str:
    found = CODE.search(text)
    assert found, text
    return found[0]


async def rows(house: House) -> dict[str, int]:
    """How many rows the book has of people, conversations and messages."""
    async with house.resources.database.read() as tx:
        return {
            table.name: (await tx.execute(select(func.count()).select_from(table))).scalar_one()
            for table in (people_table, agents, inbox)
        }


async def test_somebody_unknown_gets_a_code_and_reaches_no_model(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(access="pairing") as opened:
        await room.says("hello, my password is swordfish")
        await room.until(room.notices)
        assert code_in(room.notices()[0])
        assert await rows(opened) == {"people": 1, "agents": 0, "inbox": 0}
    assert model.requests == []


async def test_whoever_is_let_in_by_an_admin_may_talk(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing", admins="room:ada"):
        await room.says("hello", chat="eve", person="eve")
        await room.until(lambda: room.notices("eve"))
        code = code_in(room.notices("eve")[0])
        assert "eve" in await room.commands(f"/pair {code.lower()}")
        await room.until(lambda: len(room.notices("eve")) == 2)
        assert "let in" in room.notices("eve")[1]
        await room.says("hello again", chat="eve", person="eve")
        await room.until(lambda: room.replies("eve"))


async def test_only_an_admin_lets_others_in(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing", allow="room:ada"):
        await room.says("hello", chat="eve", person="eve")
        await room.until(lambda: room.notices("eve"))
        answer = await room.commands(f"/pair {code_in(room.notices('eve')[0])}")
        assert "do not know /pair" in answer
        await room.says("hello again", chat="eve", person="eve")
        await room.asks("hello")
        assert room.replies("eve") == []


async def test_a_code_that_was_approved_on_the_command_line_counts_at_once(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing") as opened:
        await room.says("hello")
        await room.until(room.notices)
        async with opened.resources.database.write() as tx:
            found = await people.approve(tx, code_in(room.notices()[0]), now=opened.resources.database.clock())
        assert found is not None
        assert (await room.asks("hello")).startswith("Noted")
        async with opened.resources.database.write() as tx:
            assert await people.revoke(tx, "room", "ada")
        await room.says("still there?")
        await room.says("/status", chat="2", person="ada")
        assert len(room.replies()) == 1


async def test_a_code_expires(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing") as opened:
        await room.says("hello")
        await room.until(room.notices)
        later = opened.resources.database.clock() + 3601
        async with opened.resources.database.write() as tx:
            assert await people.approve(tx, code_in(room.notices()[0]), now=later) is None


async def test_somebody_unknown_is_answered_once_an_hour_and_is_one_row(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing", allow="room:ada") as opened:
        for number in range(20):
            await room.says(f"let me in {number}", chat="eve", person="eve")
        await room.asks("hello")
        assert len(room.notices("eve")) == 1
        assert (await rows(opened))["people"] == 1


async def test_a_crowd_cannot_fill_the_book(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing", allow="room:ada") as opened:
        for number in range(150):
            await room.says("let me in", chat=f"stranger{number}", person=f"stranger{number}")
        await room.asks("hello")
        assert await rows(opened) == {"people": 100, "agents": 1, "inbox": 1}


async def test_admins_are_told_of_each_once_and_of_a_crowd_in_one_line(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing", admins="room:ada") as opened:
        await room.asks("hello")
        for _ in range(3):
            for number in range(20):
                await room.says("let me in", chat=f"stranger{number}", person=f"stranger{number}")
        await room.until(lambda: len(room.notices()) == 6)
        named = [re.findall(r"room:stranger\d+", text) for text in room.notices()]
        assert sorted(map(len, named)) == [0, 1, 1, 1, 1, 1]
        assert "waits" in room.notices()[0]
        async with opened.resources.database.write() as tx:
            asked = await people.everybody(tx, now=opened.resources.database.clock())
        assert len(asked) == 20
        await room.asks("and?")
        assert len(room.notices()) == 6


async def test_who_asks_again_when_their_code_has_expired_is_nobody_new(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing") as opened:
        database, address = opened.resources.database, Address("room", "eve")
        async with database.write() as tx:
            first = await people.ask(tx, address, "eve", "Eve", code="AAAA-AAAA", expires_at=3600, now=0)
            later = await people.ask(tx, address, "eve", "Eve", code="BBBB-BBBB", expires_at=7300, now=3700)
            gone = await people.ask(tx, address, "eve", "Eve", code="CCCC-CCCC", expires_at=200_000, now=190_000)
            assert (first, later, gone) == (
                people.Asked("AAAA-AAAA", is_new=True, lately=1),
                people.Asked("BBBB-BBBB", is_new=False, lately=0),
                people.Asked("CCCC-CCCC", is_new=True, lately=1),
            )
            assert await people.approve(tx, "AAAA-AAAA", now=190_001) is None
            let_in = await people.approve_person(tx, "room", "eve", now=300_000)
            assert let_in
            assert let_in.changed_at == 300_000


async def test_in_a_group_an_admin_is_not_told_who_waits(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing", admins="room:ada"):
        await room.says("let me in", chat="eve", person="eve")
        await room.until(lambda: room.notices("eve"))
        await room.says("/pair", person="ada", speaker="Ada")
        await room.until(room.notices)
        assert room.notices() == ["Others read along here: ask me that in a private chat."]


async def test_in_a_group_the_person_counts(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house(access="allowlist", allow="room:ada"):
        await room.says("I am Eve", person="eve", speaker="Eve")
        await room.says("and I am Ada", person="ada", speaker="Ada")
        await room.until(room.replies)
    assert "Eve" not in str(model.requests[-1].request.messages)


async def test_speakers_in_a_group_are_named_to_the_model(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    async with house():
        await room.says("I like tea", person="ada", speaker="Ada")
        await room.until(room.replies)
        await room.says("I like coffee", person="bob", speaker="Bob (@bob)")
        await room.until(lambda: len(room.replies()) == 2)
    said = str(model.requests[-1].request.messages)
    assert "Ada: I like tea" in said
    assert "Bob (@bob): I like coffee" in said


async def test_who_writes_too_fast_is_told_once_and_stop_still_works(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang()
    async with house(rate={"person": 3, "chat": 0}):
        for number in range(6):
            await room.says(f"message {number}")
        await room.until(lambda: any("faster" in text for text in room.notices()))
        assert "Stopped" in await room.commands("/abort") or any("Stopped" in text for text in room.notices())
        assert sum("faster" in text for text in room.notices()) == 1
        model.release()


async def test_somebody_unknown_whose_command_shows_that_it_thinks_is_always_answered(
    house: OpenHouse, room: Room
) -> None:
    async with house(access="pairing"):
        await room.says("/status", person="eve", is_awaited=True)
        await room.until(lambda: len(room.notices()) == 1)
        await room.says("/status", person="eve", is_awaited=True)
        await room.until(lambda: len(room.notices()) == 2)


async def test_a_command_that_nobody_knows_is_left_to_other_bots_in_a_group(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.says("/weather", speaker="Ada")
        await room.commands("/status")
        assert len(room.notices()) == 1


async def test_who_was_sent_from_a_group_to_a_private_chat_gets_a_code_there(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing"):
        await room.says("hello", chat="group", person="eve", speaker="Eve")
        await room.until(lambda: room.notices("group"))
        await room.says("let me in", chat="eve", person="eve")
        await room.until(lambda: room.notices("eve"))
        assert code_in(room.notices("eve")[0])


async def test_who_was_let_in_and_revoked_gets_a_new_code(house: OpenHouse, room: Room) -> None:
    async with house(access="pairing") as opened:
        await room.says("hello")
        await room.until(room.notices)
        typed = code_in(room.notices()[0]).replace("-", " ").lower()
        async with opened.resources.database.write() as tx:
            assert await people.approve(tx, typed, now=opened.resources.database.clock())
            assert await people.revoke(tx, "room", "ada")
        await room.says("hello again")
        await room.until(lambda: len(room.notices()) == 2)
        assert code_in(room.notices()[1]) != code_in(room.notices()[0])


async def test_a_message_that_is_brought_again_counts_once(house: OpenHouse, room: Room) -> None:
    async with house(rate={"person": 2, "chat": 0}):
        for _ in range(5):
            await room.says("hello", key="message:1:7")
        await room.until(room.replies)
        await room.asks("and this?")
        assert room.notices() == []
