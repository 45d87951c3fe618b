"""When nothing is answered: people read so, and those who run the program are told why, once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bot.agent.admin_notices import TOLD, UNTOLD
from bot.model.provider_errors import said_in
from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesServer

LOW = "Your credit balance is too low to access the Anthropic API."
BEGAN = "⚠️ I cannot answer anybody just now:"
OVER = "I can answer again."


def told(room: Room, chat: str, beginning: str) -> list[str]:
    """What the program has said there that begins so."""
    return [text for text in room.notices(chat) if text.startswith(beginning)]


def out_of_credit(model: MessagesServer) -> None:
    """Every request is refused from here on."""
    model.fail(400, "invalid_request_error", LOW, times=None)


async def met(room: Room, *, chat: str, person: str = "", text: str = "hello", speaker: str = "") -> str:
    """What somebody reads there in place of an answer."""
    before = len(room.replies(chat))
    await room.says(text, chat=chat, person=person or chat, speaker=speaker)
    await room.until(lambda: len(room.replies(chat)) > before)
    return room.replies(chat)[-1]


async def test_people_read_no_error_of_the_provider_and_admins_are_told_once_and_once_when_it_is_over(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(admins={"room:ada", "room:eve", "room:never-wrote"}):
        await met(room, chat="ada")
        await met(room, chat="eve")
        out_of_credit(model)
        assert await met(room, chat="bob") == f"⚠️ {TOLD}"
        assert await met(room, chat="bob") == f"⚠️ {TOLD}"
        assert await met(room, chat="carl") == f"⚠️ {TOLD}"
        await room.until(lambda: told(room, "ada", BEGAN) and told(room, "eve", BEGAN))
        model.clear_faults()
        assert await met(room, chat="carl") == "Noted: hello" or room.replies("carl")[-1].startswith("Noted")
        await room.until(lambda: told(room, "ada", OVER) and told(room, "eve", OVER))
        assert (await met(room, chat="bob")).startswith("Noted")
    for admin in ("ada", "eve"):
        [began] = told(room, admin, BEGAN)
        assert LOW in began
        assert len(told(room, admin, OVER)) == 1
    assert not any(LOW in text for chat in ("bob", "carl") for text in [*room.replies(chat), *room.notices(chat)])


async def test_it_is_told_once_through_restarts_of_the_program(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(admins={"room:ada"}):
        await met(room, chat="ada")
        out_of_credit(model)
        await met(room, chat="bob")
        await room.until(lambda: told(room, "ada", BEGAN))
    async with house(admins={"room:ada"}):
        assert await met(room, chat="bob") == f"⚠️ {TOLD}"
        model.clear_faults()
        await met(room, chat="bob")
        await room.until(lambda: told(room, "ada", OVER))
    assert len(told(room, "ada", BEGAN)) == len(told(room, "ada", OVER)) == 1


@pytest.mark.parametrize("admins", [set(), {"room:never-wrote"}], ids=["nobody", "one who never wrote to us"])
async def test_nobody_is_said_to_know_where_nobody_was_told(
    house: OpenHouse, room: Room, model: MessagesServer, admins: set[str]
) -> None:
    out_of_credit(model)
    async with house(admins=admins):
        assert await met(room, chat="bob") == f"⚠️ {UNTOLD}"
        await met(room, chat="g", person="never-wrote", speaker="Nev")
        assert await met(room, chat="bob") == f"⚠️ {UNTOLD}"


async def test_an_admin_reads_why_in_private_and_in_a_group_as_little_as_all_others(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    out_of_credit(model)
    async with house(admins={"room:ada"}):
        assert LOW in await met(room, chat="ada")
        assert await met(room, chat="group", person="ada", speaker="Ada") == f"⚠️ {TOLD}"
    assert told(room, "ada", BEGAN) == []


async def test_an_admin_who_writes_for_the_first_time_while_it_lasts_is_not_forgotten(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    out_of_credit(model)
    async with house(admins={"room:ada"}):
        assert await met(room, chat="bob") == f"⚠️ {UNTOLD}"
        await room.commands("/status", chat="ada")
        await room.says("/status", chat="ada", person="ada")
        await room.until(lambda: len(room.notices("ada")) == 2)
        assert await met(room, chat="bob") == f"⚠️ {TOLD}"
        await room.until(lambda: told(room, "ada", BEGAN))


async def test_what_one_conversation_alone_meets_is_told_of_it_and_over_when_it_is_answered(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(admins={"room:ada"}):
        await met(room, chat="ada")
        model.fail(400, "invalid_request_error", "messages: no", times=None, when=lambda r: "POISON" in r.all_text)
        assert await met(room, chat="bob", text="POISON") == f"⚠️ {TOLD}"
        await room.until(lambda: told(room, "ada", "⚠️ I cannot answer in room-bob just now: "))
        await met(room, chat="carl")
        await met(room, chat="ada")
        assert told(room, "ada", "I can answer") == []
        model.clear_faults()
        await met(room, chat="bob")
        await room.until(lambda: told(room, "ada", "I can answer in room-bob again."))


async def test_a_summary_that_the_provider_refuses_is_told_likewise(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(admins={"room:ada"}, agents={"compact_ahead": False}):
        await met(room, chat="ada")
        for number in range(6):
            await met(room, chat="bob", text=f"This is line {number}, and it is about the weather in a mild town.")
        model.fail(400, "invalid_request_error", LOW, times=None, when=lambda request: request.is_summary)
        for _ in range(2):
            await room.says("/compact", chat="bob", person="bob")
            await room.until(lambda: told(room, "bob", "🗜 Compaction failed. The conversation is unchanged."))
        await room.until(lambda: told(room, "ada", "⚠️ I cannot compact conversations just now:"))
        model.clear_faults()
        await room.says("/compact", chat="bob", person="bob")
        await room.until(lambda: told(room, "ada", "I can compact conversations again."))
    assert not any(LOW in text for text in room.notices("bob"))
    assert len(told(room, "ada", "⚠️")) == 1


PAGE = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1>\r\n</body></html>"


async def test_of_a_proxy_that_answers_a_page_nobody_reads_the_page(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(admins={"room:ada", "room:eve"}):
        await met(room, chat="ada")
        await met(room, chat="eve")
        model.page(502, PAGE, retry_after=0.01)
        assert await met(room, chat="bob") == f"⚠️ {TOLD} Try again in a moment."
        await room.until(lambda: told(room, "ada", BEGAN))
        assert "(502 Bad Gateway)" in await met(room, chat="eve")
    assert ["(502 Bad Gateway)" in text for text in told(room, "ada", BEGAN)] == [True]
    shown = [text for chat in room.shown.values() for message in chat.values() for text in message.texts]
    assert not [text for text in shown if "<" in text]


def test_of_a_page_that_a_proxy_answers_only_the_words_are_said() -> None:
    assert said_in(SimpleNamespace(body=PAGE, message="")) == "502 Bad Gateway"
    assert said_in(SimpleNamespace(body="<html></html>", message="")) == "no reason given"
