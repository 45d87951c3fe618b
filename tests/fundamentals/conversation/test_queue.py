"""When many people write at once: who waits for the model waits in line, and is told; nobody hurts anybody else."""

from __future__ import annotations

import asyncio
from functools import partial

from bot.agent.commands.dispatch import MOST_ASIDE
from bot.agent.turns.incoming import MOST_MESSAGES
from bot.bus import topics
from bot.messages import Address, Inbound
from bot.model.anthropic import AnthropicModel
from bot.model.chat.client import ChatModel
from bot.store import inbox
from bot.store.inbox import MOST_SEEN
from tests.conftest import OpenHouse
from tests.house import House, Room
from tests.servers.messages.server import MessagesServer

ONE_BEFORE = "⏳ Many people are writing to me just now; 1 answer is before yours."
TWO_BEFORE = "⏳ Many people are writing to me just now; 2 answers are before yours."


def texts(room: Room, chat: str) -> list[str]:
    """All that ever stood in the messages of a chat."""
    return [text for message in room.shown.get(chat, {}).values() for text in message.texts]


def tell_soon(house: House) -> None:
    model = house.resources.chain.first.model
    assert isinstance(model, AnthropicModel | ChatModel)
    model.calls.queue.tell_seconds = 0.05


async def test_who_waits_long_is_told_in_the_place_of_the_answer_and_reads_only_the_answer_then(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=None)
    async with house(model_calls=1) as h:
        tell_soon(h)
        await room.says("one", chat="1")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("two", chat="2")
        await room.until(lambda: ONE_BEFORE in texts(room, "2"))
        await room.says("three", chat="3")
        await room.until(lambda: TWO_BEFORE in texts(room, "3"))
        assert room.is_typing("3")
        assert len(model.requests) == 1
        model.release()
        for chat in "123":
            await room.until(partial(room.replies, chat))
            assert [message.text[:5] for message in room.shown[chat].values()] == ["Noted"]
        history = await h.history("2")
    assert "⏳" not in str(history.entries)


async def test_abort_takes_one_out_of_the_line_at_once(house: OpenHouse, room: Room, model: MessagesServer) -> None:
    model.hang(times=None)
    async with house(model_calls=1) as h:
        tell_soon(h)
        await room.says("one", chat="1")
        await model.wait_for(lambda s: s.running == 1)
        await room.says("two", chat="2")
        await room.until(lambda: ONE_BEFORE in texts(room, "2"))
        assert "Stopped" in await room.commands("/abort", chat="2")
        await room.until(lambda: ONE_BEFORE not in texts(room, "2"))
        assert room.replies("2") == []
        assert h.resources.chain.first.model.load.waiting == 0
        model.release()
        await room.until(lambda: room.replies("1"))
        assert len(model.requests) == 1


async def test_a_provider_that_asks_one_of_us_to_wait_is_left_alone_by_all_and_people_are_told(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as h:
        tell_soon(h)
        await room.asks("hello", chat="2")
        before = len(model.requests)
        model.fail(429, "rate_limit_error", "slow down", retry_after=3)
        await room.says("one", chat="1")
        await model.wait_for(lambda s: len(s.requests) == before + 1)
        await room.until(lambda: any("asks us to wait; about" in text for text in texts(room, "1")))
        await room.says("two", chat="2")
        await room.until(lambda: any("asks us to wait; about" in text for text in texts(room, "2")))
        assert len(model.requests) == before + 1
        await room.until(lambda: room.replies("1") and len(room.replies("2")) == 2)
        assert [reply[:5] for reply in (room.replies("1")[0], room.replies("2")[1])] == ["Noted", "Noted"]


async def stored(house: House, *texts: str, chat: str = "1", first: int = 1_000) -> None:
    """As if a platform had brought all of these at once."""
    async with house.resources.database.write() as tx:
        for number, text in enumerate(texts, first):
            await inbox.add(
                tx, Inbound(Address("room", chat), f"message:{chat}:{number}", "message", number, "ada", text), now=1.0
            )
    house.resources.bus.ring(topics.inbox(Address("room", chat).agent_id))


async def test_of_a_flood_of_messages_one_turn_takes_some_and_the_next_turns_the_rest_in_order(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house() as h:
        await stored(h, *[f"number {n};" for n in range(MOST_MESSAGES * 2 + 1)])
        await room.until(lambda: len(room.replies()) == 3)
        said = [str(record.request.messages) for record in model.requests]
        assert [text.count("number ") for text in said] == [MOST_MESSAGES, MOST_MESSAGES * 2, MOST_MESSAGES * 2 + 1]
        history = await h.history()
        asked = [entry.blocks[0]["text"] for entry in history.entries if entry.kind == "said"]
        assert asked == [f"number {n};" for n in range(MOST_MESSAGES * 2 + 1)]


async def test_one_turn_takes_no_more_than_half_of_the_window_but_always_one_message(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    async with house(agents={"emergency_context_limit": 2_000}) as h:
        await stored(h, "word " * 850, "small talk " * 80, "word " * 500, "and this too")
        await room.until(room.replies)
        assert [text[:5] for text in model.requests[0].request.last_user_words] == ["word "]


async def test_abort_and_help_are_answered_behind_hundreds_of_messages(
    house: OpenHouse, room: Room, model: MessagesServer
) -> None:
    model.hang(times=None)
    async with house() as h:
        await room.says("hello")
        await model.wait_for(lambda s: s.running == 1)
        await stored(h, *[f"number {n}" for n in range(MOST_SEEN * 3)])
        await room.until(room.is_typing)
        await stored(h, "/help", "/abort", first=900_000)
        await room.until(lambda: any("Stopped" in notice for notice in room.notices()))
        assert any("/compact:" in notice for notice in room.notices())


async def test_a_thousand_contexts_at_once_are_answered_a_few_at_a_time(house: OpenHouse, room: Room) -> None:
    async with house() as h:
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, sum("_aside" in str(task.get_coro()) for task in asyncio.all_tasks()))
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        await stored(h, *["/context"] * 40)
        await room.until(lambda: len(room.notices()) == 40)
        watching.cancel()
        assert 0 < most <= MOST_ASIDE
