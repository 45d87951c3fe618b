"""The whole program on Telegram: what only shows when a gateway, its book and the platform meet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.app.platforms import platforms
from bot.app.resources import Resources
from bot.gateway.chat_delivery import IN_A_FILE
from bot.gateway.intake import UNREAD
from bot.messages import Address, Button, Say
from connectors.telegram import Telegram
from tests.connectors.at_work import at_work, ends_before_it_is_written_down
from tests.house import settings_for
from tests.servers.messages.server import MessagesServer
from tests.servers.telegram.server import BotApiServer, Person

PATIENCE = 60.0


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def ada(telegram: BotApiServer) -> Person:
    return telegram.person(id=1001, name="Ada")


@pytest.fixture
def program(telegram: BotApiServer, model: MessagesServer, tmp_path: Path) -> AbstractAsyncContextManager[Resources]:
    values: dict[str, Any] = {"telegram_token": telegram.token, "telegram_api_base": telegram.url}
    settings = settings_for(model, tmp_path / "data", **values)
    return at_work(settings, next(one for one in platforms(settings) if one.name == "telegram"))


async def answers(telegram: BotApiServer, count: int) -> list[str]:
    """What the bot's messages read, once there are so many."""
    await telegram.wait_for(lambda server: len(server.texts(1001)) >= count, PATIENCE)
    return telegram.texts(1001)


@pytest.mark.parametrize("status", [404, 409])
async def test_what_is_to_be_said_while_the_server_starts_is_said_when_it_has_started(
    telegram: BotApiServer, ada: Person, program: AbstractAsyncContextManager[Resources], status: int
) -> None:
    async with program:
        ada.says("hello")
        for method in ("sendMessage", "sendRichMessage", "sendMessageDraft"):
            telegram.fail(method, status, "Not Found" if status == 404 else "Conflict: another one has the bot", 1)
        assert (await answers(telegram, 1))[0].startswith("Noted (1).")


async def test_an_answer_that_telegram_refuses_in_every_form_comes_as_a_file(
    telegram: BotApiServer, ada: Person, program: AbstractAsyncContextManager[Resources]
) -> None:
    async with program:
        for method in ("sendMessage", "sendRichMessage", "sendMessageDraft"):
            telegram.fail(method, 400, "Bad Request: message text is not for this chat", None)
        ada.says("hello")
        await telegram.wait_for(lambda server: server.messages(1001), PATIENCE)
        (message,) = telegram.messages(1001)
        assert message.text == IN_A_FILE
        assert message.file
        assert message.file.content.startswith(b"Noted (1).")


@pytest.mark.parametrize("odd", [{"sticker": {"width": "of a kind that is not known yet"}}, {"hologram": {"size": 1}}])
async def test_what_cannot_be_read_is_answered_in_words(
    telegram: BotApiServer,
    ada: Person,
    program: AbstractAsyncContextManager[Resources],
    model: MessagesServer,
    odd: dict[str, Any],
) -> None:
    async with program:
        ada.sends(odd)
        ada.says("And this?")
        assert UNREAD in await answers(telegram, 2)
    assert len(model.requests) == 1


async def test_a_button_that_nobody_knows_any_more_is_answered_in_words(
    telegram: BotApiServer, ada: Person, program: AbstractAsyncContextManager[Resources], model: MessagesServer
) -> None:
    """It stands under a message of an earlier version, or of another bot with this token."""
    ada.says("/start")
    earlier = Telegram(telegram.token, api_base=telegram.url, commands=())
    buttons = (Button("This", "choose:7"), Button("Old", "/vote 3"))
    (under,) = await earlier.deliver(Say(Address("telegram", "1001"), "Which?", "1", buttons))
    await earlier.close()
    async with program:
        before = len(await answers(telegram, 2))
        for number, label in enumerate(("This", "Old"), before + 1):
            ada.presses(int(under), label)
            assert (await answers(telegram, number))[-1].startswith("That button does nothing any more.")
        await telegram.wait_for(lambda server: not server.chats.open_presses, PATIENCE)
    assert not model.requests


async def test_what_went_out_in_the_moment_of_a_crash_is_taken_away_where_nothing_is_left_to_say(
    telegram: BotApiServer, ada: Person, program: AbstractAsyncContextManager[Resources]
) -> None:
    async with program as resources:
        ada.says("hello")
        await answers(telegram, 1)
        await ends_before_it_is_written_down(resources, "telegram")
        await telegram.wait_for(lambda server: not server.messages(1001), PATIENCE)
        ada.says("and now?")
        assert (await answers(telegram, 1))[0].startswith("Noted (2).")
