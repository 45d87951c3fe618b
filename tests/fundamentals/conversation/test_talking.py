"""How a conversation goes, and what a person sees of it."""

from __future__ import annotations

from tests.conftest import OpenHouse
from tests.house import Room
from tests.servers.messages.server import MessagesServer


async def test_a_message_is_answered(house: OpenHouse, room: Room) -> None:
    async with house():
        assert (await room.asks("hello")).startswith("Noted")


async def test_the_model_remembers_what_was_said_before(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.asks("My dog is Rex.")
        assert await room.asks("What is my dog?") == "The dog is Rex."


async def test_a_conversation_goes_on_after_a_restart(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.asks("My dog is Rex.")
    async with house():
        assert await room.asks("What is my dog?") == "The dog is Rex."


async def test_two_conversations_do_not_see_each_other(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.asks("My dog is Rex.", chat="1")
        assert await room.asks("What is my dog?", chat="2") == "I do not know the dog."


async def test_a_message_that_the_platform_delivers_twice_is_answered_once(house: OpenHouse, room: Room) -> None:
    async with house():
        await room.says("hello", key="message:1:7")
        await room.until(room.replies)
        await room.says("hello", key="message:1:7")
        await room.asks("and again")
        assert len(room.replies()) == 2


async def test_a_reply_is_seen_while_it_is_written(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.delta_delay = 0.08
    async with house():
        await room.asks("hello")
        texts = next(message.texts for message in room.shown["1"].values())
        assert len(texts) > 1
        assert len(texts[0]) < len(texts[-1])
        assert texts[-1].startswith(texts[0])


async def test_typing_is_shown_during_a_turn_and_not_after(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.hang()
    async with house():
        await room.says("hello")
        await room.until(room.is_typing)
        model.release()
        await room.until(lambda: room.replies() and not room.is_typing())


async def test_messages_that_arrive_during_a_turn_are_answered_together(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=1)
    async with house():
        await room.says("one")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("two")
        await room.says("three")
        model.release()
        await room.until(lambda: len(room.replies()) == 2)
        assert [m["role"] for m in model.requests[-1].request.messages] == ["user", "assistant", "user"]
        assert len(model.requests) == 2
