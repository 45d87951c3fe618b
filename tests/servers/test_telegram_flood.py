"""Flood control and held answers on the Bot API server."""

import asyncio

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramRetryAfter

from tests.servers.telegram.raw import RawCalls
from tests.servers.telegram.server import BotApiServer, Person

pytest_plugins = ["tests.servers.telegram.fixtures"]


async def test_a_chat_takes_one_message_in_so_many_seconds(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    now = 100.0
    telegram.clock = lambda: now
    telegram.flood_control = 2.5
    bob = telegram.person(1002, "Bob")
    await bot.send_message(ada.chat_id, "one")
    await bot.send_message(bob.chat_id, "one")
    now += 0.5
    with pytest.raises(TelegramRetryAfter) as caught:
        await bot.edit_message_text("two", chat_id=ada.chat_id, message_id=1)
    assert caught.value.retry_after == 2
    await bot.send_message_draft(ada.chat_id, 5, text="a draft is no message")
    now += 2
    await bot.edit_message_text("two", chat_id=ada.chat_id, message_id=1)


async def test_a_group_takes_20_messages_a_minute(telegram: BotApiServer, raw: RawCalls, ada: Person) -> None:
    now = 100.0
    telegram.clock = lambda: now
    telegram.group_flood_control = True
    group = telegram.group()
    for number in range(20):
        await raw("sendMessage", chat_id=group.id, text=str(number))
        await raw("sendMessage", chat_id=ada.chat_id, text=str(number))
    body = await raw("sendMessage", chat_id=group.id, text="one too many")
    assert (body["description"], body["parameters"]) == ("Too Many Requests: retry after 60", {"retry_after": 60})
    assert (await raw("sendMessage", chat_id=ada.chat_id, text="not here"))["ok"]
    now += 60
    assert (await raw("sendMessage", chat_id=group.id, text="again"))["ok"]


async def test_a_call_is_held_before_or_after_the_deed(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    before, after = telegram.hold("sendMessage"), telegram.hold_answer("sendMessage")
    sending = asyncio.create_task(bot.send_message(ada.chat_id, "one"))
    await asyncio.wait_for(bot.send_chat_action(ada.chat_id, "typing"), 5)
    assert telegram.texts(ada.chat_id) == []
    before.set()
    await telegram.wait_for(lambda server: server.texts(ada.chat_id) == ["one"])
    assert not sending.done()
    after.set()
    assert (await sending).text == "one"


async def test_what_is_held_goes_on_when_faults_are_cleared(telegram: BotApiServer, bot: Bot, ada: Person) -> None:
    telegram.hold_answer("sendMessage")
    sending = asyncio.create_task(bot.send_message(ada.chat_id, "one"))
    await telegram.wait_for(lambda server: server.texts(ada.chat_id))
    telegram.clear_faults()
    assert (await sending).text == "one"
