"""Receiving from Telegram by long polling, over HTTP from a strict Bot API server."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer

from bot.errors import ConfigurationError
from bot.messages import Address
from connectors.memory import MemoryIntake
from connectors.telegram import Telegram
from tests.connectors.telegram.case import GROUP, HERE, UNDO, Pauses, received, running, say
from tests.logged import all_that_was_logged, logged
from tests.servers.telegram.server import BotApiServer, Person


async def test_a_batch_is_stored_in_order_and_then_confirmed(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    intake = MemoryIntake()
    first, second = ada.says("one"), ada.says("two")
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset == second + 1)

    assert [(i.kind, i.key, i.order, i.text) for i in intake.inbounds] == [
        ("message", "message:1001:1", first, "one"),
        ("message", "message:1001:2", second, "two"),
    ]
    assert intake.saved_cursor == str(second + 1)
    assert (intake.inbounds[0].address, intake.inbounds[0].person_name) == (HERE, "Ada")
    assert intake.inbounds[0].sent_at is not None


async def test_what_could_not_be_stored_is_not_confirmed_and_comes_again(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses
) -> None:
    intake = MemoryIntake(refusals=2)
    ada.says("do not lose me")
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)
        asked = [call.params.get("offset", 0) for call in server.calls_of("getUpdates")]
        assert telegram.problem == "", "Telegram is not to blame"

    assert [inbound.key for inbound in intake.refused] == intake.keys * 2
    assert set(asked) == {0}
    assert (len(intake.waits), pauses.seconds) == (2, []), "it is the database that is waited for"


async def test_receiving_goes_on_at_the_stored_cursor(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    known, new = ada.says("known"), ada.says("new")
    intake = MemoryIntake(cursor=str(known + 1))
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset == new + 1)

    assert intake.texts == ["new"]


async def test_a_redelivery_has_the_same_key(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    intake = MemoryIntake()
    ada.says("once")
    (raw,) = server.pending
    async with running(telegram, intake):
        await intake.until(lambda: len(intake.inbounds) == 1)
        server.update(raw)
        await intake.until(lambda: intake.again)

    assert intake.inbounds[0] == intake.again[0]


async def test_an_update_that_cannot_be_read_does_not_hold_up_the_others(
    server: BotApiServer, ada: Person, telegram: Telegram, caplog: pytest.LogCaptureFixture
) -> None:
    intake = MemoryIntake()
    ada.says("before")
    server.update({"message": {"message_id": "of a kind that is not known yet"}})
    last = ada.says("after")
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.confirmed_offset == last + 1)

    assert intake.texts == ["before", "after"]
    assert [line["update"] for line in logged(caplog, "update_unreadable")] == [last - 1]


BROKEN = {"width": "of a kind that is not known yet"}


async def test_of_an_update_that_cannot_be_read_the_words_are(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    last = ada.sends({"text": "What is this?", "reply_to_message": {"message_id": BROKEN}})
    assert (await received(telegram, server, last)).texts == ["What is this?"]


async def test_whoever_said_what_cannot_be_read_at_all_is_named(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    ada.says("before")
    odd = ada.sends({"sticker": BROKEN})
    last = ada.says("after")
    before, unread, after = (await received(telegram, server, last)).inbounds
    assert (before.text, after.text) == ("before", "after")
    assert (unread.is_unread, unread.text, unread.person, unread.address) == (True, "", "1001", HERE)
    assert (unread.order, unread.kind, unread.key) == (odd, "message", f"message:1001:{unread.ref}")


async def test_in_a_group_only_who_speaks_to_the_bot_is_told_that_it_cannot_be_read(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    chat = {"id": -100200, "type": "supergroup", "title": "Sailors"}
    sender = {"id": 1001, "is_bot": False, "first_name": "Ada"}
    said = {"chat": chat, "from": sender, "date": BROKEN}
    server.update({"message": said | {"message_id": 7, "text": "hello all"}})
    last = server.update({"message": said | {"message_id": 8, "text": "@palimpsest_test_bot hello"}})
    (unread,) = (await received(telegram, server, last)).inbounds
    assert (unread.ref, unread.address, unread.speaker) == ("8", GROUP, "Ada")


@pytest.mark.parametrize("odd", [[], "?", {}, {"update_id": "seven"}, {"message": {"chat": 5, "from": 7}}])
async def test_what_is_no_update_at_all_holds_up_nothing(
    server: BotApiServer, ada: Person, telegram: Telegram, odd: Any
) -> None:
    ada.says("before")
    server.updates.forced.append(odd)
    last = ada.says("after")
    assert (await received(telegram, server, last)).texts == ["before", "after"]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("/compact@palimpsest_test_bot keep the names", "/compact keep the names"),
        ("/compact@Palimpsest_Test_Bot", "/compact"),
        ("/compact@another_bot now", "/compact@another_bot now"),
        ("write to /me@palimpsest_test_bot", "write to /me@palimpsest_test_bot"),
    ],
)
async def test_a_command_that_names_this_bot_loses_the_name(
    ada: Person, telegram: Telegram, said: str, stored: str
) -> None:
    intake = MemoryIntake()
    ada.says(said)
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)

    assert intake.texts == [stored]


async def test_a_topic_is_a_thread_of_its_own(ada: Person, telegram: Telegram) -> None:
    intake = MemoryIntake()
    ada.says("in a topic", thread=7)
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)

    assert intake.inbounds[0].address == Address("telegram", "1001", "7")


async def test_a_press_is_answered_and_stored_with_its_command(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    (ref,) = await telegram.deliver(say("Compacted.", buttons=UNDO))
    intake = MemoryIntake()
    order = ada.presses(int(ref), "/undo")
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.calls_of("answerCallbackQuery"))

    assert [call.status for call in server.calls_of("answerCallbackQuery")] == [200]
    (press,) = intake.inbounds
    assert (press.kind, press.text, press.order, press.address) == ("press", "/undo", order, HERE)
    assert press.key.startswith("press:")


async def test_commands_are_offered_and_a_webhook_is_removed_without_losing_updates(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    intake = MemoryIntake()
    ada.says("waiting")
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)

    assert [list(commands) for commands in server.methods.commands.values()] == [
        [{"command": "compact", "description": "Make room"}]
    ]
    assert [call.status for call in server.calls_of("deleteWebhook")] == [200]
    assert server.calls_of("getUpdates")[0].params["allowed_updates"] == [
        "message",
        "edited_message",
        "callback_query",
        "my_chat_member",
        "stopped_message_generation",
    ]


# Receiving when something is wrong


async def test_a_conflict_is_waited_out_for_5_s_and_told_once_until_receiving_worked_again(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    intake = MemoryIntake()
    server.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request", times=3)
    ada.says("hello")
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)
        assert pauses.seconds == [5, 5, 5]
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert "Another program receives with this bot's token" in logged(caplog, "token_used_elsewhere")[0]["note"]

        server.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request")
        ada.says("hello again")
        await intake.until(lambda: len(intake.inbounds) == 2)
        ada.says("and again")
        await pauses.wait_for(lambda pauses: len(pauses.seconds) == 4)
    assert len(caplog.records) == 2


async def test_a_webhook_that_somebody_sets_meanwhile_is_removed_again(
    server: BotApiServer, ada: Person, telegram: Telegram, caplog: pytest.LogCaptureFixture
) -> None:
    intake = MemoryIntake()
    async with running(telegram, intake):
        await server.wait_for(lambda server: server.polls)
        async with Bot(server.token, session=AiohttpSession(api=TelegramAPIServer.from_base(server.url))) as other:
            await other.set_webhook("https://elsewhere.example/hook")
        await server.wait_for(lambda server: len(server.calls_of("deleteWebhook")) == 2)
        ada.says("hello")
        await intake.until(lambda: intake.inbounds)
    assert "set a webhook" in logged(caplog, "token_used_elsewhere")[0]["note"]


async def test_a_flood_limit_on_receiving_is_waited_out(
    server: BotApiServer, ada: Person, telegram: Telegram, pauses: Pauses
) -> None:
    intake = MemoryIntake()
    server.limit("getUpdates", retry_after=17)
    ada.says("hello")
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)

    assert pauses.seconds == [17]


async def test_a_server_that_is_not_there_yet_is_waited_for(pauses: Pauses) -> None:
    server = BotApiServer()
    async with server:
        pass
    telegram = Telegram(server.token, api_base=server.url, commands=(), sleep=pauses)
    intake = MemoryIntake()
    async with running(telegram, intake):
        await pauses.wait_for(lambda pauses: len(pauses.seconds) >= 8)
        async with server:
            server.person().says("at last")
            await intake.until(lambda: intake.inbounds)
    await telegram.close()

    assert all(2**n / 2 <= seconds <= 2**n for n, seconds in enumerate(pauses.seconds[:5]))
    assert all(15 <= seconds <= 30 for seconds in pauses.seconds[5:])


@pytest.mark.parametrize("token", ["4200:wrong", "no token at all"])
async def test_a_wrong_token_is_a_configuration_error(server: BotApiServer, token: str) -> None:
    async def run() -> None:
        telegram = Telegram(token, api_base=server.url, commands=())
        try:
            await telegram.run(MemoryIntake())
        finally:
            await telegram.close()

    with pytest.raises(ConfigurationError, match="TELEGRAM_TOKEN"):
        await run()


async def test_a_token_that_was_taken_back_ends_receiving(server: BotApiServer, telegram: Telegram) -> None:
    server.fail("getUpdates", 401, "Unauthorized")

    with pytest.raises(ConfigurationError, match="TELEGRAM_TOKEN"):
        await telegram.run(MemoryIntake())


async def test_no_log_line_has_the_token(
    server: BotApiServer, ada: Person, telegram: Telegram, caplog: pytest.LogCaptureFixture
) -> None:
    intake = MemoryIntake()
    server.fail("getUpdates", 500, f"Internal error at /bot{server.token}/getUpdates")
    ada.says("hello")
    async with running(telegram, intake):
        await intake.until(lambda: intake.inbounds)

    assert "Internal error at /bot<token>/getUpdates" in logged(caplog, "receiving_waits")[0]["reason"]
    assert server.token not in all_that_was_logged(caplog)
