"""Saying things in Telegram, over HTTP to a strict Bot API server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.errors import (
    ChatClosed,
    DeliveryDelayed,
    DeliveryError,
    DeliveryRefused,
    DeliverySuperseded,
    DeliveryUncertain,
)
from bot.messages import Address, React, Status, Typing
from connectors.memory import MemoryIntake
from connectors.telegram import Telegram
from connectors.telegram.looks import EMPTY_REPLY, LONGEST_TEXT
from connectors.text import utf16_length
from tests.connectors.telegram.case import HERE, LONG, TABLE, UNDO, MakeTelegram, edit, running, say
from tests.servers.telegram.server import BotApiServer, Person


async def test_a_message_is_said_once_and_its_id_returned(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    refs = await telegram.deliver(say("*plain* <text>", notice=True, buttons=UNDO))

    (message,) = server.messages(1001)
    assert refs == (str(message.message_id),)
    assert message.text == "*plain* <text>"
    assert [button["callback_data"] for button in message.buttons] == ["/undo"]


async def test_a_long_text_with_emoji_is_said_in_parts(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    refs = await telegram.deliver(say(LONG, buttons=UNDO))

    messages = server.messages(1001)
    assert refs == tuple(str(message.message_id) for message in messages)
    assert len(messages) > 1
    assert "\n\n".join(message.text for message in messages) == LONG
    assert [len(message.buttons) for message in messages] == [0] * (len(messages) - 1) + [1]


async def test_a_gateway_that_was_followed_between_two_parts_sends_no_more_of_them(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    asked = 0

    async def guard() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise DeliverySuperseded("another gateway delivers now")

    telegram.guard = guard
    with pytest.raises(DeliverySuperseded):
        await telegram.deliver(say(LONG))
    assert len(server.messages(1001)) == 1


async def test_a_message_that_somebody_else_may_have_changed_is_brought_though_it_seems_to_show_this(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    refs = await telegram.deliver(say("so it ends"))
    elsewhere = Telegram(telegram._bot.token, api_base=server.url, commands=())
    await elsewhere.deliver(edit(refs, "so it en"))
    await elsewhere.close()

    await telegram.deliver(edit(refs, "so it ends"))
    assert server.texts(1001) == ["so it en"], "it is remembered what was shown"
    await telegram.deliver(replace(edit(refs, "so it ends"), again=True))
    assert server.texts(1001) == ["so it ends"]


@pytest.mark.parametrize("notice", [False, True])
async def test_a_partial_reply_shows_only_its_beginning(
    server: BotApiServer, ada: Person, telegram: Telegram, notice: bool
) -> None:
    await telegram.deliver(edit(("77",), LONG, partial=True, notice=notice))

    (message,) = server.messages(1001)
    assert message.text.endswith("…")
    assert LONG.startswith(message.text.removesuffix("…").rstrip())
    assert utf16_length(message.text) <= LONGEST_TEXT


@pytest.mark.parametrize("partial", [False, True])
async def test_an_empty_reply_is_made_visible(
    server: BotApiServer, ada: Person, telegram: Telegram, partial: bool
) -> None:
    await telegram.deliver(edit(("77",), " \n", partial=partial))

    assert server.texts(1001) == [EMPTY_REPLY]


async def test_half_of_a_surrogate_pair_does_not_break_a_message(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    await telegram.deliver(say("cut \ud83d off"))

    assert server.texts(1001) == ["cut \ufffd off"]


async def test_an_edit_that_outgrows_its_message_goes_on_in_new_ones_and_shrinks_again(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    first = await telegram.deliver(say("Begun"))
    grown = await telegram.deliver(edit(first, LONG))
    assert grown[:1] == first
    assert "\n\n".join(server.texts(1001)) == LONG

    assert await telegram.deliver(edit(grown, "Short")) == first
    assert server.texts(1001) == ["Short"]


async def test_an_edit_that_changes_nothing_is_not_sent(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    refs = await telegram.deliver(say("**Same**"))

    assert await telegram.deliver(edit(refs, "**Same**")) == refs
    assert server.calls_of("editMessageText") == []


@pytest.mark.parametrize("changed", [{"text": "Same"}, {"text": "**Same**", "buttons": UNDO}])
async def test_an_edit_that_changes_only_the_marks_or_the_buttons_is_sent(
    server: BotApiServer, ada: Person, telegram: Telegram, changed: dict[str, Any]
) -> None:
    refs = await telegram.deliver(say("**Same**"))

    assert await telegram.deliver(edit(refs, **changed)) == refs
    assert [call.status for call in server.calls_of("editMessageText")] == [200]


async def test_a_connector_that_was_restarted_takes_no_change_for_success(
    server: BotApiServer, ada: Person, telegram: Telegram, make_telegram: MakeTelegram
) -> None:
    refs = await telegram.deliver(say("Same"))

    assert await make_telegram().deliver(edit(refs, "Same")) == refs
    assert [call.status for call in server.calls_of("editMessageText")] == [400]


async def test_what_another_gateway_may_have_changed_meanwhile_is_not_taken_for_known(
    server: BotApiServer, ada: Person, telegram: Telegram, make_telegram: MakeTelegram
) -> None:
    refs = await telegram.deliver(say("Mine"))
    await make_telegram().deliver(edit(refs, "Theirs"))
    async with running(telegram, MemoryIntake()):
        await server.wait_for(lambda server: server.polls)
        await telegram.deliver(edit(refs, "Mine"))

    assert server.texts(1001) == ["Mine"]


async def test_an_edit_of_a_message_that_is_gone_says_it_anew(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    refs = await telegram.deliver(edit(("77",), "Anew"))

    assert server.texts(1001) == ["Anew"]
    assert refs == (str(server.messages(1001)[0].message_id),)


async def test_typing_is_shown_in_its_thread(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    thread = Address("telegram", "1001", "7")

    assert await telegram.deliver(Typing(thread)) == ()
    assert await telegram.deliver(Typing(thread, on=False)) == ()
    assert await telegram.deliver(Status(thread, {"percent": 7})) == ()
    assert [call.params["message_thread_id"] for call in server.calls_of("sendChatAction")] == [7]
    assert len(server.typing(1001)) == 1


async def test_a_mark_is_taken_away_again(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    ada.says("hello")
    await telegram.deliver(React(HERE, "1", "👀"))
    await telegram.deliver(React(HERE, "1", ""))

    assert server.reactions(1001, 1) == []


async def test_a_mark_that_cannot_be_set_is_no_error(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    ada.says("hello")
    await telegram.deliver(React(HERE, "1", "👀"))
    await telegram.deliver(React(HERE, "99", "👀"))

    assert server.reactions(1001, 1) == ["👀"]


# Delivering when something is wrong


async def test_a_flood_limit_delays_by_what_telegram_says(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.limit("sendMessage", retry_after=9)

    with pytest.raises(DeliveryDelayed) as delayed:
        await telegram.deliver(say("hello"))

    assert delayed.value.retry_after == 9


async def test_a_long_text_that_was_delayed_goes_on_where_it_stopped(
    server: BotApiServer, ada: Person, telegram: Telegram
) -> None:
    server.flood_limit(1, seconds=3600)
    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say(LONG))
    assert len(server.messages(1001)) == 1

    server.clear_faults()
    refs = await telegram.deliver(say(LONG))

    assert refs == tuple(str(message.message_id) for message in server.messages(1001))
    assert "\n\n".join(server.texts(1001)) == LONG


@pytest.mark.parametrize(
    ("code", "description", "error"),
    [
        (400, "Bad Request: chat not found", ChatClosed),
        (400, "Bad Request: PEER_ID_INVALID", ChatClosed),
        (400, "Bad Request: message thread not found", DeliveryRefused),
        (403, "Forbidden: bot was blocked by the user", ChatClosed),
        (403, "Forbidden: user is deactivated", ChatClosed),
        (403, "Forbidden: bot was kicked from the supergroup chat", ChatClosed),
        (403, "Forbidden: bot is not a member of the supergroup chat", ChatClosed),
        (401, "Unauthorized", DeliveryDelayed),
        (404, "Not Found", DeliveryDelayed),
        (409, "Conflict: terminated by other getUpdates request", DeliveryDelayed),
        (500, "Internal Server Error", DeliveryUncertain),
        (502, "Bad Gateway", DeliveryUncertain),
    ],
)
async def test_telegrams_answers_become_delivery_errors(
    server: BotApiServer, telegram: Telegram, code: int, description: str, error: type[DeliveryError]
) -> None:
    server.fail("sendMessage", code, description)

    with pytest.raises(error, match=description) as raised:
        await telegram.deliver(say("hello"))
    assert type(raised.value) is error


async def test_no_error_has_the_token(server: BotApiServer, telegram: Telegram) -> None:
    server.fail("sendMessage", 500, f"cannot reach /bot{server.token}/sendMessage")

    with pytest.raises(DeliveryUncertain) as raised:
        await telegram.deliver(say("hello"))

    assert "/bot<token>/sendMessage" in str(raised.value)
    assert server.token not in str(raised.value)


async def test_a_lost_answer_leaves_it_uncertain(server: BotApiServer, ada: Person, telegram: Telegram) -> None:
    server.lose_answer("sendMessage")

    with pytest.raises(DeliveryUncertain):
        await telegram.deliver(say("hello"))


async def test_a_server_that_cannot_be_reached_delays() -> None:
    server = BotApiServer()
    async with server:
        pass
    telegram = Telegram(server.token, api_base=server.url, commands=())

    with pytest.raises(DeliveryDelayed):
        await telegram.deliver(say("hello"))
    await telegram.close()


async def test_a_message_of_which_a_newer_server_says_more_than_can_be_read_is_said_once(
    make_telegram: MakeTelegram,
) -> None:
    called: list[str] = []

    async def answer(http: web.Request) -> web.Response:
        called.append(http.match_info["method"])
        message = {"message_id": 7, "date": 1, "chat": {"id": 1001, "type": "of the future"}, "text": {"new": "shape"}}
        return web.json_response({"ok": True, "result": message})

    app = web.Application()
    app.router.add_post("/bot{token}/{method}", answer)
    async with TestServer(app) as server:
        telegram = make_telegram(api_base=str(server.make_url("/")))
        assert await telegram.deliver(say("hello")) == ("7",)
        assert await telegram.deliver(edit(("7",), "hello again")) == ("7",)
        assert await telegram.deliver(say(TABLE, token="2")) == ("7",)

    assert called == ["sendMessage", "editMessageText", "sendRichMessage"]
